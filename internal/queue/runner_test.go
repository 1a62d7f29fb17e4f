package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

func newRef() memory.Due { return memory.Due{Tenant: uuid.New(), Collection: uuid.New()} }

// pass advances the simulated time.
func pass(d time.Duration) { <-time.After(d) }

// start runs a runner until the returned stop has been called.
func start(t *testing.T, h *worker, cfg Config) (*Runner, func()) {
	t.Helper()
	r := must.Get(New(h.outbox, h, nil, nil, cfg))(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	return r, func() { cancel(); running.Wait() }
}

// Prepare jobs run in parallel and may end in any order. Decide jobs run one at a time per
// collection, in order; collections run in parallel.
func TestDecidesRunInOrderPreparesInParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		a, b := newRef(), newRef()
		h := newWorker(o, func(_ context.Context, w memory.Job) error {
			// Older jobs take longer.
			pass(time.Duration(100-w.Seq) * time.Millisecond)
			return nil
		})
		for range 12 {
			o.add(a, memory.StagePrepare)
			o.add(b, memory.StagePrepare)
		}
		_, stop := start(t, h, Config{Prepares: 5})
		pass(10 * time.Second)
		stop()
		for i, ref := range []memory.Due{a, b} {
			got := h.order(memory.StageDecide, ref)
			if len(got) != 12 || !slices.IsSorted(got) {
				t.Errorf("decides of collection %d in order %v", i, got)
			}
		}
		if slices.IsSorted(h.order(memory.StagePrepare, a)) {
			t.Error("prepares did not overtake one another")
		}
		if h.peak[memory.StagePrepare] != 5 || h.peak[memory.StageDecide] != 2 || h.overlap {
			t.Errorf("concurrently: %v, overlap %v", h.peak, h.overlap)
		}
		if h.left != 48 {
			t.Errorf("%d jobs left, want 48", h.left)
		}
	})
}

func TestWakeIsFasterThanPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, nil)
		r, stop := start(t, h, Config{Poll: time.Hour})
		defer stop()
		synctest.Wait()
		ref := newRef()
		o.add(ref, memory.StageTask)
		r.Wake()
		synctest.Wait()
		if got := h.order(memory.StageTask, ref); len(got) != 1 {
			t.Errorf("done %v", got)
		}
	})
}

func TestPollFindsJobsWithoutWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, nil)
		_, stop := start(t, h, Config{})
		defer stop()
		synctest.Wait()
		ref := newRef()
		o.add(ref, memory.StagePrepare)
		pass(1100 * time.Millisecond)
		synctest.Wait()
		if got := h.order(memory.StageDecide, ref); len(got) != 1 {
			t.Errorf("done %v", got)
		}
	})
}

// A failed job waits for its time, does not delay later ones, and is retried until its last try.
func TestFailureWaitsAndDoesNotBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		ref := newRef()
		bad := o.add(ref, memory.StagePrepare)
		tries := 0
		h := newWorker(o, func(_ context.Context, w memory.Job) error {
			if w.ID == bad {
				tries++
				return errors.New("model down")
			}
			return nil
		})
		o.add(ref, memory.StagePrepare)
		_, stop := start(t, h, Config{})
		defer stop()
		pass(time.Second)
		synctest.Wait()
		if got := h.order(memory.StageDecide, ref); !slices.Equal(got, []int64{1}) {
			t.Errorf("done %v while the first one waits", got)
		}
		pass(time.Minute)
		synctest.Wait()
		if tries != 3 {
			t.Errorf("%d tries", tries)
		}
	})
}

func TestPanicIsAFailedTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		ref := newRef()
		o.add(ref, memory.StageTask)
		h := newWorker(o, func(_ context.Context, w memory.Job) error {
			if w.Attempts == 0 {
				panic("poison")
			}
			return nil
		})
		_, stop := start(t, h, Config{})
		defer stop()
		pass(5 * time.Second)
		synctest.Wait()
		if len(h.settled) != 1 || !errors.Is(h.settled[0], ErrPanic) || len(h.order(memory.StageTask, ref)) != 1 {
			t.Errorf("settled %v, done %v", h.settled, h.order(memory.StageTask, ref))
		}
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		o.add(newRef(), memory.StageTask)
		h := newWorker(o, func(ctx context.Context, _ memory.Job) error {
			<-ctx.Done()
			return ctx.Err()
		})
		h.deadline = 700 * time.Millisecond
		_, stop := start(t, h, Config{})
		defer stop()
		pass(time.Second)
		synctest.Wait()
		if len(h.settled) != 1 || !errors.Is(h.settled[0], context.DeadlineExceeded) {
			t.Errorf("settled %v", h.settled)
		}
	})
}

// A job that runs longer than its lease keeps it. A job whose lease is revoked ends without being
// settled.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		ref := newRef()
		o.add(ref, memory.StageTask)
		runs := 0
		h := newWorker(o, func(ctx context.Context, _ memory.Job) error {
			runs++
			select {
			case <-time.After(2 * time.Minute):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		_, stop := start(t, h, Config{})
		defer stop()
		pass(3 * time.Minute)
		synctest.Wait()
		if runs != 1 || len(h.order(memory.StageTask, ref)) != 1 {
			t.Fatalf("ran %d times", runs)
		}
		lost := o.add(ref, memory.StageTask)
		pass(2 * time.Second)
		o.revoke(lost)
		pass(6 * time.Second)
		synctest.Wait()
		if h.now[memory.StageTask] != 0 || len(h.settled) != 0 || h.left != 2 {
			t.Errorf("running %v, settled %v, left %d", h.now, h.settled, h.left)
		}
	})
}

// A lease of a process that died expires, and the job is done.
func TestLeaseOfADeadProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		ref := newRef()
		o.add(ref, memory.StageDecide)
		must.Get(o.Claim(t.Context(), ref, memory.StageDecide, uuid.New(), time.Now().Add(15*time.Second), 1))(t)
		h := newWorker(o, nil)
		_, stop := start(t, h, Config{})
		defer stop()
		pass(14 * time.Second)
		synctest.Wait()
		if len(h.order(memory.StageDecide, ref)) != 0 {
			t.Fatal("a leased job was done")
		}
		pass(3 * time.Second)
		synctest.Wait()
		if len(h.order(memory.StageDecide, ref)) != 1 {
			t.Error("the job was not taken over")
		}
	})
}

// At a stop, jobs may finish within the grace time; the others are released without a counted try.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		ref := newRef()
		quick, slow := o.add(ref, memory.StageTask), o.add(ref, memory.StageTask)
		h := newWorker(o, func(ctx context.Context, w memory.Job) error {
			wait := time.Hour
			if w.ID == quick {
				wait = 2 * time.Second
			}
			select {
			case <-time.After(wait):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		_, stop := start(t, h, Config{})
		pass(time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("stopped after %v", took)
		}
		w := o.find(slow)
		if len(h.order(memory.StageTask, ref)) != 1 || w.ended || w.Lease != uuid.Nil || w.Attempts != 0 || !errors.Is(h.settled[0], ErrStopped) {
			t.Errorf("done %v, slow one %+v, settled %v", h.order(memory.StageTask, ref), w, h.settled)
		}
	})
}

// An idle runner claims nothing.
func TestIdleRunnerClaimsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, nil)
		_, stop := start(t, h, Config{})
		defer stop()
		pass(time.Minute)
		synctest.Wait()
		if o.claim != 0 {
			t.Errorf("%d claims without work", o.claim)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	o := &outbox{}
	if _, err := New(nil, newWorker(o, nil), nil, nil, Config{}); err == nil {
		t.Error("no source was accepted")
	}
	if _, err := New(o, newWorker(o, nil), nil, nil, Config{Lease: -1}); err == nil {
		t.Error("a negative lease was accepted")
	}
}
