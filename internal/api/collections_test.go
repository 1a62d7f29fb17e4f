package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
)

func TestCollections(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	made := b.Call(t, "one", "POST", "/v1/collections",
		`{"name":"research","display_name":"Forschung 研究","metadata":{"n":1.5},"policy_config":{"k_neighbours":3},"ttl_seconds":3600}`)
	made.Want(http.StatusCreated)
	if made.Text("policy") != "amem" || made.Text("embedder") != "hash-384-v2" || made.At("agent") != nil || made.Number("head_revision") != 0 || made.Number("metadata.n") != 1.5 {
		t.Errorf("%s", made.Body)
	}
	if made.Text("expires_at") != "2026-03-01T10:00:00Z" || made.Text("created_at") != "2026-03-01T09:00:00Z" {
		t.Errorf("%s", made.Body)
	}
	path := "/v1/collections/research"
	b.Note(t, "one", path, "Ada moved to Lisbon in March.")
	got := b.Call(t, "one", "GET", path, "").Want(http.StatusOK)
	if got.Number("counts.notes") != 1 || got.Number("counts.kinds.note") != 1 || got.Number("head_revision") != 1 ||
		got.Length("lineage") != 1 || got.At("index.state") == nil || got.Header().Get("Slipbox-Revision") != "1" {
		t.Errorf("%s", got.Body)
	}
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"research"}`).Refused(409, "already_exists", "")
	again := b.Call(t, "one", "POST", "/v1/collections", `{"name":"research","extend":true}`).Want(http.StatusCreated)
	if again.Text("id") != made.Text("id") || again.Number("head_revision") != 1 {
		t.Errorf("extend: %s", again.Body)
	}
	// C319: opening a collection keeps its embedder.
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"research","extend":true,"policy":"none"}`).Refused(409, "conflict", "policy")

	patched := b.Call(t, "one", "PATCH", path, `{"display_name":null,"metadata":{"a":1},"ttl_seconds":null}`).Want(http.StatusOK)
	if patched.At("display_name") != nil || patched.At("expires_at") != nil || patched.Number("metadata.a") != 1 {
		t.Errorf("%s", patched.Body)
	}
	b.Call(t, "one", "DELETE", path, "").Want(http.StatusNoContent)
	b.Call(t, "one", "GET", path, "").Refused(404, "not_found", "")
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"research"}`).Want(http.StatusCreated)
}

func TestBadCollections(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Collection(t, "one", "base")
	tests := map[string]struct {
		credential, method, target, body string
		status                           int
		code, field                      string
	}{
		"unknown policy":      {"one", "POST", "/v1/collections", `{"name":"a","policy":"mem9"}`, 422, "invalid", "policy"},
		"unknown embedder":    {"one", "POST", "/v1/collections", `{"name":"a","embedder":"gpt"}`, 422, "invalid", "embedder"},
		"unknown constant":    {"one", "POST", "/v1/collections", `{"name":"a","policy_config":{"bogus":1}}`, 422, "invalid", "policy_config.bogus"},
		"uuid as name":        {"one", "POST", "/v1/collections", `{"name":"0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"}`, 422, "invalid", "name"},
		"unknown agent id":    {"one", "POST", "/v1/collections", `{"name":"a","agent":"0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"}`, 404, "not_found", ""},
		"another agent":       {"ada", "POST", "/v1/collections", `{"name":"a","agent":"bob"}`, 404, "not_found", ""},
		"ttl zero":            {"one", "POST", "/v1/collections", `{"name":"a","ttl_seconds":0}`, 422, "invalid", "ttl_seconds"},
		"no scope":            {"reader", "POST", "/v1/collections", `{"name":"a"}`, 403, "forbidden", ""},
		"unknown collection":  {"one", "GET", "/v1/collections/nothing", "", 404, "not_found", ""},
		"no name":             {"one", "GET", "/v1/collections/No%20Name", "", 404, "not_found", ""},
		"unknown list agent":  {"one", "GET", "/v1/collections?agent=nobody", "", 404, "not_found", ""},
		"read-only field":     {"one", "PATCH", "/v1/collections/base", `{"head_revision":4}`, 422, "invalid", "head_revision"},
		"policy changed":      {"one", "PATCH", "/v1/collections/base", `{"policy":"none"}`, 422, "invalid", "policy"},
		"base without scope":  {"ada", "PATCH", "/v1/collections/base", `{"metadata":{}}`, 403, "forbidden", ""},
		"min_revision ahead":  {"one", "GET", "/v1/collections/base?min_revision=99", "", 422, "invalid", "min_revision"},
		"clone of nothing":    {"one", "POST", "/v1/collections/nothing/clone", `{}`, 404, "not_found", ""}, // C068
		"clone in the future": {"one", "POST", "/v1/collections/base/clone", `{"at_revision":7}`, 422, "invalid", "at_revision"},
		"clone to a taken":    {"one", "POST", "/v1/collections/base/clone", `{"name":"base"}`, 409, "already_exists", ""},
		"reembed nothing":     {"one", "POST", "/v1/collections/nothing/reembed", `{"embedder":"hash-384-v2"}`, 404, "not_found", ""},
		"reembed to unknown":  {"one", "POST", "/v1/collections/base/reembed", `{"embedder":"gpt"}`, 422, "invalid", "embedder"},
		"reembed to no name":  {"one", "POST", "/v1/collections/base/reembed", `{"embedder":""}`, 422, "invalid", "embedder"},
		"refresh nothing":     {"one", "POST", "/v1/collections/nothing/refresh", `{"analyst":"model"}`, 404, "not_found", ""},
		"refresh by another":  {"one", "POST", "/v1/collections/base/refresh", `{"analyst":"heuristic"}`, 422, "invalid", "analyst"},
		"reembed to nothing":  {"one", "POST", "/v1/collections/base/reembed", `{}`, 422, "invalid", "embedder"},
		"consolidate nothing": {"one", "POST", "/v1/collections/nothing/consolidate", "", 404, "not_found", ""},
		"import into nothing": {"one", "POST", "/v1/collections/nothing/import", `{"id":"0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee","content":"a"}`, 404, "not_found", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := b.Call(t, tt.credential, tt.method, tt.target, tt.body)
			a.Refused(tt.status, faultCode(tt.code), tt.field)
		})
	}
}

func TestListCollections(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, name := range []string{"delta", "alpha", "charlie", "bravo"} {
		b.Collection(t, "one", name)
	}
	b.Collection(t, "ada", "alpha")
	var names []string
	target := "/v1/collections?limit=2"
	for target != "" {
		page := b.Call(t, "one", "GET", target, "").Want(http.StatusOK)
		for i := range page.Length("items") {
			names = append(names, page.Text("items."+string(rune('0'+i))+".name"))
		}
		target = ""
		if next, ok := page.At("next_cursor").(string); ok {
			target = "/v1/collections?limit=2&cursor=" + next
		}
	}
	if got := strings.Join(names, " "); got != "alpha alpha bravo charlie delta" {
		t.Errorf("listed %s", got)
	}
	// A name that several owners use is ambiguous to a key of the whole tenant, not to an agent.
	b.Call(t, "one", "GET", "/v1/collections/alpha", "").Refused(409, "ambiguous_name", "")
	if own := b.Call(t, "ada", "GET", "/v1/collections/alpha", "").Want(http.StatusOK); own.Text("agent") != "ada" {
		t.Errorf("%s", own.Body)
	}
	if shared := b.Call(t, "bob", "GET", "/v1/collections/alpha", "").Want(http.StatusOK); shared.At("agent") != nil {
		t.Errorf("%s", shared.Body)
	}
	if one := b.Call(t, "one", "GET", "/v1/collections?name=charlie", "").Want(http.StatusOK); one.Length("items") != 1 {
		t.Errorf("%s", one.Body)
	}
}

// Collections are searched and ordered at the server, page by page.
func TestFindCollections(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, body := range []string{
		`{"name":"mem0_1","external":{"user":"Ida@example.com"}}`, `{"name":"mem0_2","external":{"user":"bo@example.com","run":"7"}}`,
		`{"name":"diary","display_name":"Über uns"}`, `{"name":"log"}`,
	} {
		b.Call(t, "one", "POST", "/v1/collections", body).Want(http.StatusCreated)
	}
	b.Note(t, "one", "/v1/collections/diary", "A note.")
	for _, fork := range []string{"x-1", "x-2"} {
		b.Call(t, "one", "POST", "/v1/collections/diary/clone", `{"name":"`+fork+`"}`).Want(http.StatusCreated)
	}
	b.Call(t, "one", "POST", "/v1/collections/x-1/clone", `{"name":"x-below"}`).Want(http.StatusCreated)
	for target, want := range map[string]string{
		"?q=IDA": "mem0_1", "?q=example.com": "mem0_1 mem0_2", "?q=example+bo": "mem0_2", "?q=%C3%BCBER": "diary x-1 x-2 x-below", "?q=nobody": "", "?q=%25": "",
		"?order=newest": "x-below x-2 x-1 log diary mem0_2 mem0_1", "?order=oldest": "mem0_1 mem0_2 diary log x-1 x-2 x-below", "?order=user": "mem0_1 mem0_2",
		"?order=name": "diary log mem0_1 mem0_2 x-1 x-2 x-below", "?parent=diary": "x-1 x-2", "?parent=x-1": "x-below", "?parent=log": "",
		"?named=true": "mem0_1 mem0_2", "?named=false&order=newest": "x-below x-2 x-1 log diary", "?q=mem0&order=newest": "mem0_2 mem0_1", "?user=Ida%40example.com&order=newest": "mem0_1",
	} {
		for _, limit := range []string{"&limit=1", "&limit=50"} {
			if got := strings.Join(listAll(t, b, "one", "/v1/collections"+target+limit, "name", func(int) {}), " "); got != want {
				t.Errorf("%s%s: %q, want %q", target, limit, got, want)
			}
		}
	}
	page := b.Call(t, "one", "GET", "/v1/collections?order=updated&limit=1", "").Want(http.StatusOK)
	if page.At("items.0.updated_at") == nil || page.Number("items.0.counts.notes") > 1 {
		t.Errorf("%s", page.Body)
	}
	cursor := page.Text("next_cursor")
	b.Call(t, "one", "GET", "/v1/collections?order=newest&limit=1&cursor="+cursor, "").Refused(422, "invalid", "cursor")
	b.Call(t, "one", "GET", "/v1/collections?order=sideways", "").Refused(422, "invalid", "order")
	b.Call(t, "one", "GET", "/v1/collections?name=log&order=newest", "").Refused(422, "invalid", "order")
	b.Call(t, "one", "GET", "/v1/collections?parent=diary&order=newest", "").Refused(422, "invalid", "order")
	b.Call(t, "one", "GET", "/v1/collections?q=", "").Refused(422, "invalid", "q")
	b.Call(t, "one", "GET", "/v1/collections?parent=nobody", "").Refused(404, "not_found", "")
	if other := b.Call(t, "two", "GET", "/v1/collections?q=example", "").Want(http.StatusOK); other.Length("items") != 0 {
		t.Errorf("another tenant finds %s", other.Body)
	}
}

// C063, C064, C066, C323: a fork is ready at once and independent in both directions, a job fills a
// copy, and both have default names.
func TestClone(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	base := b.Collection(t, "one", "base")
	first := b.Note(t, "one", base, "The lighthouse keeper feeds the gulls at dawn.")
	b.RunJobs(t)

	fork := b.Call(t, "one", "POST", base+"/clone", "").Want(http.StatusCreated)
	if fork.Text("name") != "base__clone" || fork.Number("counts.notes") != 1 || fork.At("parent.revision") == nil || fork.Header().Get("Slipbox-Revision") == "" {
		t.Errorf("%s", fork.Body)
	}
	path := "/v1/collections/" + fork.Text("id")
	if inherited := b.Call(t, "one", "GET", path+"/notes/"+first, "").Want(http.StatusOK); inherited.Text("collection") != fork.Text("id") {
		t.Errorf("%s", inherited.Body)
	}
	second := b.Note(t, "one", path, "Only the fork knows this.")
	b.Call(t, "one", "GET", base+"/notes/"+second, "").Refused(404, "not_found", "")
	late := b.Note(t, "one", base, "Only the base knows this.")
	b.Call(t, "one", "GET", path+"/notes/"+late, "").Refused(404, "not_found", "")

	b.Call(t, "one", "DELETE", base, "").Refused(409, "has_forks", "")

	copied := b.Call(t, "one", "POST", base+"/clone", `{"mode":"copy","agent":"ada","name":"mine","batch_size":10}`, "Idempotency-Key", "k").Want(http.StatusAccepted)
	b.RunJobs(t)
	if job := b.Call(t, "one", "GET", "/v1/jobs/"+copied.Text("job.id"), "").Want(http.StatusOK); job.Text("state") != "done" || job.Text("kind") != "copy" {
		t.Errorf("%s", job.Body)
	}
	mine := b.Call(t, "ada", "GET", "/v1/collections/mine", "").Want(http.StatusOK)
	if mine.Number("counts.notes") != 2 || mine.At("parent") != nil || mine.Text("agent") != "ada" {
		t.Errorf("%s", mine.Body)
	}
	replay := b.Call(t, "one", "POST", base+"/clone", `{"mode":"copy","agent":"ada","name":"mine","batch_size":10}`, "Idempotency-Key", "k").Want(http.StatusAccepted)
	if replay.Text("collection.id") != copied.Text("collection.id") || replay.Text("job.id") != copied.Text("job.id") {
		t.Errorf("replayed %s", replay.Body)
	}
	b.Call(t, "one", "DELETE", base+"?forks=materialise", "").Want(http.StatusNoContent)
	b.RunJobs(t)
	b.Call(t, "one", "GET", path+"/notes/"+first, "").Want(http.StatusOK)
}

// C321: a store with the fields of the public code is imported unchanged.
func TestImport(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "old")
	x, y, z := "0199aaaa-bbbb-7ccc-8ddd-000000000001", "0199aaaa-bbbb-7ccc-8ddd-000000000002", "0199aaaa-bbbb-7ccc-8ddd-000000000003"
	body := `{"id":"` + x + `","content":"2024","timestamp":"202401020304","retrieval_count":7,"last_accessed":"202401030000","links":["` + y + `","` + z + `"],"evolution_history":[{"note":"x"}],"tags":["t"],"context":"c","keywords":["k"],"category":"Old"}
{"id":"` + y + `","content":"second"}
{"broken
{"id":"nope","content":"third"}
`
	job := b.Call(t, "one", "POST", c+"/import", body).Want(http.StatusAccepted).Text("job.id")
	lines := b.Call(t, "one", "GET", "/v1/jobs/"+job+"/results", "").Want(http.StatusOK).Lines()
	if len(lines) != 5 {
		t.Fatalf("%d lines: %v", len(lines), lines)
	}
	for i, status := range []float64{201, 201, 400, 422} {
		if lines[i]["status"] != status || lines[i]["line"] != float64(i+1) {
			t.Errorf("line %d: %v", i+1, lines[i])
		}
	}
	if w, _ := lines[0]["warnings"].([]any); len(w) != 1 || !strings.Contains(w[0].(string), z) {
		t.Errorf("no warning for the link to nowhere: %v", lines[0])
	}
	if apptest.Dig(lines[4], "summary.created") != 2.0 || apptest.Dig(lines[4], "summary.failed") != 2.0 {
		t.Errorf("%v", lines[4])
	}
	note := b.Call(t, "one", "GET", c+"/notes/"+x, "").Want(http.StatusOK)
	if note.Text("content") != "2024" || note.Text("occurred_at") != "2024-01-02T03:04:00Z" || note.Number("usage.access_count") != 7 ||
		note.Text("links.0.target") != y || note.At("attributes.evolution_history") == nil {
		t.Errorf("%s", note.Body)
	}
	b.Call(t, "one", "GET", "/v1/jobs/"+z+"/results", "").Refused(404, "not_found", "")
}
