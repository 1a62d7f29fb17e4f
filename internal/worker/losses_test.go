package worker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/worker"
	"github.com/slipboxhq/slipbox/test/must"
)

// mortal is the store as the process of a worker reaches it: after a kill nothing of that process
// arrives anymore.
type mortal struct {
	store.Store

	dead atomic.Bool
}

func (m *mortal) check() error {
	if m.dead.Load() {
		return fault.New(fault.Unavailable, "the process was killed")
	}
	return nil
}

func (m *mortal) Write(ctx context.Context, s tenant.Scope, c uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (memory.Written, error) {
	if err := m.check(); err != nil {
		return memory.Written{}, err
	}
	return m.Store.Write(ctx, s, c, o, fn)
}

func (m *mortal) ReleaseJob(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, end memory.JobEnd) error {
	if err := m.check(); err != nil {
		return err
	}
	return m.Store.ReleaseJob(ctx, s, job, lease, end)
}

func (m *mortal) SetAlone(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, n int) error {
	if err := m.check(); err != nil {
		return err
	}
	return m.Store.SetAlone(ctx, s, job, lease, n)
}

func (m *mortal) ClaimJobs(ctx context.Context, s tenant.Scope, c uuid.UUID, stage memory.Stage, lease uuid.UUID, until time.Time, n int) ([]memory.Job, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return m.Store.ClaimJobs(ctx, s, c, stage, lease, until, n)
}

// die ends the worker without giving any job back, as processes beside it find it: its leases are held until they end.
func (p *plant) die() {
	p.mortal.dead.Store(true)
	p.stop()
	p.mortal.dead.Store(false)
}

// kill is die, as the next start of the process finds it.
func (p *plant) kill() {
	p.t.Helper()
	p.die()
	must.Get(p.worker.Recover(p.t.Context()))(p.t)
}

// waitFor waits until a condition holds for each of some jobs.
func (p *plant) waitFor(what string, ids []uuid.UUID, holds func(j *memory.Job) bool) {
	p.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		left := 0
		var last memory.Job
		for _, id := range ids {
			j := must.Get(p.store.Job(p.t.Context(), p.s, id))(p.t)
			if !holds(&j) {
				left, last = left+1, j
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s does not hold for %d of %d jobs, such as %+v", what, left, len(ids), last)
		}
	}
}

// killWhileRunning kills the process while all the jobs run. before is how many kills there were.
func (p *plant) killWhileRunning(before int, ids []uuid.UUID, asked <-chan struct{}) {
	p.t.Helper()
	p.run()
	if before >= 2 {
		p.endPause(before, ids)
	}
	p.waitAsked(len(ids), asked)
	p.kill()
}

// endPause waits until the worker has paused jobs that were lost so often, and ends their pauses. A job
// that is merely lost would be paused from the later time on, and wait for ever.
func (p *plant) endPause(losses int, ids []uuid.UUID) {
	p.t.Helper()
	p.waitFor(fmt.Sprintf("a pause after loss %d", losses), ids, func(j *memory.Job) bool {
		return j.State == memory.JobQueued && j.Losses == losses && j.Attempts == 0 && j.NotBefore.After(p.now()) && j.Error != ""
	})
	p.stop()                 // a claim that is under way would get a lease that ends in the past
	p.later(6 * time.Minute) // longer than any pause after a loss
	p.run()
}

// waitAsked waits until the model was asked n times.
func (p *plant) waitAsked(n int, asked <-chan struct{}) {
	p.t.Helper()
	timeout := time.After(time.Minute)
	for i := range n {
		select {
		case <-asked:
		case <-timeout:
			list, err := p.store.ListJobs(p.t.Context(), p.s, memory.JobQuery{})
			p.t.Fatalf("the model was asked %d times, not %d: %+v, %v", i, n, list, err)
		}
	}
}

// crashable returns a plant whose worker asks a model that hangs, and the channel that gets a value for
// each question.
func crashable(t *testing.T, o worker.Config) (*plant, chan struct{}) {
	t.Helper()
	o.Queue.Grace, o.Queue.Prepares, o.Queue.SettleFor = time.Millisecond, 12, time.Second
	p := newPlant(t, settings{model: true, worker: o})
	p.stop()
	p.mu.Lock()
	p.frozen = time.Now() // no pause and no lease ends by itself
	p.mu.Unlock()
	asked := make(chan struct{}, 100)
	p.fake.Handle("analyze", func(llmtest.Request) llmtest.Reply {
		asked <- struct{}{}
		return llmtest.Hang()
	})
	return p, asked
}

// Jobs that are lost together again and again are not the cause of their losses: none is given up.
func TestJobsThatDieTogether(t *testing.T) {
	t.Parallel()
	p, asked := crashable(t, worker.Config{MaxAlone: 2})
	var ids []uuid.UUID
	for c := range 6 {
		view := must.Get(p.collections.Create(t.Context(), p.s, notes.CollectionInput{Name: fmt.Sprint("c", c)}, memory.Request{}))(t)
		for n := range 2 {
			out := must.Get(p.notes.Add(t.Context(), p.s, view.Collection.ID.String(), notes.NewNote{Content: fmt.Sprintf("Note %d of %d.", n, c)}, memory.Request{}))(t)
			ids = append(ids, out.Job.ID)
		}
	}
	for i := range 15 {
		p.killWhileRunning(i, ids, asked)
	}
	p.fake.Handle("analyze", nil)
	p.run()
	p.endPause(15, ids)
	for _, id := range ids {
		if j := p.ended(id); j.State != memory.JobDone || j.Losses != 0 {
			t.Errorf("job %+v", j)
		}
	}
}

// A job that loses its process each time, while no other job runs there, is given up: its note stays
// pending, and a retry starts counting again.
func TestJobThatEndsItsProcess(t *testing.T) {
	t.Parallel()
	const most = 3
	p, asked := crashable(t, worker.Config{MaxAlone: most, Queue: queue.Config{}})
	out := p.add("Each time I am looked at the lights go out.")
	ids := []uuid.UUID{out.Job.ID}
	for i := range 2 + most { // the first two losses have no suspect
		p.killWhileRunning(i, ids, asked)
	}
	p.run()
	if j := p.ended(out.Job.ID); j.State != memory.JobDead || j.Error != memory.ErrLost.Error() {
		t.Errorf("job %+v", j)
	}
	if n := p.note(p.c.ID, out.Note.ID); n.State != memory.StatePending || n.Error != memory.ErrLost.Error() {
		t.Errorf("note is %q, %q", n.State, n.Error)
	}
	p.stop()
	must.Get(p.store.RetryJob(t.Context(), p.s, out.Job.ID, memory.AuditEntry{Action: "job.retry"}))(t)
	p.killWhileRunning(0, ids, asked)
	p.fake.Handle("analyze", nil)
	p.run()
	if j := p.ended(out.Job.ID); j.State != memory.JobDone {
		t.Errorf("job %+v", j)
	}
}

// A job beside which another one ran is not at fault, however often it was alone before.
func TestCompanyClearsAJob(t *testing.T) {
	t.Parallel()
	const most = 3
	p, asked := crashable(t, worker.Config{MaxAlone: most})
	ids := []uuid.UUID{p.add("I look guilty.").Job.ID}
	for i := range 1 + most {
		p.killWhileRunning(i, ids, asked)
	}
	// Now it was alone twice. The next time another note is added while it runs.
	p.run()
	p.endPause(1+most, ids)
	p.waitAsked(1, asked)
	p.waitFor("running alone", ids, func(j *memory.Job) bool { return j.Alone == most })
	p.add("I came by.")
	p.waitAsked(1, asked)
	p.waitFor("having company", ids, func(j *memory.Job) bool { return j.Alone == 0 })
	p.kill()
	p.fake.Handle("analyze", nil)
	p.run()
	p.endPause(2+most, ids)
	p.waitFor("the end", ids, func(j *memory.Job) bool { return j.State == memory.JobDone })
}
