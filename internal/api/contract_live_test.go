package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// HEAD answers as GET without a body, but not for a stream of events.
func TestHead(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	srv := httptest.NewServer(b)
	t.Cleanup(srv.Close)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"space","policy":"none"}`).Want(http.StatusCreated)
	head := func(path string) *http.Response {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodHead, srv.URL+path, http.NoBody))(t)
		r.Header.Set("Authorization", "Bearer one")
		res := must.Get(srv.Client().Do(r))(t)
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		return res
	}
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/docs": 200, "/openapi.yaml": 200, "/v1/collections/space/notes": 200,
		"/v1/collections/absent": 404, "/v1/collections/space/search": 405, "/v1/nothing": 404,
		"/v1/jobs/01a1fdda-ccd6-713d-97db-eda78326c93a/events": 405,
	} {
		if res := head(path); res.StatusCode != want {
			t.Errorf("HEAD %s: %d, want %d", path, res.StatusCode, want)
		}
	}
	if res := head("/v1/collections/space/notes"); res.Header.Get("Slipbox-Revision") != "0" || res.ContentLength <= 0 {
		t.Errorf("HEAD of a list: %v", res.Header)
	}
}

// Integers that a float cannot hold come back unchanged, in attributes of notes and in metadata of
// collections.
func TestLargeIntegersStay(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	const n = `9007199254740993`
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"space","policy":"none","metadata":{"n":`+n+`}}`).Want(http.StatusCreated)
	id := b.Call(t, "one", "POST", "/v1/collections/space/notes", `{"content":"a","attributes":{"n":`+n+`,"deep":[{"n":-`+n+`}]}}`).Want(http.StatusCreated).Text("note.id")
	for _, path := range []string{"/v1/collections/space", "/v1/collections/space/notes/" + id, "/v1/collections/space/notes", "/v1/collections/space/notes/" + id + "/history"} {
		if got := b.Call(t, "one", "GET", path, "").Want(http.StatusOK); !strings.Contains(got.Body.String(), `"n":`+n) {
			t.Errorf("GET %s: %s", path, got.Body)
		}
	}
	b.Call(t, "one", "PATCH", "/v1/collections/space/notes/"+id, `{"attributes":{"m":1}}`).Want(http.StatusOK)
	if got := b.Call(t, "one", "GET", "/v1/collections/space/notes?filter="+`%7B%22field%22:%22attributes.n%22,%22op%22:%22gt%22,%22value%22:9007199254740000%7D`, "").Want(http.StatusOK); !strings.Contains(got.Body.String(), n) {
		t.Errorf("after a patch: %s", got.Body)
	}
	for _, path := range []string{"/v1/collections/space", "/v1/collections/space/notes/" + id} {
		field := "metadata"
		if strings.HasSuffix(path, id) {
			field = "attributes"
		}
		if got := b.Call(t, "one", "PATCH", path, `{"`+field+`":{"m":-`+n+`}}`).Want(http.StatusOK); !strings.Contains(got.Body.String(), `"m":-`+n) {
			t.Errorf("PATCH %s: %s", path, got.Body)
		}
	}
}

// A query accepts messages as a conversation has them, with id and session.
func TestMessagesOfAConversation(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"space","policy":"none"}`).Want(http.StatusCreated)
	b.Call(t, "one", "POST", "/v1/collections/space/notes", `{"content":"Ben bakes bread on Sundays"}`).Want(http.StatusCreated)
	got := b.Call(t, "one", "POST", "/v1/collections/space/search",
		`{"messages":[{"id":"m1","session":"s1","role":"user","content":"who bakes bread?","name":"Zoë","occurred_at":"202602010930"}]}`).Want(http.StatusOK)
	if got.Length("hits") != 1 {
		t.Errorf("%s", got.Body)
	}
}

// With fields: ["id"], ids and scores are returned and nothing else.
func TestIDsAndScoresOnly(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"space","policy":"none"}`).Want(http.StatusCreated)
	id := b.Call(t, "one", "POST", "/v1/collections/space/notes", `{"content":"tide models"}`).Want(http.StatusCreated).Text("note.id")
	got := b.Call(t, "one", "POST", "/v1/collections/space/search", `{"query":"tide","fields":["id"]}`).Want(http.StatusOK)
	hit, _ := got.At("hits.0").(map[string]any)
	if len(hit) != 2 || hit["score"] == nil || got.Text("hits.0.note.id") != id {
		t.Errorf("%s", got.Body)
	}
}

// The key of a bulk line makes sending that line again safe, even if its note was changed or
// deleted. It is valid for this path only and is not a natural key.
func TestBulkLineKeys(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"space","policy":"none"}`).Want(http.StatusCreated)
	bulk := func(body string) apptest.Response {
		return b.Call(t, "one", "POST", "/v1/collections/space/notes/bulk", body).Want(http.StatusOK)
	}
	const line = `{"content":"first","tags":["x"],"key":"a"}`
	first := bulk(line).Lines()
	id, _ := apptest.Dig(first[0], "id").(string)
	b.Call(t, "one", "PATCH", "/v1/collections/space/notes/"+id, `{"content":"changed since"}`).Want(http.StatusOK)
	if again := bulk(line).Lines(); apptest.Dig(again[0], "id") != id || apptest.Dig(again[0], "revision") != apptest.Dig(first[0], "revision") {
		t.Errorf("sent again after a patch: %v", again)
	}
	b.Call(t, "one", "DELETE", "/v1/collections/space/notes/"+id, "").Want(http.StatusNoContent)
	if again := bulk(line).Lines(); apptest.Dig(again[0], "id") != id {
		t.Errorf("sent again after a delete: %v", again)
	}
	for _, other := range []string{`{"content":"first","tags":["y"],"key":"a"}`, `{"content":"first","tags":["x"],"kind":"fact","key":"a"}`} {
		got := bulk(other).Lines()
		if apptest.Dig(got[0], "error.code") != "idempotency_reuse" || apptest.Dig(got[0], "status") != 409.0 {
			t.Errorf("another line under the key: %v", got)
		}
	}
	b.Pass(24*time.Hour + time.Second)
	if late := bulk(line).Lines(); apptest.Dig(late[0], "status") != 201.0 || apptest.Dig(late[0], "id") == id {
		t.Errorf("a day later: %v", late)
	}
}

// A line over its limit is refused before it is parsed, and alone.
func TestBulkLineSize(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"space","policy":"none"}`).Want(http.StatusCreated)
	long := `{"content":"x","tags":[` + strings.Repeat("1,", memory.MaxBulkLineBytes/2) + `1]}`
	got := b.Call(t, "one", "POST", "/v1/collections/space/notes/bulk", long+"\n"+`{"content":"kept"}`).Want(http.StatusOK).Lines()
	if apptest.Dig(got[0], "status") != 413.0 || apptest.Dig(got[0], "error.code") != "too_large" || apptest.Dig(got[1], "status") != 201.0 {
		t.Errorf("%v", got)
	}
}

// Idempotency-Key makes sending a bulk again safe; another body under it is refused before anything
// is written.
func TestBulkUnderOneKey(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"space","policy":"none"}`).Want(http.StatusCreated)
	bulk := func(body string) apptest.Response {
		return b.Call(t, "one", "POST", "/v1/collections/space/notes/bulk", body, "Idempotency-Key", "k")
	}
	const body = `{"content":"one"}
{broken
{"content":"two","key":"own"}
{"content":"one"}`
	first := bulk(body).Want(http.StatusOK).Lines()
	again := bulk(body).Want(http.StatusOK).Lines()
	for _, i := range []int{0, 2, 3} {
		if apptest.Dig(first[i], "id") == nil || apptest.Dig(first[i], "id") != apptest.Dig(again[i], "id") {
			t.Errorf("line %d: %v, then %v", i+1, first[i], again[i])
		}
	}
	if apptest.Dig(first[0], "id") == apptest.Dig(first[3], "id") {
		t.Error("equal lines are one note")
	}
	if p := bulk(`{"content":"new"}` + "\n" + `{"content":"other"}`); p.Code != http.StatusConflict || p.Text("code") != "idempotency_reuse" {
		t.Errorf("another body: %d %s", p.Code, p.Body)
	}
	if got := b.Call(t, "one", "GET", "/v1/collections/space/notes", "").Want(http.StatusOK); got.Length("items") != 3 {
		t.Errorf("%d notes: %s", got.Length("items"), got.Body)
	}
}

// The list of reviews shows proposals. Changes that were applied without asking, or undone, are
// listed by their state only.
func TestReviewsShowProposals(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	id := b.Call(t, "one", "POST", c+"/notes", `{"content":"a","infer":false}`).Text("note.id")
	want := map[string]bool{}
	for i, state := range []memory.ReviewState{memory.ReviewOpen, memory.ReviewApplied, memory.ReviewOpen, memory.ReviewApplied, memory.ReviewApplied} {
		review := propose(t, b, c, id, float64(i)/10, state)
		want[review] = state == memory.ReviewOpen
	}
	for _, sort := range []string{"date", "risk"} {
		got := listAll(t, b, "one", "/v1/reviews?limit=1&sort="+sort, "id", func(int) {})
		if len(got) != 2 || !want[got[0]] || !want[got[1]] {
			t.Errorf("by %s: %v", sort, got)
		}
	}
	if got := listAll(t, b, "one", "/v1/reviews?state=applied", "id", func(int) {}); len(got) != 3 {
		t.Errorf("applied: %v", got)
	}
}

// A canceled job can be retried.
func TestRetryOfACancelledJob(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	made := b.Call(t, "one", "POST", c+"/notes", `{"content":"Ben bakes bread on Sundays in the old oven"}`).Want(http.StatusCreated)
	job, note := "/v1/jobs/"+made.Text("job.id"), c+"/notes/"+made.Text("note.id")
	b.Call(t, "one", "POST", job+"/cancel", "").Want(http.StatusAccepted)
	must.Get(b.Work(t.Context()))(t)
	if got := b.Call(t, "one", "GET", note, ""); got.Text("state") != "raw" {
		t.Errorf("the job ran: %s", got.Body)
	}
	if got := b.Call(t, "one", "POST", job+"/retry", "").Want(http.StatusAccepted); got.Text("state") != "queued" {
		t.Errorf("%s", got.Body)
	}
	must.Get(b.Work(t.Context()))(t)
	if got := b.Call(t, "one", "GET", note, ""); got.Text("state") != "evolved" {
		t.Errorf("after the retry: %s", got.Body)
	}
	b.Call(t, "one", "POST", job+"/retry", "").Refused(http.StatusConflict, fault.Conflict, "")
}

// Times may be written in lower case (RFC 3339, 5.6), in bodies, filters and messages.
func TestTimesInSmallLetters(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	got := b.Call(t, "one", "POST", c+"/notes", `{"content":"a","infer":false,"occurred_at":"2026-02-01t09:30:00+01:00"}`).Want(http.StatusCreated)
	if at := got.Text("note.occurred_at"); at != "2026-02-01T08:30:00Z" {
		t.Errorf("%s", at)
	}
	found := b.Call(t, "one", "POST", c+"/search",
		`{"messages":[{"role":"user","content":"a","occurred_at":"2026-02-01t09:30:00z"}],"filter":{"field":"occurred_at","op":"lt","value":"2026-02-01t08:30:01z"}}`).Want(http.StatusOK)
	if found.Length("hits") != 1 {
		t.Errorf("%s", found.Body)
	}
}

// A filter in the query string must be an object, as in a body.
func TestNullFilter(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	for _, text := range []string{"null", "%20null", "[]", "3"} {
		b.Call(t, "one", "GET", c+"/notes?filter="+text, "").Refused(http.StatusUnprocessableEntity, fault.Invalid, "filter")
	}
	b.Call(t, "one", "POST", c+"/search", `{"query":"a","filter":null}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "filter")
}

// A bulk whose lines have many values in free objects is refused as a whole: the decoded lines are
// in memory together.
func TestBulkOfManyValues(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"space","policy":"none"}`).Want(http.StatusCreated)
	line := `{"content":"x","attributes":{"a":[` + strings.Repeat(`{"a":1},`, memory.MaxAttributesBytes/8-8) + `1]}}`
	body := strings.Repeat(line+"\n", 200)
	b.Call(t, "one", "POST", "/v1/collections/space/notes/bulk", body).Refused(http.StatusUnprocessableEntity, fault.Invalid, "")
}
