package queue

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// flood adds jobs of one tenant, in many collections.
func flood(o *outbox, stage memory.Stage, collections, jobs int) uuid.UUID {
	tenant := uuid.New()
	for range collections {
		ref := memory.Due{Tenant: tenant, Collection: uuid.New()}
		for range jobs {
			o.add(ref, stage)
		}
	}
	return tenant
}

// before returns how many jobs of other tenants began in a stage after a job was added and before it began.
// Other stages have slots of their own.
func (h *worker) before(tenant uuid.UUID, stage memory.Stage, from int) (n int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.began[from:] {
		switch {
		case w.Stage != stage:
		case w.Tenant == tenant:
			return n, true
		default:
			n++
		}
	}
	return n, false
}

// A tenant with one job waits for the jobs that run, and for no others, however many jobs and
// collections another tenant has waiting, in each stage.
func TestOneTenantCannotStarveAnother(t *testing.T) {
	t.Parallel()
	for _, stage := range memory.Stages() {
		synctest.Test(t, func(t *testing.T) {
			o := &outbox{}
			h := newWorker(o, func(context.Context, memory.Job) error { pass(100 * time.Millisecond); return nil })
			flood(o, stage, 150, 2)
			r, stop := start(t, h, Config{Prepares: 4, Decides: 4, Tasks: 4, Sends: 4})
			defer stop()
			pass(5050 * time.Millisecond)
			late := newRef()
			o.add(late, stage)
			from := h.started()
			r.Notify(late, stage)
			pass(2 * time.Second)
			synctest.Wait()
			n, ok := h.before(late.Tenant, stage, from)
			if !ok || n > 4 {
				t.Errorf("%s: began %v, after %d jobs of the other tenant", stage, ok, n)
			}
			if from < 100 {
				t.Errorf("%s: only %d jobs began in 5 s", stage, from)
			}
		})
	}
}

// Two tenants with endless work are served equally often, whether it is in one collection or in many.
func TestTenantsShareSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		var begun atomic.Int64
		h := newWorker(o, func(context.Context, memory.Job) error {
			// No two jobs end at the same time: then claims do not race, and the shares are exact.
			pass(100*time.Millisecond + time.Duration(begun.Add(1))*time.Microsecond)
			return nil
		})
		many := flood(o, memory.StageTask, 100, 10)
		one := flood(o, memory.StageTask, 1, 500)
		const slots = 4
		_, stop := start(t, h, Config{Tasks: slots})
		pass(10 * time.Second)
		stop()
		counts := map[uuid.UUID]int{}
		for _, w := range h.began {
			counts[w.Tenant]++
		}
		// They differ by at most what the slots hold at the first and at the last moment.
		if a, b := counts[many], counts[one]; a+b < 380 || max(a, b)-min(a, b) > 2*slots {
			t.Errorf("%d and %d jobs of the two tenants", a, b)
		}
	})
}

// One tenant may be limited to some of the slots; then the rest is free for others at any time.
func TestShareOfSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, func(ctx context.Context, _ memory.Job) error { <-ctx.Done(); return ctx.Err() })
		flood(o, memory.StagePrepare, 10, 10)
		r, stop := start(t, h, Config{Prepares: 8, Share: 75})
		pass(time.Second)
		late := newRef()
		o.add(late, memory.StagePrepare)
		r.Notify(late, memory.StagePrepare)
		synctest.Wait()
		if n := h.started(); n != 7 {
			t.Errorf("%d jobs run, want 6 and 1", n)
		}
		stop()
	})
}

// The slot of a tenant with more lanes than its share rests between two jobs, once others have jobs too.
func TestSlotsRest(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := &outbox{}
			h := newWorker(o, func(context.Context, memory.Job) error { pass(10 * time.Millisecond); return nil })
			flood(o, memory.StageDecide, 20, 50)
			if !alone {
				flood(o, memory.StageDecide, 1, 1)
			}
			_, stop := start(t, h, Config{Decides: 2, Share: 50, Rest: 4 * time.Millisecond})
			pass(time.Second)
			n := h.started()
			stop()
			if most := 1000/10 + 2; alone != (n > most-10) || n > most {
				t.Errorf("alone %v: %d jobs of 10 ms in a second, one at a time", alone, n)
			}
		})
	}
}

// Lanes that wait cost no goroutine, and more of them than are kept in memory are found later.
//
//nolint:paralleltest // it counts the goroutines of the process
func TestWaitingLanes(t *testing.T) {
	const lanes = 500
	before := runtime.NumGoroutine()
	o := &outbox{}
	var once sync.Once
	running, goOn := make(chan struct{}), make(chan struct{})
	h := newWorker(o, func(ctx context.Context, _ memory.Job) error {
		once.Do(func() { close(running) })
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return nil
	})
	tenant := flood(o, memory.StageTask, lanes, 1)
	r, stop := start(t, h, Config{Tasks: 2, Poll: time.Hour})
	<-running
	for _, w := range o.jobs {
		r.Notify(dueOf(&w.Job), memory.StageTask)
	}
	// Other goroutines of the process come and go meanwhile.
	if n := runtime.NumGoroutine() - before; n > 300 {
		t.Errorf("%d goroutines for %d lanes", n, lanes)
	}
	r.mu.Lock()
	// The two whose jobs run may wait again behind the others.
	if n := r.stages[memory.StageTask].waiting.Waiting(tenant); n < 64 || n > 66 {
		t.Errorf("%d lanes wait in memory, want 64", n)
	}
	r.mu.Unlock()
	close(goOn)
	for deadline := time.Now().Add(time.Minute); ; pass(time.Millisecond) {
		h.mu.Lock()
		n := len(h.done)
		h.mu.Unlock()
		if n == lanes {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d jobs are done; no poll found the others", n, lanes)
		}
	}
	stop()
}

// Tasks of upkeep have slots of their own, and no single tenant has all of the others: so a task that a caller asked
// for begins immediately, beside any number of collections that look after themselves, and a flood of one tenant.
func TestUpkeepHoldsNoPlaceOfTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, func(ctx context.Context, _ memory.Job) error { <-ctx.Done(); return ctx.Err() })
		flood(o, memory.StageUpkeep, 60, 1)
		flood(o, memory.StageUpkeep, 60, 1)
		flood(o, memory.StageTask, 60, 1)
		r, stop := start(t, h, Config{Tasks: 2, Share: 75, Poll: time.Hour})
		synctest.Wait()
		if n := h.started(); n != 2 {
			t.Errorf("%d jobs run, want one of upkeep and one task", n)
		}
		late := newRef()
		o.add(late, memory.StageTask)
		r.Notify(late, memory.StageTask)
		synctest.Wait()
		if last := h.began[len(h.began)-1]; last.Tenant != late.Tenant {
			t.Errorf("the task of the other tenant waits; %d jobs run", len(h.began))
		}
		stop()
	})
}

// stepped is an outbox whose claims wait for a step each.
type stepped struct {
	*outbox

	steps chan struct{}
}

func (s *stepped) Claim(ctx context.Context, ref memory.Due, stage memory.Stage, token uuid.UUID, until time.Time, limit int) ([]memory.Job, error) {
	select {
	case <-s.steps:
		return s.outbox.Claim(ctx, ref, stage, token, until, limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A task begins after a few claims, also beside 300 collections of its tenant that wait for a slot of upkeep: a poll names them without
// saying that they have no task. A wake-up is bounded by the two slots, what only a poll found by the lanes that it keeps in memory.
func TestTaskBesideWaitingUpkeep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		forks int
		most  int // claims
		wake  func(ctx context.Context, r *Runner, task memory.Due)
	}{
		{"notified", 300, 4, func(_ context.Context, r *Runner, task memory.Due) { r.Notify(task, memory.StageTask) }},
		{"drained", 300, 4, func(ctx context.Context, r *Runner, task memory.Due) {
			go r.Drain(ctx, task, memory.StageTask)
		}},
		{"polled", 60, 64 + 4, func(_ context.Context, r *Runner, _ memory.Due) { r.Wake() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				at := &stepped{outbox: &outbox{}, steps: make(chan struct{})}
				h := newWorker(at.outbox, func(ctx context.Context, j memory.Job) error {
					if j.Stage == memory.StageTask {
						return nil
					}
					<-ctx.Done()
					return ctx.Err()
				})
				task := newRef()
				task.Tenant = flood(at.outbox, memory.StageUpkeep, c.forks, 1)
				r := must.Get(New(at, h, nil, nil, Config{Tasks: 2, Share: 75, Poll: time.Hour, Stages: []memory.Stage{memory.StageTask}, Burst: time.Minute}))(t)
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { r.Run(ctx) })
				synctest.Wait()
				at.steps <- struct{}{} // the slot of upkeep is held from now on, or an empty claim of tasks is over
				synctest.Wait()
				at.add(task, memory.StageTask)
				c.wake(ctx, r, task)
				synctest.Wait()
				claims := 0
				for ; len(h.order(memory.StageTask, task)) == 0 && claims < 500; claims++ {
					at.steps <- struct{}{}
					synctest.Wait()
				}
				if claims > c.most {
					t.Errorf("it was done after %d claims, want %d or fewer", claims, c.most)
				}
				cancel()
				running.Wait()
			})
		})
	}
}

// A task that no wake-up named is found within a few polls beside 300 collections of its tenant that wait for a slot of upkeep: a poll
// takes those that had no claim yet.
func TestPollsTakeOtherLanes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const forks, lanes, poll = 300, 64, 2 * time.Second
		o := &outbox{}
		h := newWorker(o, func(ctx context.Context, j memory.Job) error {
			if j.Stage == memory.StageTask {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		task := newRef()
		task.Tenant = flood(o, memory.StageUpkeep, forks, 1)
		_, stop := start(t, h, Config{Tasks: 2, Share: 75, Poll: poll, DueLimit: 2 * forks})
		defer stop()
		for round := range 3 { // in each it is the last that a poll lists
			synctest.Wait()
			o.add(task, memory.StageTask)
			polls := 0
			for ; len(h.order(memory.StageTask, task)) == round && polls < 100; polls++ {
				pass(poll)
				synctest.Wait()
			}
			if most := 2*forks/lanes + 1; polls > most {
				t.Errorf("it was done after %d polls, want %d or fewer", polls, most)
			}
		}
	})
}

// A wake-up names tasks or upkeep, and claims no other.
func TestUpkeepIsDrained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, nil)
		r, stop := start(t, h, Config{Poll: time.Hour, Stages: []memory.Stage{memory.StageTask}})
		defer stop()
		synctest.Wait()
		ref := newRef()
		for i, stage := range []memory.Stage{memory.StageUpkeep, memory.StageTask} {
			o.add(ref, memory.StageUpkeep)
			o.add(ref, memory.StageTask)
			r.Drain(t.Context(), ref, stage)
			synctest.Wait()
			if n := len(h.order(stage, ref)); n != i+1 {
				t.Errorf("%d jobs of %s were done, want %d", n, stage, i+1)
			}
		}
		if n := h.started(); n != 3 {
			t.Errorf("%d jobs began, want 3", n)
		}
	})
}
