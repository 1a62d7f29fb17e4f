package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// live fills a collection with notes of several kinds, links, use, derived notes and times of several zones.
func live(t *testing.T, b *apptest.System, name string) {
	t.Helper()
	c := "/v1/collections/" + name
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"`+name+`","policy":"amem","policy_config":{"timezone":"Asia/Tokyo"}}`).Want(http.StatusCreated)
	var ids []string
	for i := range 130 { // more than a page
		zone := []string{"Z", "+00:00", "-05:00", "+13:45"}[i%4]
		ids = append(ids, b.Call(t, "one", "POST", c+"/notes", fmt.Sprintf(
			`{"content":"Note %d <b>&</b>\n# Not a heading","tags":["t%d"],"occurred_at":"2026-02-01T23:30:00.123456%s","attributes":{"n":9007199254740993,"deep":{"a":[1,null,"x"]}},"importance":0.25,"infer":false}`, i, i%3, zone,
		)).Want(http.StatusCreated).Text("note.id"))
	}
	var links []string
	for i := 1; i < len(ids); i++ {
		links = append(links, fmt.Sprintf(`{"target":%q,"relation":"after","confidence":0.5}`, ids[i]))
	}
	b.Call(t, "one", "PUT", c+"/notes/"+ids[0]+"/links", `{"links":[`+strings.Join(links, ",")+`]}`).Want(http.StatusOK)
	b.Call(t, "one", "PUT", c+"/notes/"+ids[7]+"/links", `{"links":[{"target":"`+ids[3]+`","relation":"related","confidence":1}]}`).Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","name":"Ida","content":"I live in Rome.","session":"s","occurred_at":"2026-02-01T10:00:00+01:00"},{"role":"assistant","content":"Since when?"}]}`).Want(http.StatusAccepted)
	b.Call(t, "one", "DELETE", c+"/notes/"+ids[5], "").Want(http.StatusNoContent)
	b.Call(t, "one", "POST", c+"/search", `{"query":"Note 9","k":3}`).Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/import", `{"id":"0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee","kind":"fact","key":"home","content":"Ida lives in Rome.","state":"evolved","supplied":[],"keywords":["Rome"],`+
		`"analyst":"heuristic","provenance":{"sources":["`+ids[1]+`"],"stale":true},"usage":{"access_count":2,"strength":4,"last_access":"2026-02-03T00:00:00Z"},"created_at":"2026-02-02T00:00:00Z"}`).Want(http.StatusAccepted)
	must.Get(b.Work(t.Context()))(t)
}

// What is exported comes back: into an empty collection, with the same notes, links, attributes, times and zones. It is what the
// collection was at one revision.
func TestExportComesBack(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	live(t, b, "lived")
	first := b.Call(t, "reader", "GET", "/v1/collections/lived/export", "").Want(http.StatusOK)
	lines := first.Body.String()
	if n := strings.Count(lines, "\n"); n != 132 || first.Header().Get("Content-Type") != "application/x-ndjson" || first.Header().Get("Slipbox-Revision") == "" {
		t.Fatalf("%d lines, %v", n, first.Header())
	}
	for _, want := range []string{`"occurred_at":"2026-02-01T23:30:00.123456-05:00"`, `"n":9007199254740993`, `"relation":"after"`, `<b>&</b>`, `"stale":true`, `"strength":4`} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %s in %s", want, lines[:2000])
		}
	}
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"again","policy":"amem","policy_config":{"timezone":"Europe/Berlin"}}`).Want(http.StatusCreated)
	imported := func() {
		t.Helper()
		job := b.Call(t, "one", "POST", "/v1/collections/again/import", lines).Want(http.StatusAccepted).Text("job.id")
		must.Get(b.Work(t.Context()))(t)
		results := b.Call(t, "one", "GET", "/v1/jobs/"+job+"/results", "").Want(http.StatusOK).Body.String()
		if strings.Contains(results, `"error"`) || strings.Contains(results, `"warnings"`) {
			t.Errorf("results: %s", results)
		}
	}
	for range 2 {
		imported()
		back := b.Call(t, "one", "GET", "/v1/collections/again/export", "").Want(http.StatusOK).Body.String()
		if back != lines {
			was, is := strings.Split(lines, "\n"), strings.Split(back, "\n")
			for i := range min(len(was), len(is)) {
				if was[i] != is[i] {
					t.Fatalf("line %d of %d and %d:\n%s\n%s", i, len(was), len(is), was[i], is[i])
				}
			}
			t.Fatalf("%d lines became %d", len(was), len(is))
		}
	}
	b.Call(t, "one", "POST", "/v1/collections/lived/notes", `{"content":"Later."}`).Want(http.StatusCreated)
	then := b.Call(t, "one", "GET", "/v1/collections/lived/export?as_of="+first.Header().Get("Slipbox-Revision"), "").Want(http.StatusOK)
	if then.Body.String() != lines {
		t.Error("the export of an old revision differs")
	}
}

// A note with more links than a line may have comes back with all of them, and so do blocks: also those that a new collection has.
func TestExportOfBlocksAndManyLinks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, name := range []string{"agent", "again"} {
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"`+name+`","policy":"memgpt"}`).Want(http.StatusCreated)
	}
	c := "/v1/collections/agent"
	b.Call(t, "one", "PUT", c+"/blocks/human", `{"value":"Ida, from Rome.","limit":600}`).Want(http.StatusOK)
	b.Call(t, "one", "PUT", c+"/blocks/plans", `{"value":"","description":"What she plans.","read_only":true,"metadata":{"a":1}}`).Want(http.StatusCreated)
	var body strings.Builder
	for i := range 1_201 {
		fmt.Fprintf(&body, `{"id":"0199aaaa-bbbb-7ccc-8ddd-%012d","kind":"passage","content":"Passage %d."}`+"\n", i, i)
	}
	b.Call(t, "one", "POST", c+"/import", body.String()).Want(http.StatusAccepted)
	const hub = "/notes/0199aaaa-bbbb-7ccc-8ddd-000000000000/links"
	for from := 1; from < 1_201; from += 600 {
		var links []string
		for i := from; i < from+600; i++ {
			links = append(links, fmt.Sprintf(`{"id":"0199aaaa-bbbb-7ccc-8ddd-000000000000","content":"Passage 0.","kind":"passage","links":["0199aaaa-bbbb-7ccc-8ddd-%012d"]}`, i))
		}
		b.Call(t, "one", "POST", c+"/import", strings.Join(links, "\n")).Want(http.StatusAccepted)
	}
	lines := b.Call(t, "one", "GET", c+"/export", "").Want(http.StatusOK).Body.String()
	b.Call(t, "one", "POST", "/v1/collections/again/import", lines).Want(http.StatusAccepted)
	if n := len(b.Call(t, "one", "GET", "/v1/collections/again"+hub, "").Want(http.StatusOK).At("items").([]any)); n != 1_200 {
		t.Errorf("%d of 1,200 links came back", n)
	}
	was, is := b.Call(t, "one", "GET", c+"/blocks", "").Want(http.StatusOK), b.Call(t, "one", "GET", "/v1/collections/again/blocks", "").Want(http.StatusOK)
	for i, item := range was.At("items").([]any) {
		old, now := item.(map[string]any), is.At("items").([]any)[i].(map[string]any)
		for _, field := range []string{"label", "value", "limit", "read_only", "description", "metadata"} {
			if fmt.Sprint(old[field]) != fmt.Sprint(now[field]) {
				t.Errorf("%s of %v: %v became %v", field, old["label"], old[field], now[field])
			}
		}
	}
}

// An export is of one tenant, and of who may read. As Markdown it is a text for people.
func TestExportIsScoped(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"diary","policy":"amem","display_name":"Ida's # diary"}`).Want(http.StatusCreated)
	b.Call(t, "one", "POST", "/v1/collections/diary/notes", `{"content":"I live in Rome.","tags":["home"],"occurred_at":"2026-02-01T10:00:00+01:00"}`).Want(http.StatusCreated)
	for name, tt := range map[string]struct {
		credential, target string
		status             int
	}{
		"another tenant": {"two", "diary/export", http.StatusNotFound}, "who may only write": {"writer", "diary/export", http.StatusForbidden},
		"no such collection": {"one", "diaries/export", http.StatusNotFound}, "another format": {"one", "diary/export?format=xml", http.StatusUnprocessableEntity},
		"a revision of the future": {"one", "diary/export?as_of=99", http.StatusUnprocessableEntity}, "no revision": {"one", "diary/export?as_of=x", http.StatusUnprocessableEntity},
	} {
		if got := b.Call(t, tt.credential, "GET", "/v1/collections/"+tt.target, ""); got.Code != tt.status || got.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	text := b.Call(t, "reader", "GET", "/v1/collections/diary/export?format=markdown", "").Want(http.StatusOK)
	if is := text.Body.String(); !strings.HasPrefix(is, "# Ida's # diary\n\n## 2026-02-01 10:00 +01:00\n\nI live in Rome.\n") || !strings.Contains(is, "#home") || text.Header().Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("%v\n%s", text.Header(), is)
	}
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"empty"}`).Want(http.StatusCreated)
	if none := b.Call(t, "one", "GET", "/v1/collections/empty/export", "").Want(http.StatusOK); none.Body.Len() != 0 {
		t.Errorf("an empty collection: %s", none.Body)
	}
}

// What an export says of a note beside what callers say is checked.
func TestImportOfExported(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"x","policy":"memgpt"}`).Want(http.StatusCreated)
	const id = `"id":"0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee","content":"a",`
	for _, line := range []string{
		id + `"state":"done"`, id + `"state":1`, id + `"supplied":["content"]`, id + `"supplied":"tags"`, id + `"analyst":"me"`, id + `"provenance":[]`,
		id + `"provenance":{"sources":["x"]}`, id + `"provenance":{"actor":"me"}`, `"content":"a","state":"evolved"`, `"content":"a","provenance":{"stale":true}`,
		id + `"kind":"block"`, id + `"kind":"block","key":"a\nb"`, id + `"kind":"block","key":"k","attributes":{"limit":999999}`,
		`"id":"0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee","kind":"block","key":"k","content":"too long","attributes":{"limit":3}`,
	} {
		job := b.Call(t, "one", "POST", "/v1/collections/x/import", "{"+line+"}").Want(http.StatusAccepted).Text("job.id")
		var result struct {
			Error *json.RawMessage `json:"error"`
		}
		first, _, _ := strings.Cut(b.Call(t, "one", "GET", "/v1/jobs/"+job+"/results", "").Want(http.StatusOK).Body.String(), "\n")
		if err := json.Unmarshal([]byte(first), &result); err != nil || result.Error == nil {
			t.Errorf("%s: %s", line, first)
		}
	}
}

// exportedAs are fields of an imported note that are exported under another name, with that.
var exportedAs = map[string]string{
	"timestamp": "occurred_at", "retrieval_count": "usage", "last_accessed": "usage", "evolution_history": "attributes", "history": "attributes", "item": "attributes",
	"ttl_seconds": "expires_at",
}

// A note of which every field of the contract is set comes back from an export with every field.
func TestEachFieldComesBack(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	const source, id = "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeee01", "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeee02"
	said := `{"id":"` + id + `","key":"a/key","kind":"note","content":"Ада keeps <opal>.","context":"Of stones.","keywords":["opal"],"tags":["stone","a b"],"category":"Things",
		"attributes":{"n":9007199254740993,"deep":{"a":[null,1.50,"x"]}},"item":{"type":"code","language":"go","name":"main.go"},"state":"evolved","supplied":["tags"],"analyst":"model",
		"provenance":{"sources":["` + source + `"],"stale":true,"agent":"scout"},"importance":0.25,"occurred_at":"2026-02-01T23:30:00.123456-05:00","expires_at":"2031-01-01T00:00:00+00:00",
		"created_at":"2026-02-02T00:00:00+00:00","links":[{"target":"` + source + `","relation":"of","confidence":0.5,"attributes":{"why":"x"}}],
		"usage":{"access_count":3,"last_access":"2026-02-03T00:00:00Z","strength":5},"history":[{"trigger":"x"}]}`
	var sent map[string]any
	must.Do(t, json.Unmarshal([]byte(said), &sent))
	for name := range contracttest.Schema(t, "ImportNote").Properties {
		if _, set := sent[name]; !set && exportedAs[name] == "" {
			t.Errorf("this test does not set %s", name)
		}
	}
	exported := func(name, lines string) string {
		t.Helper()
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"`+name+`","policy":"none"}`).Want(http.StatusCreated)
		b.Call(t, "one", "POST", "/v1/collections/"+name+"/import", lines).Want(http.StatusAccepted)
		b.RunJobs(t)
		return b.Call(t, "one", "GET", "/v1/collections/"+name+"/export", "").Want(http.StatusOK).Body.String()
	}
	first := exported("first", strings.ReplaceAll(said, "\n", "")+"\n"+`{"id":"`+source+`","content":"A source."}`+"\n")
	if again := exported("again", first); again != first {
		t.Errorf("it came back as\n%s\nnot\n%s", again, first)
	}
	var got map[string]any
	for line := range strings.Lines(first) {
		if strings.Contains(line, `"id":"`+id) {
			must.Do(t, json.Unmarshal([]byte(line), &got))
		}
	}
	for name, value := range sent {
		if exportedAs[name] == "" && name != "attributes" && fmt.Sprint(got[name]) != fmt.Sprint(value) {
			t.Errorf("%s came back as %v, not %v", name, got[name], value)
		}
	}
	if p := b.Call(t, "one", "GET", "/v1/collections/again/notes/"+id, "").Want(http.StatusOK); p.Text("provenance.agent") != "scout" {
		t.Errorf("provenance: %s", p.Body)
	}
}

// refusing accepts a credential some times, and says then that it was revoked.
type refusing struct {
	*apptest.System
	left atomic.Int32
}

func (r *refusing) Authenticate(ctx context.Context, credential string) (auth.Principal, error) {
	if r.left.Add(-1) < 0 {
		return auth.Principal{}, fault.New(fault.Unauthenticated, "the key is revoked")
	}
	return r.System.Authenticate(ctx, credential)
}

// What is sent part by part breaks off when the key is revoked meanwhile.
func TestLongAnswersEndWithTheKey(t *testing.T) {
	t.Parallel()
	r := &refusing{}
	b := apptest.New(t, func(b *apptest.System, d *api.Deps, _ *api.Config) { r.System, d.Auth = b, r })
	r.left.Store(1000)
	c := b.Collection(t, "one", "space")
	var lines strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&lines, "{\"content\":\"Number %d.\"}\n", i)
	}
	job := b.Call(t, "one", "POST", c+"/import", lines.String()).Want(http.StatusAccepted).Text("job.id")
	for _, path := range []string{c + "/export", "/v1/jobs/" + job + "/results"} {
		for accepted, whole := range map[int32]bool{2: false, 1000: true} {
			r.left.Store(accepted)
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			request.Header.Set("Authorization", "Bearer one")
			w := httptest.NewRecorder()
			func() {
				defer func() { _ = recover() }() // how an answer is cut
				b.ServeHTTP(w, request)
			}()
			if n := strings.Count(w.Body.String(), "\n"); w.Code != http.StatusOK || n == 0 || (n >= 2000) != whole {
				t.Errorf("%s, accepted %d times: %d with %d lines", path, accepted, w.Code, n)
			}
		}
	}
}
