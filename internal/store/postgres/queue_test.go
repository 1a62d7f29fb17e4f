package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestDecidesTakeTurns: eight claimers in two processes never lease two decides of a collection at
// once, and lease them in order, while prepares end.
func TestDecidesTakeTurns(t *testing.T) {
	t.Parallel()
	const jobs = 60
	b := newBench(t)
	stores := []bench{b, b.beside(t, 0)}
	all := make([]memory.Job, jobs)
	for i := range all {
		all[i] = memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare}
	}
	b.enqueued(t, all...)
	var mu sync.Mutex
	held, prepared := 0, map[int64]bool{}
	var order []int64
	end := func(s bench, j memory.Job, lease uuid.UUID, e memory.JobEnd) error {
		_, err := s.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Job: j.ID}, func(ctx context.Context, tx memory.Tx) error {
			return tx.EndJob(ctx, j.ID, lease, e)
		})
		return err
	}
	step := func(s bench, stage memory.Stage) (int, error) {
		lease := uuid.New()
		got, err := s.ClaimJobs(t.Context(), b.scope, b.collection, stage, lease, time.Now().Add(time.Hour), 3)
		if err != nil {
			return 0, err
		}
		for _, j := range got {
			if stage == memory.StagePrepare {
				mu.Lock()
				prepared[j.Seq] = true
				mu.Unlock()
				err = end(s, j, lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide})
			} else {
				mu.Lock()
				held++
				order = append(order, j.Seq)
				if held > 1 || len(got) > 1 || !prepared[j.Seq] {
					err = fmt.Errorf("decide %d: %d are held", j.Seq, held)
				}
				held--
				mu.Unlock()
				if err == nil {
					err = end(s, j, lease, memory.JobEnd{State: memory.JobDone})
				}
			}
			if err != nil {
				return 0, err
			}
		}
		return len(got), nil
	}
	must.Do(t, together(8, func(i int) error {
		for deadline := time.Now().Add(2 * time.Minute); ; {
			for _, stage := range []memory.Stage{memory.StageDecide, memory.StagePrepare} {
				if _, err := step(stores[i%2], stage); err != nil {
					return err
				}
			}
			mu.Lock()
			done := len(order) == jobs
			mu.Unlock()
			if done {
				return nil
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("only %v were decided", order)
			}
		}
	}))
	if !slices.IsSorted(order) || len(order) != jobs {
		t.Fatalf("decided in the order %v", order)
	}
	b.sound(t)
}

// TestClaimsAtOnce: of concurrent claims, one gets a decide, even when a clock that is ahead finds
// another decide first.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stores := []bench{b, b.beside(t, time.Hour)}
	for range 20 {
		b.enqueued(t, memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide, Attempts: 1, NotBefore: time.Now().Add(time.Minute)},
			memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide})
		var mu sync.Mutex
		var got []memory.Job
		lease := uuid.New()
		err := together(8, func(i int) error {
			jobs, err := stores[i%2].ClaimJobs(t.Context(), b.scope, b.collection, memory.StageDecide, lease, time.Now().Add(2*time.Hour), 1)
			mu.Lock()
			defer mu.Unlock()
			got = append(got, jobs...)
			return err
		})
		if err != nil || len(got) != 1 {
			t.Fatalf("%d decides were given at once: %+v, %v", len(got), got, err)
		}
		must.Do(t, b.ReleaseJob(t.Context(), b.scope, got[0].ID, lease, memory.JobEnd{State: memory.JobDone}))
	}
}

// TestClocksApart: a process whose clock is an hour ahead claims a job that another still works on.
// The result of the first is refused, and that of the second is applied, once.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ahead := b.beside(t, time.Hour)
	n := b.put(t, b.collection, memory.Note{Content: "x"})
	j := b.enqueued(t, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StageDecide})[0]
	claim := func(s bench) uuid.UUID {
		lease := uuid.New()
		got, err := s.ClaimJobs(t.Context(), b.scope, b.collection, memory.StageDecide, lease, time.Now().Add(time.Minute), 1)
		if err != nil || len(got) != 1 || got[0].ID != j.ID {
			t.Fatal(got, err)
		}
		return lease
	}
	first := claim(b)
	none, err := b.ClaimJobs(t.Context(), b.scope, b.collection, memory.StageDecide, uuid.New(), time.Now().Add(time.Minute), 1)
	if err != nil || len(none) > 0 {
		t.Fatal("held, and given again by the same clock", none, err)
	}
	second := claim(ahead)
	apply := func(s bench, lease uuid.UUID) error {
		_, err := s.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Job: j.ID}, func(ctx context.Context, tx memory.Tx) error {
			if _, err := tx.Put(ctx, memory.Note{ID: n.ID, Content: "effect"}); err != nil {
				return err
			}
			return tx.EndJob(ctx, j.ID, lease, memory.JobEnd{State: memory.JobDone})
		})
		return err
	}
	isRefused(t, apply(b, first), fault.Conflict)
	isRefused(t, b.Heartbeat(t.Context(), b.scope, j.ID, first, time.Now().Add(time.Hour)), fault.Conflict)
	must.Do(t, apply(ahead, second))
	isRefused(t, apply(ahead, second), fault.Conflict)
	if v := b.open(t); v.At != 2 {
		t.Fatalf("the log ends at %d, want 2: one effect", v.At)
	}
	b.sound(t)
}

func TestOrderOfDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.owner(t)
	storetest.DecideOrder(t, b, b.scope, b.collection, storetest.Outbox{
		Clear: func() { direct(t, owner, "DELETE FROM jobs") },
		Lease: func(job uuid.UUID, until time.Time) {
			direct(t, owner, "UPDATE jobs SET lease = gen_random_uuid(), lease_until = $1 WHERE id = $2", until, job.String())
		},
	})
}

// TestManyWaiting: queries of the queue read few pages, however many jobs wait in however many due
// collections.
func TestManyWaiting(t *testing.T) {
	t.Parallel()
	const jobs = 20_000
	b := newBench(t)
	owner := b.owner(t)
	direct(t, owner, `INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, error, not_before, lease, created_at)
 SELECT $1, gen_random_uuid(), $2, $2, 'note', 'decide', CASE WHEN i % 4 = 0 THEN 'done' ELSE 'queued' END, i, 0, '', CASE WHEN i % 2 = 0 THEN now() END, $1, now()
 FROM generate_series(1, $3::int) i`, b.scope.Tenant().String(), b.collection.String(), jobs)
	direct(t, owner, "ANALYZE jobs")
	for _, text := range []string{"SELECT * FROM due_collections(now(), 10)", "SELECT next_due()"} {
		for try := range 2 {
			var doc []byte
			must.Do(t, owner.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+text).Scan(&doc))
			var plan []struct {
				Plan struct {
					Hit  int `json:"Shared Hit Blocks"`
					Read int `json:"Shared Read Blocks"`
				} `json:"Plan"`
			}
			if err := json.Unmarshal(doc, &plan); err != nil || len(plan) != 1 {
				t.Fatal(string(doc), err)
			}
			// A scan of the table alone would read several hundred pages. The first run reads the
			// catalog as well.
			if n := plan[0].Plan.Hit + plan[0].Plan.Read; try > 0 && n > 100 {
				t.Errorf("%s reads %d pages", text, n)
			}
		}
	}
	due, err := b.DueCollections(t.Context(), time.Now(), 10)
	if err != nil || len(due) != 1 {
		t.Fatal(due, err)
	}
	lease := uuid.New()
	got, err := b.ClaimJobs(t.Context(), b.scope, b.collection, memory.StageDecide, lease, time.Now().Add(time.Minute), 1)
	if err != nil || len(got) != 1 || got[0].Seq != 1 {
		t.Fatal(got, err)
	}
	if at, err := b.NextDue(t.Context()); err != nil || at.IsZero() || at.After(time.Now()) {
		t.Fatal(at, err)
	}
}

// TestRetryAndCancel of one job at once: each is done or refused, and the queue stays consistent.
func TestRetryAndCancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stores := []bench{b, b.beside(t, 0)}
	j := b.enqueued(t, memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide})[0]
	must.Do(t, together(8, func(i int) error {
		for range 10 {
			s := stores[i%2]
			var err error
			if i < 4 {
				_, err = s.CancelJob(t.Context(), b.scope, j.ID, memory.AuditEntry{Action: "job.cancel"})
			} else {
				_, err = s.RetryJob(t.Context(), b.scope, j.ID, memory.AuditEntry{Action: "job.retry"})
			}
			if err != nil && !fault.Is(err, fault.Conflict) {
				return err
			}
		}
		return nil
	}))
	count := func(action string) int {
		l := must.Get(b.ListAudit(t.Context(), b.scope, memory.AuditQuery{Action: action}))(t)
		return len(l)
	}
	last := must.Get(b.Job(t.Context(), b.scope, j.ID))(t)
	canceled, retried := count("job.cancel"), count("job.retry")
	if d := canceled - retried; d < 0 || d > 1 || (d == 1) != (last.State == memory.JobCanceled) || last.Seq != int64(1+retried) {
		t.Fatalf("%d cancels and %d retries left %+v", canceled, retried, last)
	}
	b.sound(t)
}
