package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// enqueued puts jobs into the outbox in one transaction, as they are given.
func (b bench) enqueued(tb testing.TB, jobs ...memory.Job) []memory.Job {
	tb.Helper()
	_, err := b.Write(context.Background(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
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

// direct runs a statement that no method offers.
func (b bench) direct(tb testing.TB, text string, args ...any) {
	tb.Helper()
	err := b.writing(context.Background(), func(ctx context.Context, q *session) error {
		_, err := q.exec(ctx, text, args...)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// mayDecide is the rule of order in plain words: the job that a claim of stage
// decide gets, if any. waits says which jobs could be leased but for it.
func mayDecide(jobs []memory.Job, now time.Time) (memory.Job, bool) {
	for _, j := range jobs {
		if j.Stage != memory.StageDecide || !waits(&j, now) {
			continue
		}
		blocked := slices.ContainsFunc(jobs, func(o memory.Job) bool {
			held := o.State == memory.JobRunning
			switch {
			case o.ID == j.ID || !held && o.State != memory.JobQueued:
				return false
			case o.Stage == memory.StageDecide:
				return held && o.LeaseUntil.After(now) || o.Seq < j.Seq && (held || !o.NotBefore.After(now) || o.Attempts == 0)
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

func waits(j *memory.Job, now time.Time) bool {
	return j.State == memory.JobQueued && !j.NotBefore.After(now) || j.State == memory.JobRunning && !j.LeaseUntil.After(now)
}

// TestOrderOfDecides compares what is due and what a claim gives with the rule
// as mayDecide has it, over random queues.
func TestOrderOfDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	now := time.Now().UTC().Truncate(time.Microsecond)
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	decided := 0
	for round := range 200 {
		b.direct(t, "DELETE FROM jobs")
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
		jobs = b.enqueued(t, jobs...)
		for i := range jobs {
			if jobs[i].State != memory.JobRunning {
				continue
			}
			jobs[i].LeaseUntil = now.Add(time.Duration(1-2*rng.IntN(2)) * time.Hour)
			b.direct(t, "UPDATE jobs SET lease = randomblob(16), lease_until = ? WHERE id = ?", micros(jobs[i].LeaseUntil), blob(jobs[i].ID))
		}
		slices.SortFunc(jobs, func(x, y memory.Job) int { return cmp.Compare(x.Seq, y.Seq) })
		want, ok := mayDecide(jobs, now)
		other := slices.ContainsFunc(jobs, func(j memory.Job) bool { return j.Stage != memory.StageDecide && waits(&j, now) })
		due, err := b.DueCollections(t.Context(), now, 10)
		if err != nil {
			t.Fatal(err)
		}
		if (len(due) > 0) != (ok || other) {
			t.Fatalf("seed %d, round %d: due is %v for %+v", seed, round, due, jobs)
		}
		got, err := b.ClaimJobs(t.Context(), b.scope, b.collection, memory.StageDecide, uuid.New(), now.Add(time.Hour), 10)
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
	if decided < 20 {
		t.Errorf("seed %d: only %d of 200 queues had a decide to give", seed, decided)
	}
}

// BenchmarkQueue is what the runner asks, with many jobs waiting for their turn.
func BenchmarkQueue(tb *testing.B) {
	for _, n := range []int{100, 10_000} {
		b := newBench(tb)
		jobs := make([]memory.Job, n)
		for i := range jobs {
			jobs[i] = memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide}
		}
		b.enqueued(tb, jobs...)
		ctx := context.Background()
		tb.Run(fmt.Sprint("due/", n), func(tb *testing.B) {
			for tb.Loop() {
				due, err := b.DueCollections(ctx, time.Now(), 10)
				if err != nil || len(due) != 1 {
					tb.Fatal(due, err)
				}
			}
		})
		tb.Run(fmt.Sprint("next/", n), func(tb *testing.B) {
			for tb.Loop() {
				if at, err := b.NextDue(ctx); err != nil || at.IsZero() {
					tb.Fatal(at, err)
				}
			}
		})
		tb.Run(fmt.Sprint("claim/", n), func(tb *testing.B) {
			for tb.Loop() {
				lease := uuid.New()
				got, err := b.ClaimJobs(ctx, b.scope, b.collection, memory.StageDecide, lease, time.Now().Add(time.Minute), 1)
				if err != nil || len(got) != 1 {
					tb.Fatal(got, err)
				}
				if err := b.ReleaseJob(ctx, b.scope, got[0].ID, lease, memory.JobEnd{State: memory.JobQueued}); err != nil {
					tb.Fatal(err)
				}
			}
		})
	}
}

// TestForkWithoutPolicy: a fork of notes that no policy waits for has no job
// that would look at each of them, unless one lacks its vector.
func TestForkWithoutPolicy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	base, err := b.CreateCollection(ctx, b.scope, memory.NewCollection{Collection: memory.Collection{
		Name: "plain", Policy: memory.PolicyNone, Embedder: "hash", Dim: 384,
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.collection = base.Collection.ID
	put := func(n memory.Note) {
		_, err := b.Write(ctx, b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	adopts := func(name string) int {
		f, err := b.CreateCollection(ctx, b.scope, memory.NewCollection{Collection: memory.Collection{
			Name: name, Policy: memory.PolicyNone, Parent: b.collection, ParentRevision: b.head(t),
		}})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := b.ListJobs(ctx, b.scope, memory.JobQuery{Collection: f.Collection.ID})
		if err != nil {
			t.Fatal(err)
		}
		return len(jobs)
	}
	put(memory.Note{Content: "whole", State: memory.StateRaw, Vector: vector(1)})
	if n := adopts("whole"); n != 0 {
		t.Errorf("%d jobs for a note that is as it should be", n)
	}
	put(memory.Note{Content: "waits", State: memory.StateRaw})
	if n := adopts("waits"); n != 1 {
		t.Errorf("%d jobs for a note that waits for its vector, want 1", n)
	}
}
