package policy_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/test/must"
)

// loadText loads a prompt of this system message and this template.
func loadText(system, body string) (policy.Prompt, error) {
	return policy.LoadPrompt(fstest.MapFS{
		"prompts/ask.v1.txt":  {Data: []byte(system + "\n=====\n" + body + "\n")},
		"schemas/ask.v1.json": {Data: []byte(`{"type": "object"}`)},
	}, "test/ask@1")
}

func TestPromptRender(t *testing.T) {
	t.Parallel()
	p := must.Get(loadText("Be brief.", "{{.Count}} of {{.Compact}}, {{.Count}} of\n{{.Data}}"))(t)
	got, err := p.Render(map[string]string{"a": "<b>"}, 2)
	want := `2 of {"a":"\u003cb\u003e"}, 2 of` + "\n{\n  \"a\": \"\\u003cb\\u003e\"\n}"
	if err != nil || got != want || p.System != "Be brief." {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// A memory may hold what looks like a mark of a prompt.
func TestPromptMaterialIsNoTemplate(t *testing.T) {
	t.Parallel()
	p := must.Get(loadText("s", "{{.Compact}} {{.Count}}"))(t)
	for _, note := range []string{"{{.Count}}", "{{.Data}}", "{{.Other}}", "{{"} {
		if got, err := p.Render(note, 7); err != nil || got != `"`+note+`" 7` {
			t.Errorf("%q became %s, %v", note, got, err)
		}
	}
}

// A mark that nothing fills would reach the model as it is written.
func TestPromptUnknownMarkIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, system, body, want string }{
		{"another name", "s", "{{.Data}} {{.Datum}}", "{{.Datum}}"},
		{"spaces", "s", "{{ .Data }}", "{{ .Data }}"},
		{"an action", "s", "{{if .Count}}x{{end}}", "{{if .Count}}"},
		{"an open mark", "s", "{{.Data", "{{.Data"},
		{"only the end of a mark", "s", ".Data}} and", "}} and"},
		{"marks without a dot", "s", "{{Count}}", "use {{.Data}}, {{.Compact}} or {{.Count}}"},
		{"a mark in the system message", "{{.Count}} notes", "{{.Data}}", "system message"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := loadText(tt.system, tt.body)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "prompts/ask.v1.txt") {
				t.Errorf("got %v, want an error with the file and %q", err, tt.want)
			}
		})
	}
}

// Every prompt whose answer has text asks for a language: that of what was said.
func TestPromptsAskForALanguage(t *testing.T) {
	t.Parallel()
	schemas, err := filepath.Glob("*/schemas/*.json")
	if err != nil || len(schemas) < 20 {
		t.Fatal(len(schemas), err)
	}
	// Words of a graph are labels, and parts of a note or relations that exist are copied.
	labels := []string{"conflicts", "relations", "split", "triples"}
	for _, file := range schemas {
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), ".")
		raw := must.Get(os.ReadFile(file))(t)
		if !bytes.Contains(raw, []byte(`"maxLength"`)) || slices.Contains(labels, name) {
			continue
		}
		prompts, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(file)), "prompts", name+"*."+version+".txt"))
		if err != nil || len(prompts) == 0 {
			t.Errorf("%s: no prompt (%v)", file, err)
		}
		for _, prompt := range prompts {
			text := must.Get(os.ReadFile(prompt))(t)
			if !bytes.Contains(text, []byte("language")) && !bytes.Contains(text, []byte("中文")) {
				t.Errorf("%s asks for no language", prompt)
			}
		}
	}
}
