package pages_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// checkRead checks the blocks of a page that are read and not run.
func checkRead(t *testing.T, page string, blocks []block) {
	t.Helper()
	for _, b := range blocks {
		if b.notRun {
			continue
		}
		var wrong string
		switch b.language {
		case "go":
			wrong = wrongGo(t, b.text)
		case "yaml":
			wrong = wrongYAML(t, b)
		case "json":
			if _, ok := parsed(b.text); !ok {
				wrong = "this is no JSON"
			}
		case "mermaid":
			if kind, _, _ := strings.Cut(strings.TrimSpace(b.text), "\n"); !mermaid.MatchString(kind) {
				wrong = kind + " is no kind of picture"
			}
		}
		if wrong != "" {
			t.Errorf("%s:%d: %s", page, b.line, wrong)
		}
	}
}

var mermaid = regexp.MustCompile(`^(flowchart|sequenceDiagram|stateDiagram-v2|gitGraph|erDiagram|classDiagram)\b`)

// wrongGo says what is wrong with Go. The tests of the module sdk/go compile and run what is in its readme_test.go.
func wrongGo(t *testing.T, code string) string {
	t.Helper()
	source := must.Get(os.ReadFile(tree + "/sdk/go/readme_test.go"))(t)
	if !strings.Contains(flat(string(source)), flat(code)) {
		return "sdk/go/readme_test.go does not have this code, and nothing else runs it"
	}
	return ""
}

// flat returns code without the indentation of its lines.
func flat(code string) string {
	return regexp.MustCompile(`(?m)^\s+`).ReplaceAllString(strings.TrimSpace(code), "")
}

// wrongYAML says what is wrong with YAML, which is read as its mark says.
func wrongYAML(t *testing.T, b block) string {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(b.text), &value); err != nil {
		return err.Error()
	}
	switch b.mark {
	case "settings": // of the gateway
		file := filepath.Join(t.TempDir(), "slipbox.yaml")
		must.Do(t, os.WriteFile(file, []byte(b.text), 0o600))
		if _, problems, code := commandtest.Run(t, []string{"CAREFUL_KEY=x"}, "config", "--config", file); code != 0 {
			return problems
		}
	case "values":
		return wrongValues(t, value)
	}
	return ""
}

// wrongValues says what the schema of the chart finds wrong with values over its own.
func wrongValues(t *testing.T, values any) string {
	t.Helper()
	chart := tree + "/charts/slipbox"
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	raw := must.Get(os.ReadFile(filepath.Join(chart, "values.yaml")))(t)
	var all any
	must.Do(t, yaml.Unmarshal(raw, &all))
	if raw, err = json.Marshal(over(values, all)); err != nil {
		t.Fatal(err)
	}
	read := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(raw)))(t)
	if err := schema.Validate(read); err != nil {
		return err.Error()
	}
	return ""
}

// over returns values with the defaults of those that they do not name.
func over(values, defaults any) any {
	named, ok := values.(map[string]any)
	all, both := defaults.(map[string]any)
	if !ok || !both {
		return values
	}
	for name, value := range named {
		all[name] = over(value, all[name])
	}
	return all
}

// parsed reads JSON, or the members of an object.
func parsed(text string) (value any, ok bool) {
	for _, whole := range []string{text, "{" + text + "}"} {
		if json.Unmarshal([]byte(whole), &value) == nil {
			return value, true
		}
	}
	return nil, false
}

// answers reports whether what was printed has the JSON that a page shows: all of its members in one of the documents.
func answers(shown, printed string) bool {
	want, ok := parsed(shown)
	decoder := json.NewDecoder(strings.NewReader(printed))
	for ok {
		var got any
		if decoder.Decode(&got) != nil {
			return false
		}
		if alike(want, got) {
			return true
		}
	}
	return false
}

// sampled is a text that differs from one answer to the next: an id, or a text with an ellipsis.
var sampled = regexp.MustCompile(`…|^[0-9a-f]{8}-[0-9a-f]{4}-`)

// alike reports whether an answer is what a page shows, and may have more.
func alike(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name, member := range want {
			ok = ok && alike(member, object[name])
		}
		return ok
	case []any:
		list, ok := got.([]any)
		return ok && len(list) >= len(want) && !slices.ContainsFunc(want, func(w any) bool {
			return !slices.ContainsFunc(list, func(g any) bool { return alike(w, g) })
		})
	case string:
		text, ok := got.(string)
		return ok && (text == want || text != "" && sampled.MatchString(want))
	}
	return want == got
}
