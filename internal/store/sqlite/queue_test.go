package sqlite

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/test/must"
)

// direct runs a statement without the store.
func (b bench) direct(tb testing.TB, text string, args ...any) {
	tb.Helper()
	must.Do(tb, b.writing(context.Background(), ofCaller(uuid.Nil), func(ctx context.Context, q *session) error {
		_, err := q.exec(ctx, text, args...)
		return err
	}))
}

func TestOrderOfDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	storetest.DecideOrder(t, b, b.scope, b.collection, storetest.Outbox{
		Clear: func() { b.direct(t, "DELETE FROM jobs") },
		Lease: func(job uuid.UUID, until time.Time) {
			b.direct(t, "UPDATE jobs SET lease = randomblob(16), lease_until = ? WHERE id = ?", micros(until), job[:])
		},
	})
}

// TestForkWithoutPolicy: a fork of notes for which no policy waits has no job that would look at
// each note, unless one lacks its vector.
func TestForkWithoutPolicy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	base := must.Get(b.CreateCollection(ctx, b.scope, memory.NewCollection{Collection: memory.Collection{
		Name: "plain", Policy: memory.PolicyNone, Embedder: "hash", Dim: 384,
	}}))(t)
	b.collection = base.Collection.ID
	put := func(n memory.Note) {
		must.Get(b.Write(ctx, b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, n)
			return err
		}))(t)
	}
	adopts := func(name string) int {
		f := must.Get(b.CreateCollection(ctx, b.scope, memory.NewCollection{Collection: memory.Collection{
			Name: name, Policy: memory.PolicyNone, Parent: b.collection, ParentRevision: b.head(t),
		}}))(t)
		jobs := must.Get(b.ListJobs(ctx, b.scope, memory.JobQuery{Collection: f.Collection.ID}))(t)
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

// Callers write before jobs, and jobs are not stopped; tenants take turns.
func TestWhoWritesNext(t *testing.T) {
	t.Parallel()
	s := openTest(t, Config{})
	held, goOn := make(chan struct{}), make(chan struct{})
	var order []string // one write at a time
	var writes sync.WaitGroup
	write := func(t turn, name string) {
		before := s.turns.Waiting(t.tenant)
		writes.Go(func() {
			_ = s.writing(context.Background(), t, func(context.Context, *session) error {
				order = append(order, name)
				return store.ErrRollback
			})
		})
		for s.turns.Waiting(t.tenant) == before {
			runtime.Gosched()
		}
	}
	writes.Go(func() {
		_ = s.writing(context.Background(), ofCaller(uuid.New()), func(context.Context, *session) error {
			close(held)
			<-goOn
			return store.ErrRollback
		})
	})
	<-held
	flood, other := uuid.New(), uuid.New()
	write(ofJob(flood), "job")
	write(ofJob(other), "other's job")
	for range 7 {
		write(ofCaller(flood), "flood")
	}
	write(ofCaller(other), "other")
	close(goOn)
	writes.Wait()
	want := []string{"flood", "other", "flood", "flood", "job", "flood", "flood", "flood", "flood", "other's job"}
	if !slices.Equal(order, want) {
		t.Errorf("written in order %q, want %q", order, want)
	}
}
