package storetest

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Enqueue enqueues jobs in one transaction, with the given fields.
func Enqueue(tb testing.TB, s store.Store, sc tenant.Scope, collection uuid.UUID, jobs ...memory.Job) []memory.Job {
	tb.Helper()
	_, err := s.Write(context.Background(), sc, collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		for i := range jobs {
			var err error
			if jobs[i], err = tx.Enqueue(ctx, jobs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return jobs
}

// Add adds notes as the API does: with their vectors, jobs and an audit entry. Any goroutine may call it.
func Add(tb testing.TB, s memory.Writer, sc tenant.Scope, collection uuid.UUID, notes ...memory.Note) []memory.Note {
	tb.Helper()
	var out []memory.Note
	_, err := s.Write(context.Background(), sc, collection, memory.WriteOptions{
		Cause: memory.CauseAdd, Audit: []memory.AuditEntry{{Action: "note.create"}},
	}, func(ctx context.Context, tx memory.Tx) error {
		out = out[:0]
		for _, n := range notes {
			n, err := tx.Put(ctx, n)
			if err != nil {
				return err
			}
			out = append(out, n)
			if _, err := tx.Enqueue(ctx, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Error(err)
	}
	return out
}

// Outbox changes the jobs of a store in ways that store.Store does not offer.
type Outbox struct {
	Clear func() // removes all jobs
	Lease func(job uuid.UUID, until time.Time)
}

// DecideOrder compares the due and the claimed jobs of random queues with the rule in
// nextDecide.
func DecideOrder(t *testing.T, s store.Store, sc tenant.Scope, collection uuid.UUID, o Outbox) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the queues are reproducible
	now := time.Now().UTC().Truncate(time.Microsecond)
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	decided := 0
	const rounds = 150
	for round := range rounds {
		o.Clear()
		jobs := make([]memory.Job, 1+rng.IntN(6))
		for i := range jobs {
			jobs[i] = memory.Job{
				Kind: memory.JobNote, Stage: memory.Stage(pick("prepare", "decide", "decide", "decide", "task")),
				State: memory.JobState(pick("queued", "queued", "queued", "running", "done")), Attempts: rng.IntN(2),
			}
			if rng.IntN(4) == 0 {
				jobs[i].NotBefore = now.Add(time.Hour)
			}
		}
		jobs = Enqueue(t, s, sc, collection, jobs...)
		for i := range jobs {
			if jobs[i].State != memory.JobRunning {
				continue
			}
			jobs[i].LeaseUntil = now.Add(time.Duration(1-2*rng.IntN(2)) * time.Hour)
			o.Lease(jobs[i].ID, jobs[i].LeaseUntil)
		}
		slices.SortFunc(jobs, func(x, y memory.Job) int { return cmp.Compare(x.Seq, y.Seq) })
		want, ok := nextDecide(jobs, now)
		other := slices.ContainsFunc(jobs, func(j memory.Job) bool { return j.Stage != memory.StageDecide && isLeasable(&j, now) })
		due, err := s.DueCollections(t.Context(), now, 10)
		if err != nil {
			t.Fatal(err)
		}
		if (len(due) > 0) != (ok || other) {
			t.Fatalf("seed %d, round %d: due is %v for %+v", seed, round, due, jobs)
		}
		got, err := s.ClaimJobs(t.Context(), sc, collection, memory.StageDecide, uuid.New(), now.Add(time.Hour), 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 1 || (len(got) == 1) != ok || ok && got[0].ID != want.ID {
			t.Fatalf("seed %d, round %d: claimed %+v, want %v %+v of %+v", seed, round, got, ok, want, jobs)
		}
		if ok {
			decided++
		}
	}
	if decided < rounds/10 {
		t.Errorf("seed %d: only %d of %d queues had a job to claim in stage decide", seed, decided, rounds)
	}
}

// nextDecide is the reference implementation of the order in stage decide: it returns the
// job that a claim leases, if any.
func nextDecide(jobs []memory.Job, now time.Time) (memory.Job, bool) {
	for _, j := range jobs {
		if j.Stage != memory.StageDecide || !isLeasable(&j, now) {
			continue
		}
		blocked := slices.ContainsFunc(jobs, func(o memory.Job) bool {
			running := o.State == memory.JobRunning
			switch {
			case o.ID == j.ID || !running && o.State != memory.JobQueued:
				return false
			case o.Stage == memory.StageDecide:
				return running && o.LeaseUntil.After(now) || o.Seq < j.Seq && (running || !o.NotBefore.After(now) || o.Attempts == 0)
			default:
				return o.Stage == memory.StagePrepare && o.Seq < j.Seq && o.Attempts == 0
			}
		})
		if !blocked {
			return j, true
		}
	}
	return memory.Job{}, false
}

// isLeasable reports whether a job could be leased if there were no order.
func isLeasable(j *memory.Job, now time.Time) bool {
	return j.State == memory.JobQueued && !j.NotBefore.After(now) || j.State == memory.JobRunning && !j.LeaseUntil.After(now)
}
