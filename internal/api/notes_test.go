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

	"github.com/slipboxhq/slipbox/internal/fault"
)

func faultCode(s string) fault.Code { return fault.Code(s) }

// C002, C005, C007, C008, C011, C016: the first note of an empty collection is described, and what
// the caller sent stays.
func TestCreateNote(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	made := b.call(t, "one", "POST", c+"/notes", `{"content":"Ada Lovelace wrote the first program for the Analytical Engine in London."}`).want(http.StatusCreated)
	if made.text("note.state") != "raw" || made.text("job.state") != "queued" || made.number("revision") != 1 ||
		made.Header().Get("Slipbox-Revision") != "1" || made.Header().Get("ETag") == "" || made.text("note.category") != "Uncategorized" {
		t.Errorf("%s", made.Body)
	}
	given := b.call(t, "one", "POST", c+"/notes?wait=evolved",
		`{"content":"Charles Babbage designed the Analytical Engine.","tags":["history","machines","people"],"category":"Facts","occurred_at":"202602030405","attributes":{"n":1.5,"deep":[null]},"importance":0}`).want(http.StatusCreated)
	if given.text("note.state") != "evolved" || given.text("job.state") != "done" || given.text("note.category") != "Facts" ||
		given.text("note.occurred_at") != "2026-02-03T04:05:00Z" || given.text("note.analyst") != "heuristic" || given.number("note.importance") != 0 {
		t.Errorf("%s", given.Body)
	}
	if given.length("note.keywords") < 3 || given.text("note.context") == "" || !strings.Contains(given.Body.String(), `"tags":["history","machines","people"]`) ||
		given.number("note.attributes.n") != 1.5 {
		t.Errorf("%s", given.Body)
	}
	first := b.call(t, "one", "GET", c+"/notes/"+made.text("note.id"), "").want(http.StatusOK)
	if first.length("keywords") < 3 || first.text("state") != "evolved" || first.text("embedder") == "" {
		t.Errorf("%s", first.Body)
	}
	stored := b.call(t, "one", "POST", c+"/notes", `{"content":"kept as it is","infer":false}`).want(http.StatusCreated)
	if stored.at("job") != nil || stored.length("note.keywords") != 0 || stored.at("note.analyst") != nil {
		t.Errorf("%s", stored.Body)
	}
	if n := b.call(t, "one", "GET", c+"/notes/"+stored.text("note.id")+"?include=embedding", "").want(http.StatusOK); n.length("embedding") != 384 {
		t.Errorf("%d dimensions", n.length("embedding"))
	}
}

func TestBadNotes(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	other := b.collection(t, "one", "other")
	foreign := b.collection(t, "two", "space")
	id := b.note(t, "one", c, "here")
	gone := b.note(t, "one", c, "gone")
	b.call(t, "one", "DELETE", c+"/notes/"+gone, "").want(http.StatusNoContent)
	elsewhere := b.note(t, "one", other, "elsewhere")
	theirs := b.note(t, "two", foreign, "theirs")
	before := b.call(t, "one", "GET", c, "").number("head_revision")
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
		if after := b.call(t, "one", "GET", c, "").number("head_revision"); after != before {
			t.Errorf("refused requests moved the head from %v to %v", before, after)
		}
	})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.call(t, "one", tt.method, tt.target, tt.body).refused(tt.status, faultCode(tt.code), tt.field)
		})
	}
}

// Things of another tenant or agent look like absent ones, in body and headers.
func TestAbsentAndForeignLookTheSame(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	mine := b.collection(t, "ada", "mine")
	note := b.note(t, "ada", mine, "private")
	job := b.call(t, "ada", "GET", "/v1/jobs", "").text("items.0.id")
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
			foreign := b.call(t, credential, tt.method, tt.foreign, tt.body, "X-Request-ID", "same")
			missing := b.call(t, credential, tt.method, tt.absent, tt.body, "X-Request-ID", "same")
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
	b := newSystem(t)
	c := b.call(t, "one", "POST", "/v1/collections", `{"name":"space"}`, "Idempotency-Key", "c").want(http.StatusCreated)
	if again := b.call(t, "one", "POST", "/v1/collections", `{"name":"space"}`, "Idempotency-Key", "c").want(http.StatusCreated); again.text("id") != c.text("id") {
		t.Errorf("%s", again.Body)
	}
	path := "/v1/collections/" + c.text("id")
	first := b.call(t, "one", "POST", path+"/notes", `{"content":"once"}`, "Idempotency-Key", "k").want(http.StatusCreated)
	b.runJobs(t)
	again := b.call(t, "one", "POST", path+"/notes", `{"content":"once"}`, "Idempotency-Key", "k").want(http.StatusCreated)
	if again.text("note.id") != first.text("note.id") || again.number("revision") != first.number("revision") || again.text("job.id") != first.text("job.id") {
		t.Errorf("%s, then %s", first.Body, again.Body)
	}
	if n := b.call(t, "one", "GET", path, "").number("counts.notes"); n != 1 {
		t.Errorf("%v notes", n)
	}
	b.call(t, "one", "POST", path+"/notes", `{"content":"other"}`, "Idempotency-Key", "k").refused(409, fault.IdempotencyReuse, "")
	// The same key of another agent is a different key.
	b.call(t, "ada", "POST", "/v1/collections", `{"name":"space"}`, "Idempotency-Key", "c").want(http.StatusCreated)

	id := first.text("note.id")
	b.call(t, "one", "PATCH", path+"/notes/"+id, `{"content":"twice"}`).want(http.StatusOK)
	restored := b.call(t, "one", "POST", path+"/notes/"+id+"/restore", `{"revision":1}`, "Idempotency-Key", "r").want(http.StatusOK)
	replayed := b.call(t, "one", "POST", path+"/notes/"+id+"/restore", `{"revision":1}`, "Idempotency-Key", "r").want(http.StatusOK)
	if restored.text("content") != "once" || replayed.Header().Get("ETag") != restored.Header().Get("ETag") {
		t.Errorf("%s, then %s", restored.Body, replayed.Body)
	}
	b.Pass(25 * time.Hour)
	fresh := b.call(t, "one", "POST", path+"/notes", `{"content":"once"}`, "Idempotency-Key", "k").want(http.StatusCreated)
	if fresh.text("note.id") == first.text("note.id") {
		t.Error("a key is kept longer than 24 hours")
	}
}

// A key is bound to the collection that it was used with. When that collection was deleted and
// created again under its name, the same request is refused and never answered from the old log.
func TestIdempotencyOverADeletedCollection(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	const base = "/v1/collections/space"
	create := func() {
		t.Helper()
		b.call(t, "one", "POST", "/v1/collections", `{"name":"space"}`).want(http.StatusCreated)
	}
	create()
	id := b.call(t, "one", "POST", base+"/notes", `{"content":"first"}`).want(http.StatusCreated).text("note.id")
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
	send := func(name string) response {
		t.Helper()
		return b.call(t, "one", "POST", requests[name].path, requests[name].body, "Idempotency-Key", name)
	}
	bulk := func() []map[string]any {
		t.Helper()
		return b.call(t, "one", "POST", base+"/notes/bulk", `{"content":"a","key":"line"}`+"\n"+`{"content":"b"}`, "Idempotency-Key", "bulk").want(http.StatusOK).lines()
	}
	for name, r := range requests {
		send(name).want(r.status)
	}
	bulk()
	b.runJobs(t)
	b.call(t, "one", "DELETE", "/v1/collections/other", "").want(http.StatusNoContent)
	b.call(t, "one", "DELETE", base+"?forks=materialise", "").want(http.StatusNoContent)
	refused := func(when string) {
		t.Helper()
		for name := range requests {
			if got := send(name); got.Code != http.StatusConflict || got.text("code") != string(fault.IdempotencyReuse) {
				t.Errorf("%s, %s: %d %s", name, when, got.Code, got.Body)
			}
		}
		for i, line := range bulk()[:2] {
			if dig(line, "error.code") != string(fault.IdempotencyReuse) {
				t.Errorf("line %d, %s: %v", i+1, when, line)
			}
		}
	}
	create()
	refused("in an empty collection")
	// The revisions of the earlier answers exist in the new log too.
	for range 12 {
		b.call(t, "one", "POST", base+"/notes", `{"content":"new","on_duplicate":"keep"}`).want(http.StatusCreated)
	}
	refused("in a longer log")
}

func TestBulk(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	body := `{"content":"first","key":"a"}
{"content":"second"
{"content":"` + "\xff" + `"}
{"content":"x\u0000"}
{"content":"twice","content":"twice"}
{"content":"third","colour":"red"}

{"content":"other","key":"a"}
{"content":"first","key":"a"}
{"content":"last","infer":false}` + "\r\n"
	got := b.call(t, "one", "POST", c+"/notes/bulk", body).want(http.StatusOK)
	lines := got.lines()
	want := []float64{201, 400, 400, 422, 400, 422, 400, 409, 201, 201}
	if len(lines) != len(want)+1 {
		t.Fatalf("%d lines: %v", len(lines), lines)
	}
	for i, status := range want {
		line := lines[i]
		if line["line"] != float64(i+1) || line["status"] != status || (status == 201) != (line["id"] != nil) || (status == 201) == (line["error"] != nil) {
			t.Errorf("line %d: %v", i+1, line)
		}
		if status != 201 && dig(line, "error.status") != status {
			t.Errorf("line %d: %v", i+1, line)
		}
	}
	if lines[8]["id"] != lines[0]["id"] {
		t.Errorf("a repeated key makes another note: %v, %v", lines[0], lines[8])
	}
	if dig(lines[5], "error.errors.0.field") != "colour" || dig(lines[10], "summary.created") != 3.0 || dig(lines[10], "summary.failed") != 7.0 {
		t.Errorf("%v, %v", lines[5], lines[10])
	}
	if n := b.call(t, "one", "GET", c, "").number("counts.notes"); n != 2 {
		t.Errorf("%v notes", n)
	}
	empty := b.call(t, "one", "POST", c+"/notes/bulk", "").want(http.StatusOK).lines()
	if len(empty) != 1 || dig(empty[0], "summary.created") != 0.0 {
		t.Errorf("%v", empty)
	}
	// Ids grow in input order.
	many := strings.Repeat("{\"content\":\"line\",\"infer\":false}\n", 1200)
	ids := []string{}
	for _, l := range b.call(t, "one", "POST", c+"/notes/bulk", many).want(http.StatusOK).lines() {
		if id, ok := l["id"].(string); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) != 1200 || !slices.IsSorted(ids) {
		t.Errorf("%d ids, sorted: %v", len(ids), slices.IsSorted(ids))
	}
}

// list follows the cursors of a listing and calls between after every page.
func (b *system) list(t *testing.T, credential, target, field string, between func(page int)) []string {
	t.Helper()
	var out []string
	next := target
	for page := 1; next != ""; page++ {
		if page > 1000 { // between may write: an endless listing must not fill the disk
			t.Fatalf("%s does not end", target)
		}
		got := b.call(t, credential, "GET", next, "").want(http.StatusOK)
		for i := range got.length("items") {
			out = append(out, got.text(fmt.Sprintf("items.%d.%s", i, field)))
		}
		if next = ""; got.at("next_cursor") != nil {
			next = target + "&cursor=" + got.text("next_cursor")
			between(page)
		}
	}
	return out
}

func TestListNotesIsStableUnderWrites(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	var want, ids []string
	for i := range 7 {
		content := fmt.Sprintf("note %d", i)
		want = append(want, content)
		ids = append(ids, b.note(t, "one", c, content))
	}
	got := b.list(t, "one", c+"/notes?limit=2", "content", func(page int) {
		b.note(t, "one", c, "new")
		b.call(t, "one", "DELETE", c+"/notes/"+ids[page+2], "").want(http.StatusNoContent)
		b.call(t, "one", "PATCH", c+"/notes/"+ids[6], fmt.Sprintf(`{"content":"changed %d"}`, page)).want(http.StatusOK)
	})
	if !slices.Equal(got, want) {
		t.Errorf("listed %q", got)
	}
}

func TestListNotesInOrder(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	var ids []string
	for _, content := range []string{"a", "b", "c", "d"} {
		ids = append(ids, b.note(t, "one", c, content))
	}
	b.call(t, "one", "PATCH", c+"/notes/"+ids[1], `{"content":"b2"}`).want(http.StatusOK)
	b.call(t, "one", "POST", c+"/messages", `{"infer":false,"messages":[{"role":"user","content":"late","occurred_at":"2026-02-01T00:00:00Z"},{"role":"user","content":"early","occurred_at":"2026-01-01T00:00:00Z"}]}`).want(http.StatusAccepted)
	for target, want := range map[string]string{
		"/notes?kind=note&order=newest": "d c b2 a", "/notes?kind=note&order=oldest": "a b2 c d", "/notes?kind=note&order=updated": "b2 d c a", "/notes?kind=note": "a b2 c d",
		"/messages?order=newest": "late early", "/messages?order=oldest": "early late", "/messages?order=updated": "early late",
	} {
		for _, limit := range []string{"&limit=1", "&limit=3", "&limit=50"} {
			changed := 0
			got := strings.Join(b.list(t, "one", c+target+limit, "content", func(int) { // cursors stay at their revision
				changed++
				b.call(t, "one", "PATCH", c+"/notes/"+ids[1], fmt.Sprintf(`{"content":"changed %d"}`, changed)).want(http.StatusOK)
			}), " ")
			if got != want {
				t.Errorf("%s%s: %q, want %q", target, limit, got, want)
			}
			b.call(t, "one", "PATCH", c+"/notes/"+ids[1], `{"content":"b2"}`).want(http.StatusOK)
		}
	}
	b.call(t, "one", "GET", c+"/notes?order=recent", "").refused(422, "invalid", "order")
}

func TestListNotesFilters(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	for _, body := range []string{
		`{"content":"a","kind":"fact","tags":["ml"],"importance":0.9,"infer":false}`,
		`{"content":"b","tags":["ml"],"importance":0.1,"infer":false}`,
		`{"content":"c","kind":"fact","attributes":{"lang":{"code":"pt"}},"infer":false}`,
	} {
		b.call(t, "one", "POST", c+"/notes", body).want(http.StatusCreated)
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
		if got := strings.Join(b.list(t, "one", c+"/notes"+target, "content", func(int) {}), " "); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

func TestCursors(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	other := b.collection(t, "one", "other")
	foreign := b.collection(t, "two", "space")
	for _, at := range []string{c, other} {
		for range 3 {
			b.note(t, "one", at, "text")
		}
	}
	b.note(t, "two", foreign, "text")
	cursor := b.call(t, "one", "GET", c+"/notes?limit=1", "").text("next_cursor")
	forged := []byte(cursor)
	forged[len(forged)/2] ^= 1
	b.call(t, "one", "GET", c+"/notes?cursor="+cursor, "").want(http.StatusOK)
	b.call(t, "one", "GET", "/v1/collections/space/notes?limit=2&cursor="+cursor, "").want(http.StatusOK)
	b.call(t, "reader", "GET", c+"/notes?cursor="+cursor, "").want(http.StatusOK)
	for name, a := range map[string]response{
		"another collection": b.call(t, "one", "GET", other+"/notes?cursor="+cursor, ""),
		"another tenant":     b.call(t, "two", "GET", foreign+"/notes?cursor="+cursor, ""),
		"another agent":      b.call(t, "ada", "GET", c+"/notes?cursor="+cursor, ""),
		"another listing":    b.call(t, "one", "GET", "/v1/jobs?cursor="+cursor, ""),
		"another filter":     b.call(t, "one", "GET", c+"/notes?kind=fact&cursor="+cursor, ""),
		"another revision":   b.call(t, "one", "GET", c+"/notes?as_of=1&cursor="+cursor, ""),
		"forged":             b.call(t, "one", "GET", c+"/notes?cursor="+url.QueryEscape(string(forged)), ""),
		"cut short":          b.call(t, "one", "GET", c+"/notes?cursor="+cursor[:20], ""),
	} {
		t.Log(name)
		a.refused(422, fault.Invalid, "cursor")
	}
	// A cursor grants nothing: what the scope does not reach stays absent.
	b.call(t, "two", "GET", c+"/notes?cursor="+cursor, "").refused(422, fault.Invalid, "cursor")
	b.Pass(24*time.Hour + time.Second)
	b.call(t, "one", "GET", c+"/notes?cursor="+cursor, "").refused(422, fault.Invalid, "cursor")
}

func TestPatchNote(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	made := b.call(t, "one", "POST", c+"/notes?wait=evolved", `{"content":"The harbour of Porto smells of salt and oranges.","tags":["mine"],"attributes":{"a":1,"b":2}}`).want(http.StatusCreated)
	note, tag := c+"/notes/"+made.text("note.id"), made.Header().Get("ETag")
	b.call(t, "one", "PATCH", note, `{"category":"x"}`, "If-Match", `"old"`).refused(412, fault.Precondition, "")
	patched := b.call(t, "one", "PATCH", note, `{"attributes":{"a":null,"c":3},"category":"Places"}`, "If-Match", tag).want(http.StatusOK)
	if patched.at("attributes.a") != nil || patched.number("attributes.b") != 2 || patched.number("attributes.c") != 3 || patched.text("category") != "Places" {
		t.Errorf("%s", patched.Body)
	}
	if patched.Header().Get("ETag") == tag || patched.Header().Get("Slipbox-Job") != "" {
		t.Errorf("%v", patched.Header())
	}
	b.call(t, "one", "PATCH", note, `{"category":null}`, "If-Match", tag).refused(412, fault.Precondition, "")
	if cleared := b.call(t, "one", "PATCH", note, `{"category":null,"context":null}`).want(http.StatusOK); cleared.text("category") != "Uncategorized" {
		t.Errorf("%s", cleared.Body)
	}
	// A change of content, and nothing else, runs analysis again and replaces the old keywords.
	changed := b.call(t, "one", "PATCH", note, `{"content":"Reykjavik glaciers melt slowly beneath volcanic ash."}`).want(http.StatusOK)
	if changed.Header().Get("Slipbox-Job") == "" || changed.text("state") != "raw" {
		t.Errorf("%v %s", changed.Header(), changed.Body)
	}
	b.runJobs(t)
	after := b.call(t, "one", "GET", note, "").want(http.StatusOK)
	if strings.Contains(fmt.Sprint(after.at("keywords")), "orange") || after.length("keywords") < 3 || after.text("tags.0") != "mine" {
		t.Errorf("%s", after.Body)
	}
	// An evolution by a job changes the tag, too.
	b.call(t, "one", "PATCH", note, `{"importance":1}`, "If-Match", changed.Header().Get("ETag")).refused(412, fault.Precondition, "")
	b.call(t, "one", "DELETE", note, "", "If-Match", tag).refused(412, fault.Precondition, "")
	b.call(t, "one", "DELETE", note, "", "If-Match", after.Header().Get("ETag")).want(http.StatusNoContent)
	// A caller without read permission gets an answer without usage.
	id := b.call(t, "writer", "POST", c+"/notes?wait=evolved", `{"content":"written blind"}`).want(http.StatusCreated).text("note.id")
	if blind := b.call(t, "writer", "PATCH", c+"/notes/"+id, `{"tags":["x"]}`).want(http.StatusOK); blind.at("usage") != nil {
		t.Errorf("%s", blind.Body)
	}
}

// C015, C077: history shows trigger and time of each change, with the earlier content; any version
// can be restored.
func TestHistory(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	id := b.call(t, "one", "POST", c+"/notes?wait=evolved", `{"content":"Gulls gather over the fishing harbour at dawn."}`).want(http.StatusCreated).text("note.id")
	note := c + "/notes/" + id
	b.call(t, "one", "PATCH", note, `{"tags":["birds"]}`).want(http.StatusOK)
	at := b.call(t, "one", "GET", note, "").want(http.StatusOK)
	b.call(t, "one", "DELETE", note, "").want(http.StatusNoContent)
	b.call(t, "one", "GET", note, "").refused(404, fault.NotFound, "")
	past := b.call(t, "one", "GET", note+"?as_of="+at.Header().Get("Slipbox-Revision"), "").want(http.StatusOK)
	if past.Body.String() != at.Body.String() || past.Header().Get("ETag") != at.Header().Get("ETag") {
		t.Errorf("%s, then %s", at.Body, past.Body)
	}
	all := b.call(t, "one", "GET", note+"/history", "").want(http.StatusOK)
	n := all.length("items")
	if all.at("items.0.deleted") != true || all.at("items.0.note") != nil || all.text("items.0.cause") != "delete" || all.text("items.0.actor") != "key:one" ||
		all.text("items.1.cause") != "patch" || all.text("items.1.note.tags.0") != "birds" || all.text(fmt.Sprintf("items.%d.cause", n-1)) != "add" {
		t.Errorf("%s", all.Body)
	}
	for i := range n - 1 {
		if all.text(fmt.Sprintf("items.%d.trigger", i)) != id {
			t.Errorf("entry %d has no trigger: %s", i, all.Body)
		}
		if c := all.text(fmt.Sprintf("items.%d.cause", i)); (c == "evolve" || c == "analyze") != (all.at(fmt.Sprintf("items.%d.job", i)) != nil) {
			t.Errorf("entry %d: %s", i, all.Body)
		}
	}
	if paged := b.list(t, "one", note+"/history?limit=1", "cause", func(int) { b.note(t, "one", c, "more") }); len(paged) != n {
		t.Errorf("%v", paged)
	}
	back := b.call(t, "one", "POST", note+"/restore", fmt.Sprintf(`{"revision":%v}`, all.number("items.1.revision"))).want(http.StatusOK)
	if back.text("tags.0") != "birds" || back.text("state") != "evolved" {
		t.Errorf("%s", back.Body)
	}
	if found := b.call(t, "one", "POST", c+"/search", `{"query":"gulls harbour"}`).want(http.StatusOK); found.text("hits.0.note.id") != id {
		t.Errorf("%s", found.Body)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	var ids []string
	for _, content := range []string{"a", "b", "c"} {
		ids = append(ids, b.call(t, "one", "POST", c+"/notes", `{"content":"`+content+`","infer":false}`).text("note.id"))
	}
	note := c + "/notes/" + ids[0]
	tag := b.call(t, "one", "GET", note, "").Header().Get("ETag")
	none := b.call(t, "one", "GET", note+"/links", "").want(http.StatusOK)
	put := b.call(t, "one", "PUT", note+"/links", `{"links":[{"target":"`+ids[1]+`"},{"target":"`+ids[2]+`","relation":"cites","confidence":0.5}]}`,
		"If-Match", none.Header().Get("ETag"), "Idempotency-Key", "of no account here").want(http.StatusOK)
	if put.length("items") != 2 || put.Header().Get("ETag") == none.Header().Get("ETag") {
		t.Errorf("%s", put.Body)
	}
	same := b.call(t, "one", "PUT", note+"/links", `{"links":[{"target":"`+ids[1]+`"},{"target":"`+ids[2]+`","relation":"cites","confidence":0.5}]}`,
		"If-Match", put.Header().Get("ETag"), "Idempotency-Key", "of no account here").want(http.StatusOK)
	if same.length("items") != 2 || same.Header().Get("ETag") != put.Header().Get("ETag") {
		t.Errorf("the same links again: %s", same.Body)
	}
	b.call(t, "one", "PUT", note+"/links", `{"links":[]}`, "If-Match", none.Header().Get("ETag")).refused(412, fault.Precondition, "")
	got := b.call(t, "one", "GET", note, "").want(http.StatusOK)
	if got.length("links") != 2 || got.Header().Get("ETag") != tag {
		t.Errorf("links move the note's tag: %s", got.Body)
	}
	if in := b.call(t, "one", "GET", c+"/notes/"+ids[2]+"/links?direction=in", "").want(http.StatusOK); in.text("items.0.source") != ids[0] || in.text("items.0.relation") != "cites" {
		t.Errorf("%s", in.Body)
	}
	graph := b.call(t, "one", "GET", c+"/graph?center="+ids[1]+"&depth=2", "").want(http.StatusOK)
	if graph.length("nodes") != 3 || graph.length("links") != 2 || graph.number("nodes.0.distance") != 0 {
		t.Errorf("%s", graph.Body)
	}
	if few := b.call(t, "one", "GET", c+"/graph?limit=2", "").want(http.StatusOK); few.length("nodes") != 2 || few.at("truncated") != true {
		t.Errorf("%s", few.Body)
	}
	// Deleting a note hides its links.
	b.call(t, "one", "DELETE", c+"/notes/"+ids[2], "").want(http.StatusNoContent)
	if left := b.call(t, "one", "GET", note+"/links", "").want(http.StatusOK); left.length("items") != 1 {
		t.Errorf("%s", left.Body)
	}
	b.call(t, "one", "DELETE", note+"/links?target="+ids[1]+"&relation=cites", "").refused(404, fault.NotFound, "")
	b.call(t, "one", "DELETE", note+"/links?target="+ids[1], "").want(http.StatusNoContent)
	if left := b.call(t, "one", "GET", note+"/links", "").want(http.StatusOK); left.length("items") != 0 {
		t.Errorf("%s", left.Body)
	}
}

// A note that the collection has already is answered with 200 and not stored again: the same bytes, of the same kind,
// speaker and event day. A search shows one of equal notes.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "space", "none")
	add := func(credential, body string, header ...string) response {
		t.Helper()
		return b.call(t, credential, "POST", c+"/notes", body, header...)
	}
	const rex = `"content":"Rex the dog sleeps.","attributes":{"speaker":"Ann"}`
	first := add("one", `{`+rex+`,"tags":["a"]}`).want(http.StatusCreated)
	id := first.text("note.id")
	for _, body := range []string{`{` + rex + `}`, `{` + rex + `,"on_duplicate":"return","tags":["b"],"importance":1,"kind":"note"}`, `{` + rex + `,"occurred_at":"2026-03-01T00:00:00Z"}`} {
		got := add("one", body).want(http.StatusOK)
		if got.text("note.id") != id || got.text("note.tags.0") != "a" || got.at("job") != nil || got.number("revision") != 1 || got.Header().Get("ETag") != first.Header().Get("ETag") {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
	if got := add("writer", `{`+rex+`}`).want(http.StatusOK); got.text("note.id") != id {
		t.Errorf("%s", got.Body)
	}
	for _, body := range []string{
		`{"content":"rex the dog sleeps.","attributes":{"speaker":"Ann"}}`, `{"content":"Rex the dog sleeps."}`, `{` + rex + `,"kind":"fact"}`,
		`{` + rex + `,"occurred_at":"2026-02-28T23:59:59Z"}`, `{` + rex + `,"on_duplicate":"keep"}`,
	} {
		if got := add("one", body).want(http.StatusCreated); got.text("note.id") == id {
			t.Errorf("%s is the first note", body)
		}
	}
	add("one", `{`+rex+`,"on_duplicate":"refuse"}`).refused(http.StatusUnprocessableEntity, fault.Invalid, "on_duplicate")
	// The answer is the same under an idempotency key.
	for range 2 {
		if got := add("one", `{`+rex+`}`, "Idempotency-Key", "k").want(http.StatusOK); got.text("note.id") != id {
			t.Errorf("%s", got.Body)
		}
	}
	for _, mode := range []string{"hybrid", "vector", "lexical"} {
		got := b.call(t, "one", "POST", c+"/search", `{"query":"Rex the dog sleeps","k":50,"mode":"`+mode+`"}`).want(http.StatusOK)
		if got.length("hits") != 5 { // the one that was kept twice is shown once
			t.Errorf("%s: %d hits", mode, got.length("hits"))
		}
	}
	lines := b.call(t, "one", "POST", c+"/notes/bulk", "{"+rex+"}\n"+`{"content":"new"}`+"\n"+`{"content":"new"}`+"\n{"+rex+`,"on_duplicate":"keep"}`).want(http.StatusOK).lines()
	if dig(lines[0], "status") != 200.0 || dig(lines[0], "id") != id || dig(lines[1], "status") != 201.0 || dig(lines[1], "id") == dig(lines[2], "id") ||
		dig(lines[3], "status") != 201.0 || dig(lines[4], "summary.created") != 3.0 || dig(lines[4], "summary.existing") != 1.0 {
		t.Errorf("%v", lines)
	}
	// After the first one is deleted, the next oldest is found, and a change makes a note another one.
	b.call(t, "one", "DELETE", c+"/notes/"+id, "").want(http.StatusNoContent)
	other := add("one", `{`+rex+`}`).want(http.StatusOK).text("note.id")
	b.call(t, "one", "PATCH", c+"/notes/"+other, `{"content":"Rex barks."}`).want(http.StatusOK)
	if got := add("one", `{"content":"Rex barks.","attributes":{"speaker":"Ann"}}`).want(http.StatusOK); got.text("note.id") != other {
		t.Errorf("%s", got.Body)
	}
}

// An exchange that repeats what is stored is not stored again. One new message makes all of it new.
func TestDuplicateMessages(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "talk", "mem0")
	say := func(body string) response {
		t.Helper()
		return b.call(t, "one", "POST", c+"/messages?wait=evolved", body).want(http.StatusAccepted)
	}
	ids := func(got response) (out []string) {
		for i := range got.length("messages") {
			out = append(out, got.text(fmt.Sprintf("messages.%d.id", i)))
		}
		return out
	}
	const lisbon, dog = `{"user":"I live in Lisbon.","assistant":"Nice."}`, `{"user":"I have a dog.","assistant":"Nice."}`
	first := ids(say(`{"messages":[` + lisbon + `]}`))
	// A client that sends its whole history again stores only what is new.
	again := say(`{"messages":[` + lisbon + `,` + dog + `]}`)
	if got := ids(again); !slices.Equal(got[:2], first) || len(got) != 4 || slices.Contains(first, got[3]) || again.length("learned") != 1 {
		t.Errorf("%s", again.Body)
	}
	if got := say(`{"messages":[` + lisbon + `,` + dog + `]}`); !slices.Equal(ids(got)[:3], ids(again)[:3]) || got.at("job") != nil || got.length("learned") != 0 {
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
