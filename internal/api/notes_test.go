package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
)

func faultCode(s string) fault.Code { return fault.Code(s) }

// C002, C005, C007, C008, C011, C016: the first note of an empty collection is described, and what
// the caller sent stays.
func TestCreateNote(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	made := b.Call(t, "one", "POST", c+"/notes", `{"content":"Ada Lovelace wrote the first program for the Analytical Engine in London."}`).Want(http.StatusCreated)
	if made.Text("note.state") != "raw" || made.Text("job.state") != "queued" || made.Number("revision") != 1 ||
		made.Header().Get("Slipbox-Revision") != "1" || made.Header().Get("ETag") == "" || made.Text("note.category") != "Uncategorized" {
		t.Errorf("%s", made.Body)
	}
	given := b.Call(t, "one", "POST", c+"/notes?wait=evolved",
		`{"content":"Charles Babbage designed the Analytical Engine.","tags":["history","machines","people"],"category":"Facts","occurred_at":"202602030405","attributes":{"n":1.5,"deep":[null]},"importance":0}`).Want(http.StatusCreated)
	if given.Text("note.state") != "evolved" || given.Text("job.state") != "done" || given.Text("note.category") != "Facts" ||
		given.Text("note.occurred_at") != "2026-02-03T04:05:00Z" || given.Text("note.analyst") != "heuristic" || given.Number("note.importance") != 0 {
		t.Errorf("%s", given.Body)
	}
	if given.Length("note.keywords") < 3 || given.Text("note.context") == "" || !strings.Contains(given.Body.String(), `"tags":["history","machines","people"]`) ||
		given.Number("note.attributes.n") != 1.5 {
		t.Errorf("%s", given.Body)
	}
	first := b.Call(t, "one", "GET", c+"/notes/"+made.Text("note.id"), "").Want(http.StatusOK)
	if first.Length("keywords") < 3 || first.Text("state") != "evolved" || first.Text("embedder") == "" {
		t.Errorf("%s", first.Body)
	}
	stored := b.Call(t, "one", "POST", c+"/notes", `{"content":"kept as it is","infer":false}`).Want(http.StatusCreated)
	if stored.At("job") != nil || stored.Length("note.keywords") != 0 || stored.At("note.analyst") != nil {
		t.Errorf("%s", stored.Body)
	}
	if n := b.Call(t, "one", "GET", c+"/notes/"+stored.Text("note.id")+"?include=embedding", "").Want(http.StatusOK); n.Length("embedding") != 384 {
		t.Errorf("%d dimensions", n.Length("embedding"))
	}
}

func TestBadNotes(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	other := b.Collection(t, "one", "other")
	foreign := b.Collection(t, "two", "space")
	id := b.Note(t, "one", c, "here")
	gone := b.Note(t, "one", c, "gone")
	b.Call(t, "one", "DELETE", c+"/notes/"+gone, "").Want(http.StatusNoContent)
	elsewhere := b.Note(t, "one", other, "elsewhere")
	theirs := b.Note(t, "two", foreign, "theirs")
	before := b.Call(t, "one", "GET", c, "").Number("head_revision")
	note, search := c+"/notes/"+id, c+"/search"
	link := func(target string) string { return `{"links":[{"target":"` + target + `"}]}` }
	filter := func(f string) string { return c + "/notes?filter=" + url.QueryEscape(f) }
	vector := func(n int, x string) string {
		return `{"vector":[` + strings.TrimSuffix(strings.Repeat(x+",", n), ",") + `]}`
	}
	tests := map[string]struct {
		method, target, body string
		status               int
		code, field          string
	}{
		"content over 64 KiB in bytes": {"POST", c + "/notes", `{"content":"` + strings.Repeat("é", 40000) + `"}`, 422, "invalid", "content"},
		"blank content":                {"POST", c + "/notes", `{"content":" \n"}`, 422, "invalid", "content"},
		"attributes over 16 KiB":       {"POST", c + "/notes", `{"content":"a","attributes":{"x":"` + strings.Repeat("a", 17000) + `"}}`, 422, "invalid", "attributes"},
		"key only in bulk":             {"POST", c + "/notes", `{"content":"a","key":"k"}`, 422, "invalid", "key"},
		"time in 1700":                 {"POST", c + "/notes", `{"content":"a","occurred_at":"1700-01-01T00:00:00Z"}`, 422, "invalid", "occurred_at"},
		"time tomorrow":                {"POST", c + "/notes", `{"content":"a","occurred_at":"2026-03-02T09:00:00Z"}`, 422, "invalid", "occurred_at"},
		"no time":                      {"POST", c + "/notes", `{"content":"a","occurred_at":"last tuesday"}`, 422, "invalid", "occurred_at"},
		"unknown collection":           {"POST", "/v1/collections/nothing/notes", `{"content":"a"}`, 404, "not_found", ""},
		"another tenant's collection":  {"POST", foreign + "/notes", `{"content":"a"}`, 404, "not_found", ""},
		"patch to a read-only field":   {"PATCH", note, `{"kind":"fact"}`, 422, "invalid", "kind"},
		"patch to blank":               {"PATCH", note, `{"content":"  "}`, 422, "invalid", "content"},
		"patch of what is gone":        {"PATCH", c + "/notes/" + gone, `{"content":"a"}`, 404, "not_found", ""},
		"delete of what is gone":       {"DELETE", c + "/notes/" + gone, "", 404, "not_found", ""},
		"note that is no id":           {"GET", c + "/notes/none", "", 404, "not_found", ""},
		"note of another collection":   {"GET", c + "/notes/" + elsewhere, "", 404, "not_found", ""},
		"note of another tenant":       {"GET", c + "/notes/" + theirs, "", 404, "not_found", ""},
		"as_of in the future":          {"GET", note + "?as_of=999", "", 422, "invalid", "as_of"},
		"as_of in a list":              {"GET", c + "/notes?as_of=999", "", 422, "invalid", "as_of"},
		"min_revision in the future":   {"GET", note + "?min_revision=999", "", 422, "invalid", "min_revision"},
		"restore to no revision":       {"POST", note + "/restore", `{"revision":999}`, 422, "invalid", "revision"},
		"restore of nothing":           {"POST", c + "/notes/" + uuid.NewString() + "/restore", `{"revision":1}`, 404, "not_found", ""},
		"self-link":                    {"PUT", note + "/links", link(id), 422, "invalid", "links.0.target"},
		"duplicate link":               {"PUT", note + "/links", `{"links":[{"target":"` + theirs + `"},{"target":"` + theirs + `"}]}`, 422, "invalid", "links.1.target"},
		"link to a deleted note":       {"PUT", note + "/links", link(gone), 422, "invalid", "links.0.target"},
		"link to another collection":   {"PUT", note + "/links", link(elsewhere), 422, "invalid", "links.0.target"},
		"link to another tenant":       {"PUT", note + "/links", link(theirs), 422, "invalid", "links.0.target"},
		"links of what is gone":        {"GET", c + "/notes/" + gone + "/links", "", 404, "not_found", ""},
		"link that is not there":       {"DELETE", note + "/links?target=" + theirs, "", 404, "not_found", ""},
		"graph around nothing":         {"GET", c + "/graph?center=" + uuid.NewString(), "", 404, "not_found", ""},
		"graph too deep":               {"GET", c + "/graph?depth=6", "", 422, "invalid", "depth"},
		"more hot notes than fit":      {"GET", c + "/hot?limit=201", "", 422, "invalid", "limit"},
		"no hot notes":                 {"GET", c + "/hot?limit=0", "", 422, "invalid", "limit"},
		"filter that is no JSON":       {"GET", filter(`{"field"`), "", 400, "malformed", "filter"},
		"filter with an unknown field": {"GET", filter(`{"field":"colour","op":"eq","value":"red"}`), "", 422, "invalid", "filter.field"},
		"filter with a bad operator":   {"GET", filter(`{"and":[{"field":"tags","op":"like","value":"x"}]}`), "", 422, "invalid", "filter.and.0.op"},
		"filter with a wrong value":    {"GET", filter(`{"field":"importance","op":"gt","value":"high"}`), "", 422, "invalid", "filter.value"},
		"filter deeper than 16":        {"GET", filter(strings.Repeat(`{"not":`, 17) + `{"field":"kind","op":"eq","value":"note"}` + strings.Repeat("}", 17)), "", 422, "invalid", "filter" + strings.Repeat(".not", 17)},
		"filter depth bomb":            {"GET", filter(strings.Repeat(`{"not":`, 1500) + `{}` + strings.Repeat("}", 1500)), "", 422, "invalid", "filter"},
		"filter with NUL":              {"GET", filter(`{"field":"kind","op":"eq","value":"a\u0000"}`), "", 422, "invalid", "filter.value"},
		"search filter unknown field":  {"POST", search, `{"query":"a","filter":{"or":[{"field":"colour","op":"eq","value":1}]}}`, 422, "invalid", "filter.or.0.field"},
		"search filter depth bomb":     {"POST", search, `{"query":"a","filter":` + strings.Repeat(`{"not":`, 40) + `{"field":"kind","op":"eq","value":"note"}` + strings.Repeat("}", 40) + `}`, 422, "invalid", "filter" + strings.Repeat(".not", 17)},
		"search filter in a batch":     {"POST", search, `{"queries":[{"query":"a"},{"query":"b","filter":{"field":"colour","op":"eq","value":1}}]}`, 422, "invalid", "queries.1.filter.field"},
		"search as_of in the future":   {"POST", search, `{"query":"a","as_of":999}`, 422, "invalid", "as_of"},
		"search without a question":    {"POST", search, `{"k":3}`, 422, "invalid", "query"},
		"search with two questions":    {"POST", search, `{"query":"a","vector":[1]}`, 422, "invalid", "vector"},
		"batch beside a question":      {"POST", search, `{"query":"a","queries":[{"query":"b"}]}`, 422, "invalid", "queries"},
		"blank question":               {"POST", search, `{"query":"  "}`, 422, "invalid", "query"},
		"message without content":      {"POST", search, `{"messages":[{"role":"user"}]}`, 422, "invalid", "messages.0.content"},
		"vector of another dimension":  {"POST", search, vector(3, "0.5"), 422, "invalid", "vector"},
		"vector of zeros":              {"POST", search, vector(384, "0"), 422, "invalid", "vector"},
		"vector of a batch":            {"POST", search, `{"queries":[{"query":"a"},` + vector(3, "1") + `]}`, 422, "invalid", "queries.1.vector"},
		"bulk of too many lines":       {"POST", c + "/notes/bulk", strings.Repeat("{}\n", 10001), 413, "too_large", ""},
		"forged cursor":                {"GET", c + "/notes?cursor=AAAA", "", 422, "invalid", "cursor"},
		"cursor that is no base64":     {"GET", c + "/notes?cursor=%21", "", 422, "invalid", "cursor"},
		"job that is no id":            {"GET", "/v1/jobs/none", "", 404, "not_found", ""},
		"events of no job":             {"GET", "/v1/jobs/" + uuid.NewString() + "/events", "", 404, "not_found", ""},
		"jobs of no collection":        {"GET", "/v1/jobs?collection=nothing", "", 404, "not_found", ""},
		"no review":                    {"POST", "/v1/reviews/" + uuid.NewString() + "/approve", "", 404, "not_found", ""},
	}
	t.Cleanup(func() { // after all of them
		if after := b.Call(t, "one", "GET", c, "").Number("head_revision"); after != before {
			t.Errorf("refused requests moved the head from %v to %v", before, after)
		}
	})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.Call(t, "one", tt.method, tt.target, tt.body).Refused(tt.status, faultCode(tt.code), tt.field)
		})
	}
}

// Things of another tenant or agent look like absent ones, in body and headers.
func TestAbsentAndForeignLookTheSame(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	mine := b.Collection(t, "ada", "mine")
	note := b.Note(t, "ada", mine, "private")
	job := b.Call(t, "ada", "GET", "/v1/jobs", "").Text("items.0.id")
	absentCollection, absentID := "/v1/collections/"+uuid.NewString(), uuid.NewString()
	for _, tt := range []struct{ method, foreign, absent, body string }{
		{"GET", mine, absentCollection, ""},
		{"PATCH", mine, absentCollection, `{"metadata":{}}`},
		{"DELETE", mine, absentCollection, ""},
		{"POST", mine + "/clone", absentCollection + "/clone", `{}`},
		{"POST", mine + "/consolidate", absentCollection + "/consolidate", ""},
		{"POST", mine + "/reembed", absentCollection + "/reembed", `{"embedder":"hash-384-v2"}`},
		{"POST", mine + "/notes", absentCollection + "/notes", `{"content":"a"}`},
		{"POST", mine + "/notes/bulk", absentCollection + "/notes/bulk", `{"content":"a"}`},
		{"GET", mine + "/notes", absentCollection + "/notes", ""},
		{"GET", mine + "/notes/" + note, absentCollection + "/notes/" + absentID, ""},
		{"PATCH", mine + "/notes/" + note, absentCollection + "/notes/" + absentID, `{"content":"a"}`},
		{"DELETE", mine + "/notes/" + note, absentCollection + "/notes/" + absentID, ""},
		{"GET", mine + "/notes/" + note + "/history", absentCollection + "/notes/" + absentID + "/history", ""},
		{"GET", mine + "/notes/" + note + "/links", absentCollection + "/notes/" + absentID + "/links", ""},
		{"POST", mine + "/search", absentCollection + "/search", `{"query":"private"}`},
		{"GET", mine + "/graph", absentCollection + "/graph", ""},
		{"GET", mine + "/hot", absentCollection + "/hot", ""},
		{"GET", "/v1/jobs/" + job, "/v1/jobs/" + absentID, ""},
		{"POST", "/v1/jobs/" + job + "/cancel", "/v1/jobs/" + absentID + "/cancel", ""},
		{"GET", "/v1/jobs/" + job + "/events", "/v1/jobs/" + absentID + "/events", ""},
	} {
		for _, credential := range []string{"two", "bob"} {
			foreign := b.Call(t, credential, tt.method, tt.foreign, tt.body, "X-Request-ID", "same")
			missing := b.Call(t, credential, tt.method, tt.absent, tt.body, "X-Request-ID", "same")
			if foreign.Code != http.StatusNotFound || foreign.Body.String() != missing.Body.String() {
				t.Errorf("%s %s as %s: %d %s, absent: %d %s", tt.method, tt.foreign, credential, foreign.Code, foreign.Body, missing.Code, missing.Body)
			}
			for name := range missing.Header() {
				if got, want := foreign.Header().Get(name), missing.Header().Get(name); got != want {
					t.Errorf("%s %s: %s is %q, absent: %q", tt.method, tt.foreign, name, got, want)
				}
			}
			if len(foreign.Header()) != len(missing.Header()) {
				t.Errorf("%s %s: %v, absent: %v", tt.method, tt.foreign, foreign.Header(), missing.Header())
			}
		}
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Call(t, "one", "POST", "/v1/collections", `{"name":"space"}`, "Idempotency-Key", "c").Want(http.StatusCreated)
	if again := b.Call(t, "one", "POST", "/v1/collections", `{"name":"space"}`, "Idempotency-Key", "c").Want(http.StatusCreated); again.Text("id") != c.Text("id") {
		t.Errorf("%s", again.Body)
	}
	path := "/v1/collections/" + c.Text("id")
	first := b.Call(t, "one", "POST", path+"/notes", `{"content":"once"}`, "Idempotency-Key", "k").Want(http.StatusCreated)
	b.RunJobs(t)
	again := b.Call(t, "one", "POST", path+"/notes", `{"content":"once"}`, "Idempotency-Key", "k").Want(http.StatusCreated)
	if again.Text("note.id") != first.Text("note.id") || again.Number("revision") != first.Number("revision") || again.Text("job.id") != first.Text("job.id") {
		t.Errorf("%s, then %s", first.Body, again.Body)
	}
	if n := b.Call(t, "one", "GET", path, "").Number("counts.notes"); n != 1 {
		t.Errorf("%v notes", n)
	}
	b.Call(t, "one", "POST", path+"/notes", `{"content":"other"}`, "Idempotency-Key", "k").Refused(409, fault.IdempotencyReuse, "")
	// The same key of another agent is a different key.
	b.Call(t, "ada", "POST", "/v1/collections", `{"name":"space"}`, "Idempotency-Key", "c").Want(http.StatusCreated)

	id := first.Text("note.id")
	b.Call(t, "one", "PATCH", path+"/notes/"+id, `{"content":"twice"}`).Want(http.StatusOK)
	restored := b.Call(t, "one", "POST", path+"/notes/"+id+"/restore", `{"revision":1}`, "Idempotency-Key", "r").Want(http.StatusOK)
	replayed := b.Call(t, "one", "POST", path+"/notes/"+id+"/restore", `{"revision":1}`, "Idempotency-Key", "r").Want(http.StatusOK)
	if restored.Text("content") != "once" || replayed.Header().Get("ETag") != restored.Header().Get("ETag") {
		t.Errorf("%s, then %s", restored.Body, replayed.Body)
	}
	b.Pass(25 * time.Hour)
	fresh := b.Call(t, "one", "POST", path+"/notes", `{"content":"once"}`, "Idempotency-Key", "k").Want(http.StatusCreated)
	if fresh.Text("note.id") == first.Text("note.id") {
		t.Error("a key is kept longer than 24 hours")
	}
}

// A key is bound to the collection that it was used with. When that collection was deleted and
// created again under its name, the same request is refused and never answered from the old log.
func TestIdempotencyOverADeletedCollection(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	const base = "/v1/collections/space"
	create := func() {
		t.Helper()
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"space"}`).Want(http.StatusCreated)
	}
	create()
	id := b.Call(t, "one", "POST", base+"/notes", `{"content":"first"}`).Want(http.StatusCreated).Text("note.id")
	requests := map[string]struct {
		path, body string
		status     int
	}{
		"note":     {base + "/notes", `{"content":"once"}`, http.StatusCreated},
		"restore":  {base + "/notes/" + id + "/restore", `{"revision":1}`, http.StatusOK},
		"messages": {base + "/messages", `{"messages":[{"content":"once"}]}`, http.StatusAccepted},
		"fork":     {base + "/clone", `{"name":"fork"}`, http.StatusCreated},
		"copy":     {base + "/clone", `{"mode":"copy","name":"copy"}`, http.StatusAccepted},
		"create":   {"/v1/collections", `{"name":"other"}`, http.StatusCreated},
	}
	send := func(name string) apptest.Response {
		t.Helper()
		return b.Call(t, "one", "POST", requests[name].path, requests[name].body, "Idempotency-Key", name)
	}
	bulk := func() []map[string]any {
		t.Helper()
		return b.Call(t, "one", "POST", base+"/notes/bulk", `{"content":"a","key":"line"}`+"\n"+`{"content":"b"}`, "Idempotency-Key", "bulk").Want(http.StatusOK).Lines()
	}
	for name, r := range requests {
		send(name).Want(r.status)
	}
	bulk()
	b.RunJobs(t)
	b.Call(t, "one", "DELETE", "/v1/collections/other", "").Want(http.StatusNoContent)
	b.Call(t, "one", "DELETE", base+"?forks=materialise", "").Want(http.StatusNoContent)
	refused := func(when string) {
		t.Helper()
		for name := range requests {
			if got := send(name); got.Code != http.StatusConflict || got.Text("code") != string(fault.IdempotencyReuse) {
				t.Errorf("%s, %s: %d %s", name, when, got.Code, got.Body)
			}
		}
		for i, line := range bulk()[:2] {
			if apptest.Dig(line, "error.code") != string(fault.IdempotencyReuse) {
				t.Errorf("line %d, %s: %v", i+1, when, line)
			}
		}
	}
	create()
	refused("in an empty collection")
	// The revisions of the earlier answers exist in the new log too.
	for range 12 {
		b.Call(t, "one", "POST", base+"/notes", `{"content":"new","on_duplicate":"keep"}`).Want(http.StatusCreated)
	}
	refused("in a longer log")
}

func TestBulk(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	body := `{"content":"first","key":"a"}
{"content":"second"
{"content":"` + "\xff" + `"}
{"content":"x\u0000"}
{"content":"twice","content":"twice"}
{"content":"third","colour":"red"}

{"content":"other","key":"a"}
{"content":"first","key":"a"}
{"content":"last","infer":false}` + "\r\n"
	got := b.Call(t, "one", "POST", c+"/notes/bulk", body).Want(http.StatusOK)
	lines := got.Lines()
	want := []float64{201, 400, 400, 422, 400, 422, 400, 409, 201, 201}
	if len(lines) != len(want)+1 {
		t.Fatalf("%d lines: %v", len(lines), lines)
	}
	for i, status := range want {
		line := lines[i]
		if line["line"] != float64(i+1) || line["status"] != status || (status == 201) != (line["id"] != nil) || (status == 201) == (line["error"] != nil) {
			t.Errorf("line %d: %v", i+1, line)
		}
		if status != 201 && apptest.Dig(line, "error.status") != status {
			t.Errorf("line %d: %v", i+1, line)
		}
	}
	if lines[8]["id"] != lines[0]["id"] {
		t.Errorf("a repeated key makes another note: %v, %v", lines[0], lines[8])
	}
	if apptest.Dig(lines[5], "error.errors.0.field") != "colour" || apptest.Dig(lines[10], "summary.created") != 3.0 || apptest.Dig(lines[10], "summary.failed") != 7.0 {
		t.Errorf("%v, %v", lines[5], lines[10])
	}
	if n := b.Call(t, "one", "GET", c, "").Number("counts.notes"); n != 2 {
		t.Errorf("%v notes", n)
	}
	empty := b.Call(t, "one", "POST", c+"/notes/bulk", "").Want(http.StatusOK).Lines()
	if len(empty) != 1 || apptest.Dig(empty[0], "summary.created") != 0.0 {
		t.Errorf("%v", empty)
	}
	// Ids grow in input order.
	many := strings.Repeat("{\"content\":\"line\",\"infer\":false}\n", 1200)
	ids := []string{}
	for _, l := range b.Call(t, "one", "POST", c+"/notes/bulk", many).Want(http.StatusOK).Lines() {
		if id, ok := l["id"].(string); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) != 1200 || !slices.IsSorted(ids) {
		t.Errorf("%d ids, sorted: %v", len(ids), slices.IsSorted(ids))
	}
}

// listAll follows the cursors of a listing and calls between after every page.
func listAll(t *testing.T, b *apptest.System, credential, target, field string, between func(page int)) []string {
	t.Helper()
	var out []string
	next := target
	for page := 1; next != ""; page++ {
		if page > 1000 { // between may write: an endless listing must not fill the disk
			t.Fatalf("%s does not end", target)
		}
		got := b.Call(t, credential, "GET", next, "").Want(http.StatusOK)
		out = append(out, got.Texts("items.*."+field)...)
		if next = ""; got.At("next_cursor") != nil {
			next = target + "&cursor=" + got.Text("next_cursor")
			between(page)
		}
	}
	return out
}

func TestListNotesIsStableUnderWrites(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	var want, ids []string
	for i := range 7 {
		content := fmt.Sprintf("note %d", i)
		want = append(want, content)
		ids = append(ids, b.Note(t, "one", c, content))
	}
	got := listAll(t, b, "one", c+"/notes?limit=2", "content", func(page int) {
		b.Note(t, "one", c, "new")
		b.Call(t, "one", "DELETE", c+"/notes/"+ids[page+2], "").Want(http.StatusNoContent)
		b.Call(t, "one", "PATCH", c+"/notes/"+ids[6], fmt.Sprintf(`{"content":"changed %d"}`, page)).Want(http.StatusOK)
	})
	if !slices.Equal(got, want) {
		t.Errorf("listed %q", got)
	}
}

func TestListNotesInOrder(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	var ids []string
	for _, content := range []string{"a", "b", "c", "d"} {
		ids = append(ids, b.Note(t, "one", c, content))
	}
	b.Call(t, "one", "PATCH", c+"/notes/"+ids[1], `{"content":"b2"}`).Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/messages", `{"infer":false,"messages":[{"role":"user","content":"late","occurred_at":"2026-02-01T00:00:00Z"},{"role":"user","content":"early","occurred_at":"2026-01-01T00:00:00Z"}]}`).Want(http.StatusAccepted)
	for target, want := range map[string]string{
		"/notes?kind=note&order=newest": "d c b2 a", "/notes?kind=note&order=oldest": "a b2 c d", "/notes?kind=note&order=updated": "b2 d c a", "/notes?kind=note": "a b2 c d",
		"/messages?order=newest": "late early", "/messages?order=oldest": "early late", "/messages?order=updated": "early late",
	} {
		for _, limit := range []string{"&limit=1", "&limit=3", "&limit=50"} {
			changed := 0
			got := strings.Join(listAll(t, b, "one", c+target+limit, "content", func(int) { // cursors stay at their revision
				changed++
				b.Call(t, "one", "PATCH", c+"/notes/"+ids[1], fmt.Sprintf(`{"content":"changed %d"}`, changed)).Want(http.StatusOK)
			}), " ")
			if got != want {
				t.Errorf("%s%s: %q, want %q", target, limit, got, want)
			}
			b.Call(t, "one", "PATCH", c+"/notes/"+ids[1], `{"content":"b2"}`).Want(http.StatusOK)
		}
	}
	b.Call(t, "one", "GET", c+"/notes?order=recent", "").Refused(422, "invalid", "order")
}

func TestListNotesFilters(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	for _, body := range []string{
		`{"content":"a","kind":"fact","tags":["ml"],"importance":0.9,"infer":false}`,
		`{"content":"b","tags":["ml"],"importance":0.1,"infer":false}`,
		`{"content":"c","kind":"fact","attributes":{"lang":{"code":"pt"}},"infer":false}`,
	} {
		b.Call(t, "one", "POST", c+"/notes", body).Want(http.StatusCreated)
	}
	for target, want := range map[string]string{
		"?kind=fact":     "a c",
		"?state=raw":     "a b c",
		"?limit=1":       "a b c",
		"?state=evolved": "",
		"?filter=" + url.QueryEscape(`{"and":[{"field":"tags","op":"contains","value":"ml"},{"field":"importance","op":"gte","value":0.5}]}`): "a",
		"?filter=" + url.QueryEscape(`{"not":{"field":"attributes.lang.code","op":"exists"}}`):                                                "a b",
		"?kind=fact&filter=" + url.QueryEscape(`{"field":"attributes.lang.code","op":"in","value":["pt","en"]}`):                              "c",
	} {
		if got := strings.Join(listAll(t, b, "one", c+"/notes"+target, "content", func(int) {}), " "); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

func TestCursors(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	other := b.Collection(t, "one", "other")
	foreign := b.Collection(t, "two", "space")
	for _, at := range []string{c, other} {
		for range 3 {
			b.Note(t, "one", at, "text")
		}
	}
	b.Note(t, "two", foreign, "text")
	cursor := b.Call(t, "one", "GET", c+"/notes?limit=1", "").Text("next_cursor")
	forged := []byte(cursor)
	forged[len(forged)/2] ^= 1
	b.Call(t, "one", "GET", c+"/notes?cursor="+cursor, "").Want(http.StatusOK)
	b.Call(t, "one", "GET", "/v1/collections/space/notes?limit=2&cursor="+cursor, "").Want(http.StatusOK)
	b.Call(t, "reader", "GET", c+"/notes?cursor="+cursor, "").Want(http.StatusOK)
	for name, a := range map[string]apptest.Response{
		"another collection": b.Call(t, "one", "GET", other+"/notes?cursor="+cursor, ""),
		"another tenant":     b.Call(t, "two", "GET", foreign+"/notes?cursor="+cursor, ""),
		"another agent":      b.Call(t, "ada", "GET", c+"/notes?cursor="+cursor, ""),
		"another listing":    b.Call(t, "one", "GET", "/v1/jobs?cursor="+cursor, ""),
		"another filter":     b.Call(t, "one", "GET", c+"/notes?kind=fact&cursor="+cursor, ""),
		"another revision":   b.Call(t, "one", "GET", c+"/notes?as_of=1&cursor="+cursor, ""),
		"forged":             b.Call(t, "one", "GET", c+"/notes?cursor="+url.QueryEscape(string(forged)), ""),
		"cut short":          b.Call(t, "one", "GET", c+"/notes?cursor="+cursor[:20], ""),
	} {
		t.Log(name)
		a.Refused(422, fault.Invalid, "cursor")
	}
	// A cursor grants nothing: what the scope does not reach stays absent.
	b.Call(t, "two", "GET", c+"/notes?cursor="+cursor, "").Refused(422, fault.Invalid, "cursor")
	b.Pass(24*time.Hour + time.Second)
	b.Call(t, "one", "GET", c+"/notes?cursor="+cursor, "").Refused(422, fault.Invalid, "cursor")
}

func TestPatchNote(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	made := b.Call(t, "one", "POST", c+"/notes?wait=evolved", `{"content":"The harbour of Porto smells of salt and oranges.","tags":["mine"],"attributes":{"a":1,"b":2}}`).Want(http.StatusCreated)
	note, tag := c+"/notes/"+made.Text("note.id"), made.Header().Get("ETag")
	b.Call(t, "one", "PATCH", note, `{"category":"x"}`, "If-Match", `"old"`).Refused(412, fault.Precondition, "")
	patched := b.Call(t, "one", "PATCH", note, `{"attributes":{"a":null,"c":3},"category":"Places"}`, "If-Match", tag).Want(http.StatusOK)
	if patched.At("attributes.a") != nil || patched.Number("attributes.b") != 2 || patched.Number("attributes.c") != 3 || patched.Text("category") != "Places" {
		t.Errorf("%s", patched.Body)
	}
	if patched.Header().Get("ETag") == tag || patched.Header().Get("Slipbox-Job") != "" {
		t.Errorf("%v", patched.Header())
	}
	b.Call(t, "one", "PATCH", note, `{"category":null}`, "If-Match", tag).Refused(412, fault.Precondition, "")
	if cleared := b.Call(t, "one", "PATCH", note, `{"category":null,"context":null}`).Want(http.StatusOK); cleared.Text("category") != "Uncategorized" {
		t.Errorf("%s", cleared.Body)
	}
	// A change of content, and nothing else, runs analysis again and replaces the old keywords.
	changed := b.Call(t, "one", "PATCH", note, `{"content":"Reykjavik glaciers melt slowly beneath volcanic ash."}`).Want(http.StatusOK)
	if changed.Header().Get("Slipbox-Job") == "" || changed.Text("state") != "raw" {
		t.Errorf("%v %s", changed.Header(), changed.Body)
	}
	b.RunJobs(t)
	after := b.Call(t, "one", "GET", note, "").Want(http.StatusOK)
	if strings.Contains(fmt.Sprint(after.At("keywords")), "orange") || after.Length("keywords") < 3 || after.Text("tags.0") != "mine" {
		t.Errorf("%s", after.Body)
	}
	// An evolution by a job changes the tag, too.
	b.Call(t, "one", "PATCH", note, `{"importance":1}`, "If-Match", changed.Header().Get("ETag")).Refused(412, fault.Precondition, "")
	b.Call(t, "one", "DELETE", note, "", "If-Match", tag).Refused(412, fault.Precondition, "")
	b.Call(t, "one", "DELETE", note, "", "If-Match", after.Header().Get("ETag")).Want(http.StatusNoContent)
	// A caller without read permission gets an answer without usage.
	id := b.Call(t, "writer", "POST", c+"/notes?wait=evolved", `{"content":"written blind"}`).Want(http.StatusCreated).Text("note.id")
	if blind := b.Call(t, "writer", "PATCH", c+"/notes/"+id, `{"tags":["x"]}`).Want(http.StatusOK); blind.At("usage") != nil {
		t.Errorf("%s", blind.Body)
	}
}

// C015, C077: history shows trigger and time of each change, with the earlier content; any version
// can be restored.
func TestHistory(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	id := b.Call(t, "one", "POST", c+"/notes?wait=evolved", `{"content":"Gulls gather over the fishing harbour at dawn."}`).Want(http.StatusCreated).Text("note.id")
	note := c + "/notes/" + id
	b.Call(t, "one", "PATCH", note, `{"tags":["birds"]}`).Want(http.StatusOK)
	at := b.Call(t, "one", "GET", note, "").Want(http.StatusOK)
	b.Call(t, "one", "DELETE", note, "").Want(http.StatusNoContent)
	b.Call(t, "one", "GET", note, "").Refused(404, fault.NotFound, "")
	past := b.Call(t, "one", "GET", note+"?as_of="+at.Header().Get("Slipbox-Revision"), "").Want(http.StatusOK)
	if past.Body.String() != at.Body.String() || past.Header().Get("ETag") != at.Header().Get("ETag") {
		t.Errorf("%s, then %s", at.Body, past.Body)
	}
	all := b.Call(t, "one", "GET", note+"/history", "").Want(http.StatusOK)
	n := all.Length("items")
	if all.At("items.0.deleted") != true || all.At("items.0.note") != nil || all.Text("items.0.cause") != "delete" || all.Text("items.0.actor") != "key:one" ||
		all.Text("items.1.cause") != "patch" || all.Text("items.1.note.tags.0") != "birds" || all.Text(fmt.Sprintf("items.%d.cause", n-1)) != "add" {
		t.Errorf("%s", all.Body)
	}
	for i := range n - 1 {
		if all.Text(fmt.Sprintf("items.%d.trigger", i)) != id {
			t.Errorf("entry %d has no trigger: %s", i, all.Body)
		}
		if c := all.Text(fmt.Sprintf("items.%d.cause", i)); (c == "evolve" || c == "analyze") != (all.At(fmt.Sprintf("items.%d.job", i)) != nil) {
			t.Errorf("entry %d: %s", i, all.Body)
		}
	}
	if paged := listAll(t, b, "one", note+"/history?limit=1", "cause", func(int) { b.Note(t, "one", c, "more") }); len(paged) != n {
		t.Errorf("%v", paged)
	}
	back := b.Call(t, "one", "POST", note+"/restore", fmt.Sprintf(`{"revision":%v}`, all.Number("items.1.revision"))).Want(http.StatusOK)
	if back.Text("tags.0") != "birds" || back.Text("state") != "evolved" {
		t.Errorf("%s", back.Body)
	}
	if found := b.Call(t, "one", "POST", c+"/search", `{"query":"gulls harbour"}`).Want(http.StatusOK); found.Text("hits.0.note.id") != id {
		t.Errorf("%s", found.Body)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	var ids []string
	for _, content := range []string{"a", "b", "c"} {
		ids = append(ids, b.Call(t, "one", "POST", c+"/notes", `{"content":"`+content+`","infer":false}`).Text("note.id"))
	}
	note := c + "/notes/" + ids[0]
	tag := b.Call(t, "one", "GET", note, "").Header().Get("ETag")
	none := b.Call(t, "one", "GET", note+"/links", "").Want(http.StatusOK)
	put := b.Call(t, "one", "PUT", note+"/links", `{"links":[{"target":"`+ids[1]+`"},{"target":"`+ids[2]+`","relation":"cites","confidence":0.5}]}`,
		"If-Match", none.Header().Get("ETag"), "Idempotency-Key", "of no account here").Want(http.StatusOK)
	if put.Length("items") != 2 || put.Header().Get("ETag") == none.Header().Get("ETag") {
		t.Errorf("%s", put.Body)
	}
	same := b.Call(t, "one", "PUT", note+"/links", `{"links":[{"target":"`+ids[1]+`"},{"target":"`+ids[2]+`","relation":"cites","confidence":0.5}]}`,
		"If-Match", put.Header().Get("ETag"), "Idempotency-Key", "of no account here").Want(http.StatusOK)
	if same.Length("items") != 2 || same.Header().Get("ETag") != put.Header().Get("ETag") {
		t.Errorf("the same links again: %s", same.Body)
	}
	b.Call(t, "one", "PUT", note+"/links", `{"links":[]}`, "If-Match", none.Header().Get("ETag")).Refused(412, fault.Precondition, "")
	got := b.Call(t, "one", "GET", note, "").Want(http.StatusOK)
	if got.Length("links") != 2 || got.Header().Get("ETag") != tag {
		t.Errorf("links move the note's tag: %s", got.Body)
	}
	if in := b.Call(t, "one", "GET", c+"/notes/"+ids[2]+"/links?direction=in", "").Want(http.StatusOK); in.Text("items.0.source") != ids[0] || in.Text("items.0.relation") != "cites" {
		t.Errorf("%s", in.Body)
	}
	graph := b.Call(t, "one", "GET", c+"/graph?center="+ids[1]+"&depth=2", "").Want(http.StatusOK)
	if graph.Length("nodes") != 3 || graph.Length("links") != 2 || graph.Number("nodes.0.distance") != 0 {
		t.Errorf("%s", graph.Body)
	}
	if few := b.Call(t, "one", "GET", c+"/graph?limit=2", "").Want(http.StatusOK); few.Length("nodes") != 2 || few.At("truncated") != true {
		t.Errorf("%s", few.Body)
	}
	// Deleting a note hides its links.
	b.Call(t, "one", "DELETE", c+"/notes/"+ids[2], "").Want(http.StatusNoContent)
	if left := b.Call(t, "one", "GET", note+"/links", "").Want(http.StatusOK); left.Length("items") != 1 {
		t.Errorf("%s", left.Body)
	}
	b.Call(t, "one", "DELETE", note+"/links?target="+ids[1]+"&relation=cites", "").Refused(404, fault.NotFound, "")
	b.Call(t, "one", "DELETE", note+"/links?target="+ids[1], "").Want(http.StatusNoContent)
	if left := b.Call(t, "one", "GET", note+"/links", "").Want(http.StatusOK); left.Length("items") != 0 {
		t.Errorf("%s", left.Body)
	}
}

// A note that the collection has already is answered with 200 and not stored again: the same bytes, of the same kind,
// speaker and event day. A search shows one of equal notes.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "space", "none")
	add := func(credential, body string, header ...string) apptest.Response {
		t.Helper()
		return b.Call(t, credential, "POST", c+"/notes", body, header...)
	}
	const rex = `"content":"Rex the dog sleeps.","attributes":{"speaker":"Ann"}`
	first := add("one", `{`+rex+`,"tags":["a"]}`).Want(http.StatusCreated)
	id := first.Text("note.id")
	for _, body := range []string{`{` + rex + `}`, `{` + rex + `,"on_duplicate":"return","tags":["b"],"importance":1,"kind":"note"}`, `{` + rex + `,"occurred_at":"2026-03-01T00:00:00Z"}`} {
		got := add("one", body).Want(http.StatusOK)
		if got.Text("note.id") != id || got.Text("note.tags.0") != "a" || got.At("job") != nil || got.Number("revision") != 1 || got.Header().Get("ETag") != first.Header().Get("ETag") {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
	if got := add("writer", `{`+rex+`}`).Want(http.StatusOK); got.Text("note.id") != id {
		t.Errorf("%s", got.Body)
	}
	for _, body := range []string{
		`{"content":"rex the dog sleeps.","attributes":{"speaker":"Ann"}}`, `{"content":"Rex the dog sleeps."}`, `{` + rex + `,"kind":"fact"}`,
		`{` + rex + `,"occurred_at":"2026-02-28T23:59:59Z"}`, `{` + rex + `,"on_duplicate":"keep"}`,
	} {
		if got := add("one", body).Want(http.StatusCreated); got.Text("note.id") == id {
			t.Errorf("%s is the first note", body)
		}
	}
	add("one", `{`+rex+`,"on_duplicate":"refuse"}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "on_duplicate")
	// The answer is the same under an idempotency key.
	for range 2 {
		if got := add("one", `{`+rex+`}`, "Idempotency-Key", "k").Want(http.StatusOK); got.Text("note.id") != id {
			t.Errorf("%s", got.Body)
		}
	}
	for _, mode := range []string{"hybrid", "vector", "lexical"} {
		got := b.Call(t, "one", "POST", c+"/search", `{"query":"Rex the dog sleeps","k":50,"mode":"`+mode+`"}`).Want(http.StatusOK)
		if got.Length("hits") != 5 { // the one that was kept twice is shown once
			t.Errorf("%s: %d hits", mode, got.Length("hits"))
		}
	}
	lines := b.Call(t, "one", "POST", c+"/notes/bulk", "{"+rex+"}\n"+`{"content":"new"}`+"\n"+`{"content":"new"}`+"\n{"+rex+`,"on_duplicate":"keep"}`).Want(http.StatusOK).Lines()
	if apptest.Dig(lines[0], "status") != 200.0 || apptest.Dig(lines[0], "id") != id || apptest.Dig(lines[1], "status") != 201.0 || apptest.Dig(lines[1], "id") == apptest.Dig(lines[2], "id") ||
		apptest.Dig(lines[3], "status") != 201.0 || apptest.Dig(lines[4], "summary.created") != 3.0 || apptest.Dig(lines[4], "summary.existing") != 1.0 {
		t.Errorf("%v", lines)
	}
	// After the first one is deleted, the next oldest is found, and a change makes a note another one.
	b.Call(t, "one", "DELETE", c+"/notes/"+id, "").Want(http.StatusNoContent)
	other := add("one", `{`+rex+`}`).Want(http.StatusOK).Text("note.id")
	b.Call(t, "one", "PATCH", c+"/notes/"+other, `{"content":"Rex barks."}`).Want(http.StatusOK)
	if got := add("one", `{"content":"Rex barks.","attributes":{"speaker":"Ann"}}`).Want(http.StatusOK); got.Text("note.id") != other {
		t.Errorf("%s", got.Body)
	}
}

// An exchange that repeats what is stored is not stored again. One new message makes all of it new.
func TestDuplicateMessages(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "talk", "mem0")
	say := func(body string) apptest.Response {
		t.Helper()
		return b.Call(t, "one", "POST", c+"/messages?wait=evolved", body).Want(http.StatusAccepted)
	}
	ids := func(got apptest.Response) []string {
		return got.Texts("messages.*.id")
	}
	const lisbon, dog = `{"user":"I live in Lisbon.","assistant":"Nice."}`, `{"user":"I have a dog.","assistant":"Nice."}`
	first := ids(say(`{"messages":[` + lisbon + `]}`))
	// A client that sends its whole history again stores only what is new.
	again := say(`{"messages":[` + lisbon + `,` + dog + `]}`)
	if got := ids(again); !slices.Equal(got[:2], first) || len(got) != 4 || slices.Contains(first, got[3]) || again.Length("learned") != 1 {
		t.Errorf("%s", again.Body)
	}
	if got := say(`{"messages":[` + lisbon + `,` + dog + `]}`); !slices.Equal(ids(got)[:3], ids(again)[:3]) || got.At("job") != nil || got.Length("learned") != 0 {
		t.Errorf("%s", got.Body)
	}
	for name, body := range map[string]string{
		"another answer":  `{"messages":[{"user":"I live in Lisbon.","assistant":"Since when?"}]}`,
		"another speaker": `{"messages":[{"user":"I live in Lisbon.","assistant":"Nice.","name":"Ann"}]}`,
		"another session": `{"messages":[{"user":"I live in Lisbon.","assistant":"Nice.","session":"b"}]}`,
		"another day":     `{"messages":[{"user":"I live in Lisbon.","assistant":"Nice.","occurred_at":"2026-02-01T09:00:00Z"}]}`,
		"an id":           `{"messages":[{"user":"I live in Lisbon.","assistant":"Nice.","id":"x"}]}`,
		"keep":            `{"on_duplicate":"keep","messages":[` + lisbon + `]}`,
	} {
		for _, id := range ids(say(body)) {
			if slices.Contains(first, id) {
				t.Errorf("%s: a message was not stored", name)
			}
		}
	}
}
