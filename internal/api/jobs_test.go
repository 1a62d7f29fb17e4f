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

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// C009, C074: with the model down an add succeeds, the note shows why it waits, and a retry fixes
// it.
func TestPendingNoteShowsItsError(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	b.Model.Fail(fault.New(fault.Unavailable, "no connection to http://127.0.0.1:11434"))
	made := b.Call(t, "one", "POST", c+"/notes?wait=evolved", `{"content":"Written while the model is down."}`).Want(http.StatusCreated)
	if made.Text("note.state") != "pending" || !strings.Contains(made.Text("note.error"), "127.0.0.1:11434") || made.Text("job.state") != "queued" {
		t.Errorf("%s", made.Body)
	}
	id, job := made.Text("note.id"), "/v1/jobs/"+made.Text("job.id")
	if w := b.Call(t, "one", "GET", c, ""); w.Text("work.stages.0.stage") != "description" || w.Number("work.stages.0.waiting") != 1 || w.Number("work.dead") != 0 {
		t.Errorf("what waits: %s", w.Body)
	}
	if n := b.Call(t, "one", "GET", c, "").Number("counts.pending"); n != 1 {
		t.Errorf("%v pending", n)
	}
	if found := b.Call(t, "one", "POST", c+"/search", `{"query":"model is down"}`).Want(http.StatusOK); found.Text("hits.0.note.id") != id {
		t.Errorf("%s", found.Body)
	}
	for range 2 {
		b.Pass(time.Minute)
		b.RunJobs(t)
	}
	waits := b.Call(t, "one", "GET", job, "").Want(http.StatusOK)
	next, err := time.Parse(time.RFC3339, waits.Text("next_try_at"))
	if pause := next.Sub(b.Now()); err != nil || pause <= 0 || pause > 30*time.Second {
		t.Errorf("the next try is at %q, in %v", waits.Text("next_try_at"), pause)
	}
	if waits.Text("state") != "queued" || waits.Number("attempts") != 3 || waits.Text("error") == "" || waits.Text("note") != id {
		t.Errorf("%s", waits.Body)
	}
	b.Model.Fail(nil)
	if again := b.Call(t, "one", "POST", job+"/retry", "").Want(http.StatusAccepted); again.Text("state") != "queued" || again.At("next_try_at") != nil || again.Number("attempts") != 0 {
		t.Errorf("%s", again.Body)
	}
	b.Call(t, "one", "POST", job+"/retry", "").Refused(409, fault.Conflict, "")
	b.RunJobs(t)
	note := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
	if note.Text("state") != "evolved" || note.At("error") != nil || note.Length("keywords") == 0 {
		t.Errorf("%s", note.Body)
	}
}

func TestJobs(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	mine := b.Collection(t, "ada", "mine")
	for range 3 {
		b.Note(t, "one", c, "text")
	}
	b.Note(t, "ada", mine, "text")
	consolidate := b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted).Text("job.id")

	if all := listAll(t, b, "one", "/v1/jobs?limit=2", "kind", func(int) { b.Note(t, "one", c, "more") }); strings.Join(all, " ") != "consolidate note note note note" {
		t.Errorf("%v", all)
	}
	if own := b.Call(t, "bob", "GET", "/v1/jobs", "").Want(http.StatusOK); own.Length("items") < 4 {
		t.Errorf("an agent does not see the jobs of shared collections: %s", own.Body)
	}
	for target, want := range map[string]int{
		"?collection=mine": 0, "?collection=space&state=done": 0, "?kind=consolidate": 1, "?kind=import": 0, "?kind=consolidate&limit=1": 1,
	} {
		if got := listAll(t, b, "bob", "/v1/jobs"+strings.Replace(target, "?collection=mine", "?state=dead", 1), "id", func(int) {}); len(got) != want {
			t.Errorf("%s: %d", target, len(got))
		}
	}
	b.Call(t, "bob", "GET", "/v1/jobs?collection=mine", "").Refused(404, fault.NotFound, "")
	b.Call(t, "bob", "POST", "/v1/jobs/"+consolidate+"/cancel", "").Refused(403, fault.Forbidden, "")
	if c := b.Call(t, "one", "POST", "/v1/jobs/"+consolidate+"/cancel", "").Want(http.StatusAccepted); c.Text("state") != "cancelled" || c.At("finished_at") == nil {
		t.Errorf("%s", c.Body)
	}
	b.Call(t, "one", "POST", "/v1/jobs/"+consolidate+"/cancel", "").Refused(409, fault.Conflict, "")
	b.Call(t, "one", "GET", "/v1/jobs/"+consolidate+"/results", "").Refused(404, fault.NotFound, "")

	again := b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted).Text("job.id")
	b.RunJobs(t)
	if done := b.Call(t, "one", "GET", "/v1/jobs/"+again, "").Want(http.StatusOK); done.Text("state") != "done" || done.Number("result.notes") == 0 {
		t.Errorf("%s", done.Body)
	}

	b.Note(t, "one", c, "slow")
	scope, id := b.Scopes["one"].Scope, uuid.MustParse(b.Call(t, "one", "GET", c, "").Want(http.StatusOK).Text("id"))
	held, err := b.Store.ClaimJobs(t.Context(), scope, id, memory.StagePrepare, uuid.New(), b.Now().Add(time.Minute), 1)
	if err != nil || len(held) != 1 {
		t.Fatal(held, err)
	}
	b.Pass(1500 * time.Millisecond)
	must.Do(t, b.Store.ReleaseJob(t.Context(), scope, held[0].ID, held[0].Lease, memory.JobEnd{State: memory.JobDone}))
	if slow := b.Call(t, "one", "GET", "/v1/jobs/"+held[0].ID.String(), "").Want(http.StatusOK); slow.Number("worked_ms") != 1500 {
		t.Errorf("%s", slow.Body)
	}
}

func TestJobEvents(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	job := b.Call(t, "one", "POST", c+"/notes", `{"content":"follow me"}`).Text("job.id")
	got := b.Call(t, "reader", "GET", "/v1/jobs/"+job+"/events", "").Want(http.StatusOK)
	if got.Header().Get("Content-Type") != "text/event-stream" {
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
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	job := b.Call(t, "one", "POST", c+"/notes", `{"content":"follow me"}`).Text("job.id")
	srv := httptest.NewServer(b)
	defer srv.Close()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/v1/jobs/"+job+"/events", nil))(t)
	r.Header.Set("X-Api-Key", "reader")
	res := must.Get(srv.Client().Do(r))(t)
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
