package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// C009, C074: with the model down an add succeeds, the note shows why it waits, and a retry fixes
// it.
func TestPendingNoteShowsItsError(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	b.model.fail(fault.New(fault.Unavailable, "no connection to http://127.0.0.1:11434"))
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
		b.pass(time.Minute)
		b.runJobs(t)
	}
	waits := b.call(t, "one", "GET", job, "").want(http.StatusOK)
	next, err := time.Parse(time.RFC3339, waits.text("next_try_at"))
	if pause := next.Sub(b.clock()); err != nil || pause <= 0 || pause > 30*time.Second {
		t.Errorf("the next try is at %q, in %v", waits.text("next_try_at"), pause)
	}
	if waits.text("state") != "queued" || waits.number("attempts") != 3 || waits.text("error") == "" || waits.text("note") != id {
		t.Errorf("%s", waits.Body)
	}
	b.model.fail(nil)
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
	scope, id := b.scopes["one"].Scope, uuid.MustParse(b.call(t, "one", "GET", c, "").want(http.StatusOK).text("id"))
	held, err := b.store.ClaimJobs(t.Context(), scope, id, memory.StagePrepare, uuid.New(), b.clock().Add(time.Minute), 1)
	if err != nil || len(held) != 1 {
		t.Fatal(held, err)
	}
	b.pass(1500 * time.Millisecond)
	if err := b.store.ReleaseJob(t.Context(), scope, held[0].ID, held[0].Lease, memory.JobEnd{State: memory.JobDone}); err != nil {
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

// never is a job that never ends or changes.
type never struct{ Jobs }

func (never) Job(_ context.Context, _ tenant.Scope, id uuid.UUID) (memory.Job, error) {
	return memory.Job{ID: id, Kind: memory.JobNote, State: memory.JobRunning}, nil
}

func (never) Wait(ctx context.Context, _ tenant.Scope, id uuid.UUID, _ int) (memory.Job, error) {
	<-ctx.Done()
	return memory.Job{ID: id}, ctx.Err()
}

func (n never) Watch(ctx context.Context, s tenant.Scope, id uuid.UUID, fn func(memory.Job) error) error {
	j, err := n.Job(ctx, s, id)
	if err != nil {
		return err
	}
	if err := fn(j); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (never) Each(ctx context.Context, _ uuid.UUID, _ time.Duration, fn func() (bool, error)) error {
	if more, err := fn(); err != nil || !more {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// always is an authenticator with one caller, until revoked.
type always struct {
	auth.Principal
	revoked *atomic.Bool
}

func (a always) Authenticate(context.Context, string) (auth.Principal, error) {
	if a.revoked.Load() {
		return auth.Principal{}, fault.New(fault.Unauthenticated, "the key is revoked")
	}
	return a.Principal, nil
}

func neverEnding(t *testing.T) (bench, *core) {
	t.Helper()
	b := newBench(t, DefaultConfig(), nil)
	p, err := keys{}.Authenticate(t.Context(), "all")
	if err != nil {
		t.Fatal(err)
	}
	b.auth = always{p, &atomic.Bool{}}
	h := &core{Server: b.Server, Core: Core{Jobs: never{}, Waiter: never{}}, waiting: newGate(1), following: newGate(1)}
	return b, h
}

func TestEventsStayAliveAndEndWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, h := neverEnding(t)
		if err := b.mount("streamJob", h.streamJob); err != nil {
			t.Fatal(err)
		}
		// A stream that never ends would fill its recorder, because the bubble's clock jumps from
		// comment to comment. The timeout ends a failing test.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		stream := func() *http.Request {
			return request(http.MethodGet, "/v1/jobs/"+uuid.NewString()+"/events", nil).WithContext(ctx)
		}
		w, over := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(over)
			b.ServeHTTP(w, stream())
		}()
		synctest.Wait()
		if p := b.problem(t, b.do(stream())); p.Status != 429 {
			t.Errorf("a second stream: %d", p.Status)
		}
		<-time.After(41 * time.Second) // of the bubble's clock
		synctest.Wait()
		if n := strings.Count(w.Body.String(), ": alive\n\n"); n != 8 {
			t.Errorf("%d comments: %q", n, w.Body)
		}
		b.Drain()
		b.Drain()
		<-over
		if err := ctx.Err(); err != nil {
			t.Fatalf("the stream did not end with the server: %v", err)
		}
		if _, err := h.following.enter(uuid.Nil); err != nil {
			t.Error("the stream kept its place")
		}
	})
}

// A stream ends within seconds of the revocation of its key.
func TestEventsEndWithTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, h := neverEnding(t)
		if err := b.mount("streamJob", h.streamJob); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		time.AfterFunc(12*time.Second, func() { b.auth.(always).revoked.Store(true) })
		w := b.do(request(http.MethodGet, "/v1/jobs/"+uuid.NewString()+"/events", nil).WithContext(ctx))
		if took := time.Since(began); w.Code != http.StatusOK || took < 12*time.Second || took > 12*time.Second+streamAlive {
			t.Errorf("%d, ended after %s", w.Code, took)
		}
	})
}

func TestWaitEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, h := neverEnding(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		job, err := h.waitForJob(ctx, tenant.Scope{}, uuid.New(), 0)
		if err != nil || job.State != memory.JobRunning || time.Since(start) != 8*time.Second {
			t.Errorf("%v, %v after %s", job.State, err, time.Since(start))
		}
		go b.Drain()
		if _, err := h.waitForJob(t.Context(), tenant.Scope{}, uuid.New(), 0); err != nil {
			t.Error(err)
		}
	})
}

// A request that may not wait is refused before it writes.
func TestWaitersAreBounded(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	g := newGate(2)
	tenantID := b.scopes["one"].Scope.Tenant()
	leave, err := g.enter(tenantID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.enter(tenantID); err != nil {
		t.Fatal(err)
	}
	h := &core{Server: b.Server, waiting: g}
	s := newBench(t, DefaultConfig(), map[string]handler{"createNote": h.createNote})
	s.auth = b
	full := func() *httptest.ResponseRecorder {
		return s.do(request(http.MethodPost, c+"/notes?wait=evolved", strings.NewReader(`{"content":"a"}`), "Authorization", "Bearer one"))
	}
	if w := full(); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if _, err := g.enter(uuid.New()); err != nil {
		t.Error("one tenant's waiters stand in the way of another's")
	}
	leave()
	leave()
	if g.held[tenantID] != 1 {
		t.Errorf("%d held", g.held[tenantID])
	}
	if n := b.call(t, "one", "GET", c, "").number("counts.notes"); n != 0 {
		t.Errorf("%v notes written", n)
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
