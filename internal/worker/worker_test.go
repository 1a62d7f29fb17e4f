package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/analyst"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/jobs"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/internal/worker"
	"github.com/slipboxhq/slipbox/test/must"
)

// plant is a running worker on the embedded store.
type plant struct {
	t           *testing.T
	store       store.Store
	mortal      *mortal // the store as the worker reaches it
	fake        *llmtest.Server
	notes       *notes.Service
	collections *notes.Collections
	clone       *clone.Service
	worker      *worker.Worker
	waiters     *jobs.Waiters
	reads       reads
	s           tenant.Scope
	c           memory.Collection
	stop        func()

	mu     sync.Mutex
	offset time.Duration
	frozen time.Time // when set, time passes only by later
}

// reads counts what waiters read.
type reads struct {
	jobs.Reader

	jobs, ahead atomic.Int64
}

func (r *reads) Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error) {
	r.jobs.Add(1)
	return r.Reader.Job(ctx, s, id)
}

func (r *reads) JobsAhead(ctx context.Context, s tenant.Scope, job uuid.UUID) (memory.Job, int, error) {
	defer r.ahead.Add(1)
	return r.Reader.JobsAhead(ctx, s, job)
}

func (p *plant) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.frozen.IsZero() {
		return p.frozen.Add(p.offset)
	}
	return time.Now().Add(p.offset)
}

func (p *plant) later(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offset += d
}

type settings struct {
	model   bool // else the analyst by rules
	worker  worker.Config
	wait    jobs.WaitConfig
	imports worker.Import
	wrap    func(store.Store) store.Store // the store as the worker reaches it; nil: as it is
}

func newPlant(t *testing.T, o settings) *plant {
	t.Helper()
	p := &plant{t: t, fake: llmtest.New(t)}
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	p.store = enginetest.Open(t, p.now, nil)
	p.reads.Reader = p.store
	ten, err := p.store.CreateTenant(ctx, grant.Operator("test"), tenant.Tenant{Name: "acme"})
	must(err)
	p.s = grant.Scope(ten.ID, uuid.Nil, "key:test", tenant.AllPermissions()...)
	cfg := llm.Config{BaseURL: p.fake.URL(), Model: "test", MaxTries: 1, MaxConcurrent: 16, BreakerFailures: 1000, EmbedProvider: llm.EmbedHash}
	embedders, err := llm.NewRegistry(llm.Deps{Clock: p.now}, cfg)
	must(err)
	var model memory.Model = analyst.New()
	if o.model {
		model, err = llm.NewModel(llm.Deps{Clock: p.now}, cfg)
		must(err)
	}
	policies, err := policies.All()
	must(err)
	p.mortal = &mortal{Store: p.store}
	if o.wrap != nil {
		p.mortal.Store = o.wrap(p.store)
	}
	telling := store.NotifyOnCommit(p.mortal, func(c store.Change) {
		for _, j := range c.Jobs {
			p.waiters.Notify(j.ID, j.Ended)
		}
		for _, stage := range c.Stages {
			p.worker.Notify(memory.Due{Tenant: c.Tenant, Collection: c.Collection}, stage)
		}
	})
	found, err := recall.New(recall.Deps{Store: telling, Embedders: embedders, Policies: policies, Clock: p.now}, recall.Config{})
	must(err)
	p.notes, err = notes.New(notes.Deps{Store: telling, Embedders: embedders, Policies: policies, Clock: p.now}, notes.Config{})
	must(err)
	p.collections, err = notes.NewCollections(notes.CollectionsDeps{Store: telling, Agents: p.store, Embedders: embedders, Policies: policies, Clock: p.now})
	must(err)
	p.clone, err = clone.New(clone.Deps{Store: telling, Agents: p.store, Clock: p.now}, clone.Config{})
	must(err)
	eng, err := engine.New(engine.Deps{
		Store: telling, Policies: policies, Model: model, Embedders: embedders,
		Nearest: found, Index: found, Clock: p.now,
	}, engine.Config{})
	must(err)
	p.waiters = jobs.NewWaiters(&p.reads, o.wait)
	p.worker, err = worker.New(worker.Deps{
		Store: telling, Engine: eng, Clone: p.clone, Import: o.imports, Clock: p.now, Retire: p.notes.RetireExpired,
	}, o.worker)
	must(err)
	p.stop = func() {}
	p.run()
	t.Cleanup(func() { p.stop() })
	view, err := p.collections.Create(ctx, p.s, notes.CollectionInput{Name: "main"}, memory.Request{})
	must(err)
	p.c = view.Collection
	return p
}

// run starts the worker; stop ends it.
func (p *plant) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.worker.Run(ctx) })
	p.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
}

func (p *plant) add(content string) notes.NoteWritten {
	p.t.Helper()
	out := must.Get(p.notes.Add(p.t.Context(), p.s, p.c.ID.String(), notes.NewNote{Content: content}, memory.Request{}))(p.t)
	return out
}

// ended waits for the end of a job.
func (p *plant) ended(id uuid.UUID) memory.Job {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	var last memory.Job
	err := p.waiters.Watch(ctx, p.s, id, func(j memory.Job) error { last = j; return nil })
	if err != nil {
		p.t.Fatalf("job %s is %q: %v", id, last.State, err)
	}
	return last
}

func (p *plant) note(c, id uuid.UUID) memory.Note {
	p.t.Helper()
	v := must.Get(p.store.OpenView(p.t.Context(), p.s, c.String(), memory.At{}))(p.t)
	list, err := p.store.Notes(p.t.Context(), p.s, v, []uuid.UUID{id}, memory.ReadOptions{Vector: true})
	if err != nil || len(list) != 1 {
		p.t.Fatalf("note %s: %v, %v", id, list, err)
	}
	return list[0]
}

// A note that is added is evolved. Its waiter reads the job when it begins to wait and when the commit
// of the end notifies it, and not at the changes in between.
func TestAddAndWait(t *testing.T) {
	t.Parallel()
	// Polling would take longer than the test may last.
	p := newPlant(t, settings{wait: jobs.WaitConfig{For: time.Hour, Poll: time.Hour}, worker: worker.Config{Queue: queue.Config{Poll: time.Hour}}})
	p.stop()
	out := p.add("The slip box links atomic notes into a web of ideas.")
	var j memory.Job
	var err error
	var waiting sync.WaitGroup
	waiting.Go(func() { j, err = p.waiters.Wait(t.Context(), p.s, out.Job.ID, 0) })
	for p.reads.ahead.Load() == 0 { // until it waits
		runtime.Gosched()
	}
	p.run()
	waiting.Wait()
	if err != nil || j.State != memory.JobDone {
		t.Fatalf("job %+v, %v", j, err)
	}
	if first, later := p.reads.ahead.Load(), p.reads.jobs.Load(); first != 1 || later != 1 {
		t.Errorf("the job was read %d times with what is ahead of it, and %d times alone; want 1 and 1", first, later)
	}
	if n := p.note(p.c.ID, out.Note.ID); n.State != memory.StateEvolved || len(n.Keywords) < 3 {
		t.Errorf("note %+v", n)
	}
}

// Notes of one bulk are all evolved, decided in their order.
func TestBulk(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{})
	const n = 120
	lines := make([]notes.BulkLine, n)
	for i := range lines {
		lines[i] = notes.BulkLine{Note: notes.NewNote{Content: fmt.Sprintf("Voyage %d of the schooner carried %s to harbour %d.", i, []string{"timber", "salt", "wool"}[i%3], i%7)}}
	}
	began := time.Now()
	results := must.Get(p.notes.AddMany(t.Context(), p.s, p.c.ID.String(), lines))(t)
	for _, r := range results {
		if r.Err != nil || r.Job == nil {
			t.Fatalf("line %d: %v", r.Line, r.Err)
		}
	}
	for _, r := range results {
		if j := p.ended(r.Job.ID); j.State != memory.JobDone {
			t.Fatalf("job %+v", j)
		}
	}
	t.Logf("%d notes evolved in %v", n, time.Since(began))
	v := must.Get(p.store.OpenView(t.Context(), p.s, p.c.ID.String(), memory.At{}))(t)
	sets := must.Get(p.store.Changesets(t.Context(), p.s, v, 0, 10_000))(t)
	var order []uuid.UUID
	for _, c := range sets {
		if c.Cause == memory.CauseEvolve {
			order = append(order, c.Trigger)
		}
	}
	if len(order) != n || !slices.IsSortedFunc(order, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) {
		t.Errorf("%d decisions, in order %v", len(order), len(order) == n)
	}
}

// A stop releases running jobs without counting a try, and another runner ends them.
func TestStopReturnsJobs(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{model: true, worker: worker.Config{Queue: queue.Config{Grace: time.Millisecond}}})
	asked := make(chan struct{}, 8)
	p.fake.Handle("analyze", func(llmtest.Request) llmtest.Reply {
		asked <- struct{}{}
		return llmtest.Hang()
	})
	out := p.add("Interrupted.")
	<-asked
	p.stop()
	j, err := p.store.Job(t.Context(), p.s, out.Job.ID)
	if err != nil || j.State != memory.JobQueued || j.Attempts != 0 || j.Lease != uuid.Nil {
		t.Fatalf("job %+v, %v", j, err)
	}
	p.fake.Handle("analyze", nil)
	p.run()
	if j := p.ended(out.Job.ID); j.State != memory.JobDone {
		t.Errorf("job %+v", j)
	}
}

// Leases of a process that died are freed at the next start.
func TestRecover(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{})
	p.stop()
	out := p.add("Left behind.")
	must.Get(p.store.ClaimJobs(t.Context(), p.s, p.c.ID, memory.StagePrepare, uuid.New(), p.now().Add(time.Hour), 1))(t)
	if n, err := p.worker.Recover(t.Context()); err != nil || n != 1 {
		t.Fatalf("freed %d, %v", n, err)
	}
	p.run()
	if j := p.ended(out.Job.ID); j.State != memory.JobDone {
		t.Errorf("job %+v", j)
	}
}

// Wait returns immediately for an ended job, when more than one job is ahead, and when its tenant has
// too many waiters.
func TestWaitAnswersAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{wait: jobs.WaitConfig{For: time.Hour, PerTenant: 1}})
	p.stop()
	first, second, third := p.add("One."), p.add("Two."), p.add("Three.")
	if j, err := p.waiters.Wait(t.Context(), p.s, third.Job.ID, 0); err != nil || j.State != memory.JobQueued {
		t.Errorf("two are ahead: job %+v, %v", j, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			_, err := p.waiters.Wait(ctx, p.s, first.Job.ID, 0)
			if err == nil {
				continue // the other waiter was admitted first
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a request that ended got %v", err)
			}
			return
		}
	})
	for refused := false; !refused; { // as soon as the other one is waiting
		short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		j, err := p.waiters.Wait(short, p.s, second.Job.ID, 0)
		stop()
		refused = err == nil && j.State == memory.JobQueued
	}
	cancel()
	waiting.Wait()
	if _, err := p.waiters.Wait(t.Context(), p.s, uuid.New(), 0); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown job gave %v", err)
	}
	p.run()
	p.ended(third.Job.ID)
	if j, err := p.waiters.Wait(t.Context(), p.s, third.Job.ID, 0); err != nil || j.State != memory.JobDone {
		t.Errorf("job %+v, %v", j, err)
	}
}

// Wait returns after its limit, with the job as it is.
func TestWaitLimit(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{wait: jobs.WaitConfig{For: 20 * time.Millisecond}})
	p.stop()
	out := p.add("One.")
	if j, err := p.waiters.Wait(t.Context(), p.s, out.Job.ID, 0); err != nil || j.Ended() {
		t.Errorf("job %+v, %v", j, err)
	}
}

// Watch shows each state a job goes through, and ends with it.
func TestWatch(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	p := newPlant(t, settings{imports: func(ctx context.Context, _ tenant.Scope, _ memory.Job, progress memory.ReportProgress) (json.RawMessage, error) {
		<-release
		return json.RawMessage(`{"created":7}`), progress(ctx, memory.Progress{Done: 3, Total: 7})
	}})
	j := p.enqueue(memory.JobImport)
	var seen []memory.JobState
	var last memory.Job
	err := p.waiters.Watch(t.Context(), p.s, j.ID, func(j memory.Job) error {
		seen = append(seen, j.State)
		if j.State == memory.JobRunning && len(seen) < 3 {
			select {
			case <-release:
			default:
				close(release)
			}
		}
		last = j
		return nil
	})
	if err != nil || last.State != memory.JobDone || string(last.Result) != `{"created":7}` || last.Progress == nil || last.Progress.Done != 3 || !slices.Contains(seen, memory.JobRunning) {
		t.Errorf("seen %v, last %+v, %v", seen, last, err)
	}
	enough := errors.New("enough")
	if err := p.waiters.Watch(t.Context(), p.s, j.ID, func(memory.Job) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

func (p *plant) enqueue(kind memory.JobKind) memory.Job {
	p.t.Helper()
	var j memory.Job
	must.Get(p.store.Write(p.t.Context(), p.s, p.c.ID, memory.WriteOptions{Cause: memory.CauseImport}, func(ctx context.Context, tx memory.Tx) (err error) {
		j, err = tx.Enqueue(ctx, memory.Job{Collection: p.c.ID, Kind: kind, Stage: memory.StageTask})
		return err
	}))(p.t)
	p.worker.Notify(memory.Due{Tenant: p.s.Tenant(), Collection: p.c.ID}, j.Stage)
	return j
}

// A job of an unknown kind fails and says why; one that panics is tried again.
func TestTasksThatFail(t *testing.T) {
	t.Parallel()
	tries := 0
	p := newPlant(t, settings{imports: func(context.Context, tenant.Scope, memory.Job, memory.ReportProgress) (json.RawMessage, error) {
		if tries++; tries == 1 {
			panic("poison")
		}
		return nil, nil
	}})
	if j := p.ended(p.enqueue("dream").ID); j.State != memory.JobFailed || j.Error == "" {
		t.Errorf("job %+v", j)
	}
	if j := p.ended(p.enqueue(memory.JobImport).ID); j.State != memory.JobDone || j.Attempts != 1 {
		t.Errorf("job %+v", j)
	}
}

// Copy jobs, adopt jobs and removal jobs run without a request.
func TestCloneJobs(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{})
	out := p.add("The archive holds glass plates of the southern sky.")
	p.ended(out.Job.ID)
	r := must.Get(p.clone.Clone(t.Context(), p.s, p.c.ID.String(), clone.Input{Mode: clone.Copy, Name: "copied"}, memory.Request{}))(t)
	if j := p.ended(r.Job.ID); j.State != memory.JobDone {
		t.Fatalf("job %+v", j)
	}
	if n := p.note(r.Collection.ID, out.Note.ID); n.State != memory.StateEvolved {
		t.Errorf("the copy shows %q", n.State)
	}
	p.stop()
	waiting := p.add("A plate that waits.")
	fork := must.Get(p.clone.Clone(t.Context(), p.s, p.c.ID.String(), clone.Input{Name: "forked"}, memory.Request{}))(t)
	p.run()
	p.ended(waiting.Job.ID)
	jobs := must.Get(p.store.ListJobs(t.Context(), p.s, memory.JobQuery{Collection: fork.Collection.ID, Limit: 10}))(t)
	for _, j := range jobs {
		p.ended(j.ID)
	}
	jobs, err := p.store.ListJobs(t.Context(), p.s, memory.JobQuery{Collection: fork.Collection.ID, Notes: []uuid.UUID{waiting.Note.ID}, Limit: 10})
	if err != nil || len(jobs) != 0 { // it shares what the base's job decided
		t.Fatalf("the fork has jobs %+v, %v", jobs, err)
	}
	if n := p.note(fork.Collection.ID, waiting.Note.ID); n.State != memory.StateEvolved || n.Layer != fork.Collection.ID {
		t.Errorf("the fork shows %q in %s", n.State, n.Layer)
	}
}

// Jobs that flatten, merge and roll back run without a request.
func TestForkJobs(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{})
	out := p.add("The archive holds glass plates of the southern sky.")
	p.ended(out.Job.ID)
	before := p.view(p.c.ID).At
	last := p.c.ID
	for range memory.MaxLineage {
		r := must.Get(p.clone.Clone(t.Context(), p.s, last.String(), clone.Input{}, memory.Request{}))(t)
		last = r.Collection.ID
	}
	jobs, err := p.store.ListJobs(t.Context(), p.s, memory.JobQuery{Collection: last, Limit: 10})
	if err != nil || len(jobs) != 1 || jobs[0].Kind != memory.JobFlatten {
		t.Fatalf("the deep fork has jobs %+v, %v", jobs, err)
	}
	p.ended(jobs[0].ID)
	if n := len(p.view(last).Layers); n != 2 {
		t.Errorf("it has %d layers", n)
	}
	must.Get(p.store.Write(t.Context(), p.s, last, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, memory.Note{Content: "learned in the fork", State: memory.StateEvolved})
		return err
	}))(t)
	m := must.Get(p.clone.Merge(t.Context(), p.s, p.c.ID.String(), clone.MergeInput{From: last.String(), Background: true}))(t)
	if j := p.ended(m.Job.ID); j.State != memory.JobDone || !strings.Contains(string(j.Result), `"notes":1`) || j.Progress == nil || j.Progress.Done != 1 {
		t.Errorf("the merge ended as %+v: %s", j, j.Result)
	}
	back := must.Get(p.clone.Rollback(t.Context(), p.s, p.c.ID.String(), clone.RollbackInput{To: before, Background: true}))(t)
	if j := p.ended(back.Job.ID); j.State != memory.JobDone || !strings.Contains(string(j.Result), `"changed":1`) {
		t.Errorf("the rollback ended as %+v: %s", j, j.Result)
	}
}

func (p *plant) view(id uuid.UUID) memory.View {
	p.t.Helper()
	v := must.Get(p.store.OpenView(p.t.Context(), p.s, id.String(), memory.At{}))(p.t)
	return v
}

// C323: a clone with a time to live is deleted when it ends.
func TestExpiry_C323(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{})
	ttl := int64(60)
	r, err := p.clone.Clone(t.Context(), p.s, p.c.ID.String(), clone.Input{TTLSeconds: &ttl}, memory.Request{})
	if err != nil || r.Collection.Name != "main__clone" {
		t.Fatalf("clone %+v, %v", r.Collection, err)
	}
	if n := p.worker.Expire(t.Context()); n != 0 {
		t.Errorf("%d expired before their time", n)
	}
	p.later(2 * time.Minute)
	if n := p.worker.Expire(t.Context()); n != 1 {
		t.Errorf("%d expired", n)
	}
	if _, err := p.store.OpenView(t.Context(), p.s, r.Collection.ID.String(), memory.At{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is there: %v", err)
	}
	if n := p.worker.Expire(t.Context()); n != 0 {
		t.Errorf("%d expired twice", n)
	}
	if _, err := p.store.OpenView(t.Context(), p.s, p.c.ID.String(), memory.At{}); err != nil {
		t.Errorf("the source is gone: %v", err)
	}
}

// The sweep retires expired notes that nobody has read, of a fork, too.
func TestRetireNotes(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{})
	ttl := int64(60)
	kept := p.add("Stays.")
	out := must.Get(p.notes.Add(t.Context(), p.s, p.c.ID.String(), notes.NewNote{Content: "Goes.", TTLSeconds: &ttl}, memory.Request{}))(t)
	p.ended(kept.Job.ID)
	p.ended(out.Job.ID)
	fork := must.Get(p.clone.Clone(t.Context(), p.s, p.c.ID.String(), clone.Input{}, memory.Request{}))(t)
	for _, want := range []int{0, 2, 0} {
		if n := p.worker.RetireNotes(t.Context()); n != want {
			t.Errorf("%d collections, want %d", n, want)
		}
		p.later(2 * time.Minute)
	}
	for _, c := range []uuid.UUID{p.c.ID, fork.Collection.ID} {
		v := must.Get(p.store.OpenView(t.Context(), p.s, c.String(), memory.At{}))(t)
		list, err := p.store.ListNotes(t.Context(), p.s, v, memory.NoteQuery{})
		if err != nil || len(list) != 1 || list[0].ID != kept.Note.ID {
			t.Errorf("left: %+v, %v", list, err)
		}
	}
	log, err := p.store.ListAudit(t.Context(), p.s, memory.AuditQuery{Action: "note.expire", Target: out.Note.ID.String()})
	if err != nil || len(log) != 2 {
		t.Errorf("audit: %+v, %v", log, err)
	}
}

// Ephemeral collections are removed with all their rows; others stay.
func TestRemoveEphemeral(t *testing.T) {
	t.Parallel()
	p := newPlant(t, settings{})
	kept := p.add("Stays.")
	p.ended(kept.Job.ID)
	view := must.Get(p.collections.Create(t.Context(), p.s, notes.CollectionInput{Name: "scratch", Ephemeral: true}, memory.Request{}))(t)
	out := must.Get(p.notes.Add(t.Context(), p.s, view.Collection.ID.String(), notes.NewNote{Content: "Goes."}, memory.Request{}))(t)
	p.ended(out.Job.ID)
	p.stop()
	if n, err := p.worker.RemoveEphemeral(t.Context()); err != nil || n != 1 {
		t.Fatalf("removed %d, %v", n, err)
	}
	if _, err := p.store.OpenView(t.Context(), p.s, view.Collection.ID.String(), memory.At{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is there: %v", err)
	}
	p.note(p.c.ID, kept.Note.ID)
	if problems, err := p.store.Verify(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("the store has problems %v, %v", problems, err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := worker.New(worker.Deps{}, worker.Config{}); err == nil {
		t.Error("a worker without a store was made")
	}
}
