package jobs

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// table is a job in a store, and how often it was read. Under synctest there can be no real store: the
// clock does not move while goroutines wait for one. Waiting on a real store is tested in internal/worker.
type table struct {
	job   memory.Job
	reads atomic.Int64
}

func (f *table) Job(context.Context, tenant.Scope, uuid.UUID) (memory.Job, error) {
	f.reads.Add(1)
	return f.job, nil
}

func (f *table) JobsAhead(context.Context, tenant.Scope, uuid.UUID) (memory.Job, int, error) {
	f.reads.Add(1)
	return f.job, 0, nil
}

// Without notifications the store is read slowly, and fast only while those of other processes cannot
// arrive.
func TestPolling(t *testing.T) {
	t.Parallel()
	const wait = 20*time.Second + time.Millisecond
	yes, no := func() bool { return true }, func() bool { return false }
	for name, c := range map[string]struct {
		notified func() bool
		want     int64 // the first and the last read, and one at each poll
	}{"one process": {nil, 2 + 4}, "notified": {yes, 2 + 4}, "not notified": {no, 2 + 40}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &table{job: memory.Job{ID: uuid.New(), State: memory.JobRunning}}
				w := NewWaiters(f, WaitConfig{For: wait, Notified: c.notified})
				if j, err := w.Wait(t.Context(), tenant.Scope{}, f.job.ID, 0); err != nil || j.State != memory.JobRunning || f.reads.Load() != c.want {
					t.Errorf("the job is %+v, %v, after %d reads, want %d", j, err, f.reads.Load(), c.want)
				}
			})
		})
	}
}

// A notification about a job that continues is for those who watch it; one that it may have ended is for
// those who wait for its end, too.
func TestNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &table{job: memory.Job{ID: uuid.New(), State: memory.JobRunning}}
		w := NewWaiters(f, WaitConfig{Poll: time.Hour, For: time.Hour})
		var ended memory.Job
		var seen []memory.Stage
		go func() { ended, _ = w.Wait(t.Context(), tenant.Scope{}, f.job.ID, 0) }()
		synctest.Wait()
		go func() {
			if err := w.Watch(t.Context(), tenant.Scope{}, f.job.ID, func(j memory.Job) error {
				seen = append(seen, j.Stage)
				return nil
			}); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		reads := func(after string, want int64) {
			t.Helper()
			synctest.Wait()
			if f.reads.Load() != want {
				t.Errorf("%d reads after %s, want %d", f.reads.Load(), after, want)
			}
			f.reads.Store(0)
		}
		reads("the beginning", 2)
		w.Notify(uuid.New(), true)
		reads("the end of another job", 0)
		f.job.Stage = memory.StageDecide
		w.Notify(f.job.ID, false)
		reads("a change", 1)
		f.job.State = memory.JobDone
		w.Notify(f.job.ID, true)
		reads("the end", 2)
		if ended.State != memory.JobDone || len(seen) != 3 || len(w.topics) != 0 {
			t.Errorf("the waiter got %+v, the watcher %v, %d topics are left", ended, seen, len(w.topics))
		}
	})
}

// Who waits is notified as before when another waiter for the same job goes away.
func TestWaiterGoesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &table{job: memory.Job{ID: uuid.New(), State: memory.JobRunning}}
		w := NewWaiters(f, WaitConfig{Poll: time.Hour, For: 2 * time.Hour})
		begun := time.Now()
		var ended memory.Job
		go func() { ended, _ = w.Wait(t.Context(), tenant.Scope{}, f.job.ID, 0) }()
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _ = w.Wait(ctx, tenant.Scope{}, f.job.ID, 0) }()
		synctest.Wait()
		leave()
		synctest.Wait()
		f.job.State = memory.JobDone
		w.Notify(f.job.ID, true)
		synctest.Wait()
		if ended.State != memory.JobDone || time.Since(begun) != 0 || len(w.topics) != 0 {
			t.Errorf("the waiter got %+v after %s, %d topics are left", ended, time.Since(begun), len(w.topics))
		}
	})
}

// Notifications that come faster than the pause are one call.
func TestNotificationsAreGathered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := NewWaiters(&table{}, WaitConfig{Poll: time.Hour})
		id, calls, begun := uuid.New(), 0, time.Now()
		err := w.Each(t.Context(), id, time.Second, func() (bool, error) {
			for range 5 {
				w.Notify(id, false)
			}
			calls++
			return calls < 3, nil
		})
		if err != nil || calls != 3 || time.Since(begun) != 2*time.Second || len(w.topics) != 0 {
			t.Errorf("%d calls in %s, %v, %d topics are left", calls, time.Since(begun), err, len(w.topics))
		}
	})
}
