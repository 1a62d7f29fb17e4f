package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/test/must"
)

// maxSeries is how many series Prometheus stores for a process at most, after every operation of the
// contract was called.
const maxSeries = 5000

// deployDir has what operators load into their tools.
const deployDir = "../../deploy"

// After every operation was called, the metrics are few, named and documented by the conventions of
// Prometheus, and have what the rules and dashboards read.
func TestMetricsAfterEveryCall(t *testing.T) {
	found := map[string]bool{}
	promtool := installPromtool(t)
	for _, servers := range []bool{false, true} {
		w := watch(t, servers)
		w.callEverything(!servers)
		for _, url := range w.urls {
			page := w.read(url + "/metrics")
			series := seriesOf(page)
			t.Logf("servers %v: %d series of %d metrics", servers, len(series), len(metricsOf(series)))
			if len(series) > maxSeries {
				t.Errorf("servers %v: %d series, want at most %d; the largest metrics are\n%s", servers, len(series), maxSeries, largest(series))
			}
			maps.Copy(found, metricsOf(series))
			checkMetrics(t, promtool, page)
		}
		w.stop()
	}
	for where, names := range metricsRead(t) {
		for _, name := range names {
			if !found[name] {
				t.Errorf("%s reads %s, which no process exports", where, name)
			}
		}
	}
}

// installPromtool returns the path of promtool.
func installPromtool(t *testing.T) string {
	t.Helper()
	script := exec.CommandContext(t.Context(), "../../scripts/install-promtool.sh")
	var problem bytes.Buffer
	script.Stderr = &problem
	path, err := script.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, problem.String())
	}
	return strings.TrimSpace(string(path))
}

// checkMetrics fails if promtool has something against a page of metrics.
func checkMetrics(t *testing.T, promtool, page string) {
	t.Helper()
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = strings.NewReader(page)
	if out, err := check.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// seriesOf returns the series of a page of metrics.
func seriesOf(page string) []string {
	var out []string
	for line := range strings.Lines(page) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

func nameOf(series string) string { return series[:strings.IndexAny(series, "{ ")] }

func metricsOf(series []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range series {
		out[nameOf(s)] = true
	}
	return out
}

// largest lists the metrics with the most series.
func largest(series []string) string {
	n := map[string]int{}
	for _, s := range series {
		n[nameOf(s)]++
	}
	names := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return n[b] - n[a] })
	var out strings.Builder
	for _, name := range names[:min(10, len(names))] {
		fmt.Fprintf(&out, "%6d %s\n", n[name], name)
	}
	return out.String()
}

// read returns what a process answers.
func (w *watchedTest) read(url string) string {
	w.t.Helper()
	resp := must.Get(http.Get(url))(w.t)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: status %d, %v", url, resp.StatusCode, err)
	}
	return string(page)
}

// sampleBodies are bodies of operations whose schema has no example, and for which a body of what the
// schema requires would be refused.
var sampleBodies = map[string]string{
	"createCollection": `{"name":"walk"}`,
	"cloneCollection":  `{"name":"walk-fork"}`,
	"addMessages":      `{"messages":[{"role":"user","content":"Do bees sleep?"}]}`,
	"chat":             `{"messages":[{"role":"user","content":"Do bees sleep?"}]}`,
	"search":           `{"query":"bees"}`,
	"buildContext":     `{"query":"bees"}`,
	"searchAll":        `{"query":"bees","collections":["bees"]}`,
	"buildContextAll":  `{"query":"bees","external":{"user":"nora"}}`,
	"createNote":       `{"content":"The bees survived the frost."}`,
	"patchNote":        `{"tags":["winter"]}`,
	"restoreNote":      `{"revision":1}`,
	"importNotes":      `{"content":"Imported."}`,
	"bulkNotes":        `{"content":"In bulk."}`,
	"createAgent":      `{"name":"ada"}`,
	"createFolder":     `{"name":"walk"}`,
	"attachFolder":     `{"folder":"shelf"}`,
	"createOwnTool":    `{"name":"walk","description":"The weather."}`,
	"patchOwnTool":     `{"description":"The weather in a city."}`,
	"attachTool":       `{"tool":"forecast"}`,
	"detachTool":       `{"tool":"forecast"}`,
	"createAPIKey":     `{"display_name":"walk","scopes":["notes:read"]}`,
}

// callEverything calls every operation of the contract, and with refusals also with ids that do not exist
// and without a key. What deletes comes last.
func (w *watchedTest) callEverything(refusals bool) {
	w.t.Helper()
	doc := contracttest.Documents(w.t)[""]
	w.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "bees"})
	// Where its weights are not installed, the encoder measures that it cannot answer.
	w.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "encoded", "embedder": llm.LocalName})
	w.call(http.StatusCreated, http.MethodPost, "/v1/collections/encoded/notes", object{"content": "The bees survived the frost."})
	w.status(http.MethodPost, "/v1/collections/encoded/search", `{"query":"bees"}`)
	made := w.call(http.StatusCreated, http.MethodPost, "/v1/collections/bees/notes?wait=evolved", object{"content": "I wrapped the beehive in straw."})
	note, job := made["note"].(object)["id"].(string), made["job"].(object)["id"].(string)
	w.call(http.StatusCreated, http.MethodPost, "/v1/folders", object{"name": "shelf"})
	w.call(http.StatusCreated, http.MethodPost, "/v1/tools", object{"name": "forecast", "description": "The weather."})
	block := w.call(http.StatusCreated, http.MethodPost, "/v1/blocks", object{"label": "organization"})["id"].(string)
	const unknown = "019a9c3e-6f1b-7c44-9d2a-3b1f0c5e8a77"
	known := strings.NewReplacer("{collection}", "bees", "{note}", note, "{job}", job, "{agent}", "ada", "{folder}", "shelf", "{block}", block, "{tool}", "forecast", "{label}", "human", "{api_key}", unknown, "{review}", unknown, "{tenant}", unknown)
	none := strings.NewReplacer("{collection}", "none", "{note}", unknown, "{job}", unknown, "{agent}", "none", "{api_key}", unknown, "{review}", unknown, "{tenant}", unknown)
	answered, called := 0, 0
	paths := doc.Paths.Map()
	for _, deletes := range []bool{false, true} {
		order := slices.Sorted(maps.Keys(paths))
		if deletes {
			slices.Reverse(order) // what is within comes before what holds it
		}
		for _, path := range order {
			operations := paths[path].Operations()
			for _, method := range slices.Sorted(maps.Keys(operations)) {
				op := operations[method]
				if deletes != (method == http.MethodDelete) {
					continue
				}
				called++
				body, kind := sampleBody(op)
				if refusals {
					w.status(method, known.Replace(path), body, "Content-Type", kind, "Authorization", "Bearer nonsense")
					w.status(method, none.Replace(path), body, "Content-Type", kind)
				}
				if s := w.status(method, known.Replace(path), body, "Content-Type", kind); s < 400 {
					answered++
				}
			}
		}
	}
	if answered < 65 {
		w.t.Errorf("%d of %d operations answered without an error; the walk is too poor", answered, called)
	}
}

// sampleBody returns a body for an operation, and its media type.
func sampleBody(op *openapi3.Operation) (body, kind string) {
	if op.RequestBody == nil {
		return "", ""
	}
	content := op.RequestBody.Value.Content
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		media := content[kind]
		if body, ok := sampleBodies[op.OperationID]; ok {
			return body, kind
		}
		if media.Schema == nil || len(media.Schema.Value.Examples) == 0 {
			return "{}", kind
		}
		if raw, err := json.Marshal(media.Schema.Value.Examples[0]); err == nil {
			return string(raw), kind
		}
	}
	return "", ""
}

// rule is an alert.
type rule struct {
	Alert       string `yaml:"alert"`
	Expr        string `yaml:"expr"`
	Annotations struct {
		RunbookURL string `yaml:"runbook_url"`
	} `yaml:"annotations"`
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readRules(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	readYAML(t, filepath.Join(deployDir, "prometheus", "rules.yaml"), &file)
	var out []rule
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) < 11 {
		t.Fatalf("only %d rules", len(out))
	}
	return out
}

// Each alert is described, fires on its fault in a test, and is silent in another.
func TestAlerts(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile(watchingPage))(t)
	var cases []string
	for _, name := range []string{"rules_test.yaml", "rules_hours_test.yaml"} {
		var file struct {
			Tests []struct {
				Name string `yaml:"name"`
			} `yaml:"tests"`
		}
		readYAML(t, filepath.Join(deployDir, "prometheus", name), &file)
		for _, c := range file.Tests {
			cases = append(cases, c.Name)
		}
	}
	rules := map[string]bool{}
	for _, r := range readRules(t) {
		rules[r.Alert] = true
		if !strings.Contains(string(page), "`"+r.Alert+"`") {
			t.Errorf("%s does not describe the alert %s", watchingPage, r.Alert)
		}
		_, anchor, _ := strings.Cut(r.Annotations.RunbookURL, "/docs/watching.md#")
		if !strings.Contains(string(page), `<a id="`+anchor+`"></a>`+"`"+r.Alert+"`") {
			t.Errorf("the alert %s leads to %q, which %s does not have beside it", r.Alert, r.Annotations.RunbookURL, watchingPage)
		}
		for _, way := range []string{" fires: ", " is silent: "} {
			if !slices.ContainsFunc(cases, func(name string) bool { return strings.HasPrefix(name, r.Alert+way) }) {
				t.Errorf("no case shows that %s%s", r.Alert, way)
			}
		}
	}
	for _, m := range regexp.MustCompile("`(Slipbox[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1) {
		if !rules[m[1]] {
			t.Errorf("%s describes the alert %s, which no rule has", watchingPage, m[1])
		}
	}
	promtool := installPromtool(t)
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml", "rules_hours_test.yaml"}} {
		check := exec.CommandContext(t.Context(), promtool, args...)
		check.Dir = filepath.Join(deployDir, "prometheus")
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

var (
	braces     = regexp.MustCompile(`\{[^}]*\}`)
	grouping   = regexp.MustCompile(`\b(by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)`)
	metricName = regexp.MustCompile(`\b(?:slipbox|http|gen_ai|db|pgxpool|go|process)_[a-z0-9_]+\b`)
)

// metricsRead returns the metrics that rules and dashboards read, by file.
func metricsRead(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	read := func(where, expr string) {
		names := metricName.FindAllString(grouping.ReplaceAllString(braces.ReplaceAllString(expr, ""), ""), -1)
		if len(names) == 0 {
			t.Errorf("%s reads no metric with %s", where, expr)
		}
		out[where] = append(out[where], names...)
	}
	for _, r := range readRules(t) {
		read("rules.yaml, "+r.Alert, r.Expr)
	}
	for name, d := range readDashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				read(name+", "+p.Title, target.Expr)
			}
		}
	}
	return out
}

// dashboard is what is checked of a dashboard of Grafana.
type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name string `json:"name"`
			Type string `json:"type"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID         int    `json:"id"`
		Type       string `json:"type"`
		Title      string `json:"title"`
		Datasource struct {
			UID string `json:"uid"`
		} `json:"datasource"`
		FieldConfig struct {
			Defaults struct {
				Unit string `json:"unit"`
			} `json:"defaults"`
		} `json:"fieldConfig"`
		GridPos struct {
			X int `json:"x"`
			Y int `json:"y"`
			W int `json:"w"`
			H int `json:"h"`
		} `json:"gridPos"`
		Targets []struct {
			Expr  string `json:"expr"`
			RefID string `json:"refId"`
		} `json:"targets"`
	} `json:"panels"`
}

func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	out := map[string]dashboard{}
	must.Do(t, fs.WalkDir(os.DirFS(deployDir), "grafana", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(deployDir, path))
		if err != nil {
			return err
		}
		var d dashboard
		if err := json.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out[entry.Name()] = d
		return nil
	}))
	return out
}

// Grafana can load the dashboards: their ids differ, panels do not overlap, and each asks the data source
// that the reader selects. Prometheus can parse what they ask.
func TestDashboards(t *testing.T) {
	t.Parallel()
	all := readDashboards(t)
	if names := slices.Sorted(maps.Keys(all)); !slices.Equal(names, []string{"gateway.json", "jobs.json", "models.json"}) {
		t.Fatalf("the dashboards are %v", names)
	}
	type parsed struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var exprs []parsed
	uids := map[string]bool{}
	for name, d := range all {
		if d.UID == "" || d.Title == "" || uids[d.UID] || len(d.Panels) < 4 {
			t.Errorf("%s has the uid %q, the title %q and %d panels", name, d.UID, d.Title, len(d.Panels))
		}
		uids[d.UID] = true
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range d.Panels {
			if p.ID == 0 || ids[p.ID] || p.Title == "" || p.Datasource.UID != "${datasource}" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("%s: the panel %d, %q, lacks an id of its own, a title, the data source, a unit or a query", name, p.ID, p.Title)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other, ok := taken[[2]int{x, y}]; ok || x >= 24 {
						t.Fatalf("%s: %q is over %q or beyond the edge", name, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			for _, target := range p.Targets {
				expr := strings.NewReplacer("$__rate_interval", "5m", "$namespace", "memory", "$job", "slipbox").Replace(target.Expr)
				exprs = append(exprs, parsed{"parsed:" + fmt.Sprint(len(exprs)), expr})
			}
		}
	}
	rules := must.Get(yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": exprs}}}))(t)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	must.Do(t, os.WriteFile(file, rules, 0o600))
	if out, err := exec.CommandContext(t.Context(), installPromtool(t), "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
