package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// C009, C074: with the model down an add succeeds, the note shows why it waits, and a retry fixes
// it.
func TestPendingNoteShowsItsError(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	b.Model.Fail(fault.New(fault.Unavailable, "no connection to http://127.0.0.1:11434"))
	made := b.call(t, "one", "POST", c+"/notes?wait=evolved", `{"content":"Written while the model is down."}`).want(http.StatusCreated)
	if made.text("note.state") != "pending" || !strings.Contains(made.text("note.error"), "127.0.0.1:11434") || made.text("job.state") != "queued" {
		t.Errorf("%s", made.Body)
	}
	id, job := made.text("note.id"), "/v1/jobs/"+made.text("job.id")
	if w := b.call(t, "one", "GET", c, ""); w.text("work.stages.0.stage") != "description" || w.number("work.stages.0.waiting") != 1 || w.number("work.dead") != 0 {
		t.Errorf("what waits: %s", w.Body)
	}
	if n := b.call(t, "one", "GET", c, "").number("counts.pending"); n != 1 {
		t.Errorf("%v pending", n)
	}
	if found := b.call(t, "one", "POST", c+"/search", `{"query":"model is down"}`).want(http.StatusOK); found.text("hits.0.note.id") != id {
		t.Errorf("%s", found.Body)
	}
	for range 2 {
		b.Pass(time.Minute)
		b.runJobs(t)
	}
	waits := b.call(t, "one", "GET", job, "").want(http.StatusOK)
	next, err := time.Parse(time.RFC3339, waits.text("next_try_at"))
	if pause := next.Sub(b.Clock()); err != nil || pause <= 0 || pause > 30*time.Second {
		t.Errorf("the next try is at %q, in %v", waits.text("next_try_at"), pause)
	}
	if waits.text("state") != "queued" || waits.number("attempts") != 3 || waits.text("error") == "" || waits.text("note") != id {
		t.Errorf("%s", waits.Body)
	}
	b.Model.Fail(nil)
	if again := b.call(t, "one", "POST", job+"/retry", "").want(http.StatusAccepted); again.text("state") != "queued" || again.at("next_try_at") != nil || again.number("attempts") != 0 {
		t.Errorf("%s", again.Body)
	}
	b.call(t, "one", "POST", job+"/retry", "").refused(409, fault.Conflict, "")
	b.runJobs(t)
	note := b.call(t, "one", "GET", c+"/notes/"+id, "").want(http.StatusOK)
	if note.text("state") != "evolved" || note.at("error") != nil || note.length("keywords") == 0 {
		t.Errorf("%s", note.Body)
	}
}

func TestJobs(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	mine := b.collection(t, "ada", "mine")
	for range 3 {
		b.note(t, "one", c, "text")
	}
	b.note(t, "ada", mine, "text")
	consolidate := b.call(t, "one", "POST", c+"/consolidate", "").want(http.StatusAccepted).text("job.id")

	if all := b.list(t, "one", "/v1/jobs?limit=2", "kind", func(int) { b.note(t, "one", c, "more") }); strings.Join(all, " ") != "consolidate note note note note" {
		t.Errorf("%v", all)
	}
	if own := b.call(t, "bob", "GET", "/v1/jobs", "").want(http.StatusOK); own.length("items") < 4 {
		t.Errorf("an agent does not see the jobs of shared collections: %s", own.Body)
	}
	for target, want := range map[string]int{
		"?collection=mine": 0, "?collection=space&state=done": 0, "?kind=consolidate": 1, "?kind=none": 0, "?kind=consolidate&limit=1": 1,
	} {
		if got := b.list(t, "bob", "/v1/jobs"+strings.Replace(target, "?collection=mine", "?state=dead", 1), "id", func(int) {}); len(got) != want {
			t.Errorf("%s: %d", target, len(got))
		}
	}
	b.call(t, "bob", "GET", "/v1/jobs?collection=mine", "").refused(404, fault.NotFound, "")
	b.call(t, "bob", "POST", "/v1/jobs/"+consolidate+"/cancel", "").refused(403, fault.Forbidden, "")
	if c := b.call(t, "one", "POST", "/v1/jobs/"+consolidate+"/cancel", "").want(http.StatusAccepted); c.text("state") != "cancelled" || c.at("finished_at") == nil {
		t.Errorf("%s", c.Body)
	}
	b.call(t, "one", "POST", "/v1/jobs/"+consolidate+"/cancel", "").refused(409, fault.Conflict, "")
	b.call(t, "one", "GET", "/v1/jobs/"+consolidate+"/results", "").refused(404, fault.NotFound, "")

	again := b.call(t, "one", "POST", c+"/consolidate", "").want(http.StatusAccepted).text("job.id")
	b.runJobs(t)
	if done := b.call(t, "one", "GET", "/v1/jobs/"+again, "").want(http.StatusOK); done.text("state") != "done" || done.number("result.notes") == 0 {
		t.Errorf("%s", done.Body)
	}

	b.note(t, "one", c, "slow")
	scope, id := b.Scopes["one"].Scope, uuid.MustParse(b.call(t, "one", "GET", c, "").want(http.StatusOK).text("id"))
	held, err := b.Store.ClaimJobs(t.Context(), scope, id, memory.StagePrepare, uuid.New(), b.Clock().Add(time.Minute), 1)
	if err != nil || len(held) != 1 {
		t.Fatal(held, err)
	}
	b.Pass(1500 * time.Millisecond)
	if err := b.Store.ReleaseJob(t.Context(), scope, held[0].ID, held[0].Lease, memory.JobEnd{State: memory.JobDone}); err != nil {
		t.Fatal(err)
	}
	if slow := b.call(t, "one", "GET", "/v1/jobs/"+held[0].ID.String(), "").want(http.StatusOK); slow.number("worked_ms") != 1500 {
		t.Errorf("%s", slow.Body)
	}
}

func TestJobEvents(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	job := b.call(t, "one", "POST", c+"/notes", `{"content":"follow me"}`).text("job.id")
	got := b.call(t, "reader", "GET", "/v1/jobs/"+job+"/events", "").want(http.StatusOK)
	if got.Header().Get("Content-Type") != mediaSSE {
		t.Errorf("%v", got.Header())
	}
	var states []string
	for event := range strings.SplitSeq(strings.TrimSpace(got.Body.String()), "\n\n") {
		name, data, _ := strings.Cut(event, "\n")
		var j struct {
			ID    string `json:"id"`
			State string `json:"state"`
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &j); err != nil || name != "event: job" || j.ID != job {
			t.Fatalf("%q: %v", event, err)
		}
		states = append(states, j.State)
	}
	if !slices.Equal(states, []string{"queued", "done"}) {
		t.Errorf("%v", states)
	}
}

func TestEventsOverTheWire(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	job := b.call(t, "one", "POST", c+"/notes", `{"content":"follow me"}`).text("job.id")
	srv := httptest.NewServer(b)
	defer srv.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/v1/jobs/"+job+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", "reader")
	res, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	events := 0
	for scan := bufio.NewScanner(res.Body); scan.Scan(); {
		if scan.Text() == "event: job" {
			events++
		}
	}
	if events != 2 {
		t.Errorf("%d events", events)
	}
}
