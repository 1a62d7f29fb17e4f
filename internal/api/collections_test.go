package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestCollections(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	made := b.call(t, "one", "POST", "/v1/collections",
		`{"name":"research","display_name":"Forschung 研究","metadata":{"n":1.5},"policy_config":{"k_neighbours":3},"ttl_seconds":3600}`)
	made.want(http.StatusCreated)
	if made.text("policy") != "amem" || made.text("embedder") != "hash-384-v2" || made.at("agent") != nil || made.number("head_revision") != 0 || made.number("metadata.n") != 1.5 {
		t.Errorf("%s", made.Body)
	}
	if made.text("expires_at") != "2026-03-01T10:00:00Z" || made.text("created_at") != "2026-03-01T09:00:00Z" {
		t.Errorf("%s", made.Body)
	}
	path := "/v1/collections/research"
	b.note(t, "one", path, "Ada moved to Lisbon in March.")
	got := b.call(t, "one", "GET", path, "").want(http.StatusOK)
	if got.number("counts.notes") != 1 || got.number("counts.kinds.note") != 1 || got.number("head_revision") != 1 ||
		got.length("lineage") != 1 || got.at("index.state") == nil || got.Header().Get("Slipbox-Revision") != "1" {
		t.Errorf("%s", got.Body)
	}
	b.call(t, "one", "POST", "/v1/collections", `{"name":"research"}`).refused(409, "already_exists", "")
	again := b.call(t, "one", "POST", "/v1/collections", `{"name":"research","extend":true}`).want(http.StatusCreated)
	if again.text("id") != made.text("id") || again.number("head_revision") != 1 {
		t.Errorf("extend: %s", again.Body)
	}
	// C319: opening a collection keeps its embedder.
	b.call(t, "one", "POST", "/v1/collections", `{"name":"research","extend":true,"policy":"none"}`).refused(409, "conflict", "policy")

	patched := b.call(t, "one", "PATCH", path, `{"display_name":null,"metadata":{"a":1},"ttl_seconds":null}`).want(http.StatusOK)
	if patched.at("display_name") != nil || patched.at("expires_at") != nil || patched.number("metadata.a") != 1 {
		t.Errorf("%s", patched.Body)
	}
	b.call(t, "one", "DELETE", path, "").want(http.StatusNoContent)
	b.call(t, "one", "GET", path, "").refused(404, "not_found", "")
	b.call(t, "one", "POST", "/v1/collections", `{"name":"research"}`).want(http.StatusCreated)
}

func TestBadCollections(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	b.collection(t, "one", "base")
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
			a := b.call(t, tt.credential, tt.method, tt.target, tt.body)
			a.refused(tt.status, faultCode(tt.code), tt.field)
		})
	}
}

func TestListCollections(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	for _, name := range []string{"delta", "alpha", "charlie", "bravo"} {
		b.collection(t, "one", name)
	}
	b.collection(t, "ada", "alpha")
	var names []string
	target := "/v1/collections?limit=2"
	for target != "" {
		page := b.call(t, "one", "GET", target, "").want(http.StatusOK)
		for i := range page.length("items") {
			names = append(names, page.text("items."+string(rune('0'+i))+".name"))
		}
		target = ""
		if next, ok := page.at("next_cursor").(string); ok {
			target = "/v1/collections?limit=2&cursor=" + next
		}
	}
	if got := strings.Join(names, " "); got != "alpha alpha bravo charlie delta" {
		t.Errorf("listed %s", got)
	}
	// A name that several owners use is ambiguous to a key of the whole tenant, not to an agent.
	b.call(t, "one", "GET", "/v1/collections/alpha", "").refused(409, "ambiguous_name", "")
	if own := b.call(t, "ada", "GET", "/v1/collections/alpha", "").want(http.StatusOK); own.text("agent") != "ada" {
		t.Errorf("%s", own.Body)
	}
	if shared := b.call(t, "bob", "GET", "/v1/collections/alpha", "").want(http.StatusOK); shared.at("agent") != nil {
		t.Errorf("%s", shared.Body)
	}
	if one := b.call(t, "one", "GET", "/v1/collections?name=charlie", "").want(http.StatusOK); one.length("items") != 1 {
		t.Errorf("%s", one.Body)
	}
}

// Collections are searched and ordered at the server, page by page.
func TestFindCollections(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	for _, body := range []string{
		`{"name":"mem0_1","external":{"user":"Ida@example.com"}}`, `{"name":"mem0_2","external":{"user":"bo@example.com","run":"7"}}`,
		`{"name":"diary","display_name":"Über uns"}`, `{"name":"log"}`,
	} {
		b.call(t, "one", "POST", "/v1/collections", body).want(http.StatusCreated)
	}
	b.note(t, "one", "/v1/collections/diary", "A note.")
	for _, fork := range []string{"x-1", "x-2"} {
		b.call(t, "one", "POST", "/v1/collections/diary/clone", `{"name":"`+fork+`"}`).want(http.StatusCreated)
	}
	b.call(t, "one", "POST", "/v1/collections/x-1/clone", `{"name":"x-below"}`).want(http.StatusCreated)
	for target, want := range map[string]string{
		"?q=IDA": "mem0_1", "?q=example.com": "mem0_1 mem0_2", "?q=example+bo": "mem0_2", "?q=%C3%BCBER": "diary x-1 x-2 x-below", "?q=nobody": "", "?q=%25": "",
		"?order=newest": "x-below x-2 x-1 log diary mem0_2 mem0_1", "?order=oldest": "mem0_1 mem0_2 diary log x-1 x-2 x-below", "?order=user": "mem0_1 mem0_2",
		"?order=name": "diary log mem0_1 mem0_2 x-1 x-2 x-below", "?parent=diary": "x-1 x-2", "?parent=x-1": "x-below", "?parent=log": "",
		"?named=true": "mem0_1 mem0_2", "?named=false&order=newest": "x-below x-2 x-1 log diary", "?q=mem0&order=newest": "mem0_2 mem0_1", "?user=Ida%40example.com&order=newest": "mem0_1",
	} {
		for _, limit := range []string{"&limit=1", "&limit=50"} {
			if got := strings.Join(b.list(t, "one", "/v1/collections"+target+limit, "name", func(int) {}), " "); got != want {
				t.Errorf("%s%s: %q, want %q", target, limit, got, want)
			}
		}
	}
	page := b.call(t, "one", "GET", "/v1/collections?order=updated&limit=1", "").want(http.StatusOK)
	if page.at("items.0.updated_at") == nil || page.number("items.0.counts.notes") > 1 {
		t.Errorf("%s", page.Body)
	}
	cursor := page.text("next_cursor")
	b.call(t, "one", "GET", "/v1/collections?order=newest&limit=1&cursor="+cursor, "").refused(422, "invalid", "cursor")
	b.call(t, "one", "GET", "/v1/collections?order=sideways", "").refused(422, "invalid", "order")
	b.call(t, "one", "GET", "/v1/collections?name=log&order=newest", "").refused(422, "invalid", "order")
	b.call(t, "one", "GET", "/v1/collections?parent=diary&order=newest", "").refused(422, "invalid", "order")
	b.call(t, "one", "GET", "/v1/collections?q=", "").refused(422, "invalid", "q")
	b.call(t, "one", "GET", "/v1/collections?parent=nobody", "").refused(404, "not_found", "")
	if other := b.call(t, "two", "GET", "/v1/collections?q=example", "").want(http.StatusOK); other.length("items") != 0 {
		t.Errorf("another tenant finds %s", other.Body)
	}
}

// C063, C064, C066, C323: a fork is ready at once and independent in both directions, a job fills a
// copy, and both have default names.
func TestClone(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	base := b.collection(t, "one", "base")
	first := b.note(t, "one", base, "The lighthouse keeper feeds the gulls at dawn.")
	b.runJobs(t)

	fork := b.call(t, "one", "POST", base+"/clone", "").want(http.StatusCreated)
	if fork.text("name") != "base__clone" || fork.number("counts.notes") != 1 || fork.at("parent.revision") == nil || fork.Header().Get("Slipbox-Revision") == "" {
		t.Errorf("%s", fork.Body)
	}
	path := "/v1/collections/" + fork.text("id")
	if inherited := b.call(t, "one", "GET", path+"/notes/"+first, "").want(http.StatusOK); inherited.text("collection") != fork.text("id") {
		t.Errorf("%s", inherited.Body)
	}
	second := b.note(t, "one", path, "Only the fork knows this.")
	b.call(t, "one", "GET", base+"/notes/"+second, "").refused(404, "not_found", "")
	late := b.note(t, "one", base, "Only the base knows this.")
	b.call(t, "one", "GET", path+"/notes/"+late, "").refused(404, "not_found", "")

	b.call(t, "one", "DELETE", base, "").refused(409, "has_forks", "")

	copied := b.call(t, "one", "POST", base+"/clone", `{"mode":"copy","agent":"ada","name":"mine","batch_size":10}`, "Idempotency-Key", "k").want(http.StatusAccepted)
	b.runJobs(t)
	if job := b.call(t, "one", "GET", "/v1/jobs/"+copied.text("job.id"), "").want(http.StatusOK); job.text("state") != "done" || job.text("kind") != "copy" {
		t.Errorf("%s", job.Body)
	}
	mine := b.call(t, "ada", "GET", "/v1/collections/mine", "").want(http.StatusOK)
	if mine.number("counts.notes") != 2 || mine.at("parent") != nil || mine.text("agent") != "ada" {
		t.Errorf("%s", mine.Body)
	}
	replay := b.call(t, "one", "POST", base+"/clone", `{"mode":"copy","agent":"ada","name":"mine","batch_size":10}`, "Idempotency-Key", "k").want(http.StatusAccepted)
	if replay.text("collection.id") != copied.text("collection.id") || replay.text("job.id") != copied.text("job.id") {
		t.Errorf("replayed %s", replay.Body)
	}
	b.call(t, "one", "DELETE", base+"?forks=materialise", "").want(http.StatusNoContent)
	b.runJobs(t)
	b.call(t, "one", "GET", path+"/notes/"+first, "").want(http.StatusOK)
}

// C321: a store with the fields of the public code is imported unchanged.
func TestImport(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "old")
	x, y, z := "0199aaaa-bbbb-7ccc-8ddd-000000000001", "0199aaaa-bbbb-7ccc-8ddd-000000000002", "0199aaaa-bbbb-7ccc-8ddd-000000000003"
	body := `{"id":"` + x + `","content":"2024","timestamp":"202401020304","retrieval_count":7,"last_accessed":"202401030000","links":["` + y + `","` + z + `"],"evolution_history":[{"note":"x"}],"tags":["t"],"context":"c","keywords":["k"],"category":"Old"}
{"id":"` + y + `","content":"second"}
{"broken
{"id":"nope","content":"third"}
`
	job := b.call(t, "one", "POST", c+"/import", body).want(http.StatusAccepted).text("job.id")
	lines := b.call(t, "one", "GET", "/v1/jobs/"+job+"/results", "").want(http.StatusOK).lines()
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
	if dig(lines[4], "summary.created") != 2.0 || dig(lines[4], "summary.failed") != 2.0 {
		t.Errorf("%v", lines[4])
	}
	note := b.call(t, "one", "GET", c+"/notes/"+x, "").want(http.StatusOK)
	if note.text("content") != "2024" || note.text("occurred_at") != "2024-01-02T03:04:00Z" || note.number("usage.access_count") != 7 ||
		note.text("links.0.target") != y || note.at("attributes.evolution_history") == nil {
		t.Errorf("%s", note.Body)
	}
	b.call(t, "one", "GET", "/v1/jobs/"+z+"/results", "").refused(404, "not_found", "")
}
