package sqlite

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

func plain(i int) memory.Note {
	return memory.Note{
		Content: fmt.Sprint("The quick brown fox jumps over the lazy dog ", i), Keywords: []string{"fox", "dog"}, Tags: []string{"animals"},
		State: memory.StateEvolved, Vector: vector(i),
	}
}

func (b bench) fill(tb testing.TB, n int) []memory.Note {
	tb.Helper()
	var out []memory.Note
	for len(out) < n {
		var batch []memory.Note
		for i := range min(500, n-len(out)) {
			batch = append(batch, plain(len(out)+i))
		}
		_, err := b.Write(context.Background(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
			for _, n := range batch {
				n, err := tx.Put(ctx, n)
				if err != nil {
					return err
				}
				out = append(out, n)
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

func percentile(times []time.Duration, p int) float64 {
	slices.Sort(times)
	return float64(times[len(times)*p/100].Microseconds())
}

// BenchmarkAdd measures a durable add as the API does it: a note with its vector, its job and its
// audit entry.
func BenchmarkAdd(tb *testing.B) {
	b := newBench(tb)
	var times []time.Duration
	for i := 0; tb.Loop(); i++ {
		start := time.Now()
		b.add(tb, plain(i))
		times = append(times, time.Since(start))
	}
	tb.ReportMetric(percentile(times, 50), "µs-p50")
	tb.ReportMetric(percentile(times, 99), "µs-p99")
}

func BenchmarkBulk500(tb *testing.B) {
	b := newBench(tb)
	notes := make([]memory.Note, 500)
	for i := range notes {
		notes[i] = plain(i)
	}
	for tb.Loop() {
		b.add(tb, notes...)
	}
	tb.ReportMetric(float64(500*tb.N)/tb.Elapsed().Seconds(), "notes/s")
}

func BenchmarkFork(tb *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		tb.Run(fmt.Sprint(n), func(tb *testing.B) {
			b := newBench(tb)
			b.fill(tb, n)
			for i := 0; tb.Loop(); i++ {
				_, err := b.CreateCollection(context.Background(), b.scope, memory.NewCollection{Collection: memory.Collection{
					Name: fmt.Sprint("f", i), Parent: b.collection, ParentRevision: memory.Revision((n + 499) / 500),
				}})
				if err != nil {
					tb.Fatal(err)
				}
			}
		})
	}
}

// lineage is eight layers of 2,500 notes each; every layer changes some notes of the layers below.
func lineage(tb testing.TB) (bench, []memory.Note) {
	tb.Helper()
	b := newBench(tb)
	var all []memory.Note
	for i := range memory.MaxLineage {
		if i > 0 {
			c, err := b.CreateCollection(context.Background(), b.scope, memory.NewCollection{Collection: memory.Collection{
				Name: fmt.Sprint("l", i), Parent: b.collection, ParentRevision: b.head(tb),
			}})
			if err != nil {
				tb.Fatal(err)
			}
			b.collection = c.Collection.ID
			for k := range 20 {
				n := all[(k*997+i)%len(all)]
				n.Content += "!"
				b.add(tb, n)
			}
		}
		all = append(all, b.fill(tb, 2500)...)
	}
	return b, all
}

func (b bench) head(tb testing.TB) memory.Revision {
	tb.Helper()
	c, err := b.ResolveCollection(context.Background(), b.scope, b.collection.String())
	if err != nil {
		tb.Fatal(err)
	}
	return c.Head
}

func (b bench) open(tb testing.TB) memory.View {
	tb.Helper()
	v, err := b.OpenView(context.Background(), b.scope, b.collection.String(), memory.At{})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// BenchmarkEightLayers reads through eight layers of 2,500 notes.
func BenchmarkEightLayers(tb *testing.B) {
	b, all := lineage(tb)
	ctx := context.Background()
	v := b.open(tb)
	tb.Run("view", func(tb *testing.B) {
		for tb.Loop() {
			b.open(tb)
		}
	})
	tb.Run("page", func(tb *testing.B) {
		for i := 0; tb.Loop(); i++ {
			l, err := b.ListNotes(ctx, b.scope, v, memory.NoteQuery{Limit: 50, After: all[(i*7919)%(len(all)-100)].ID})
			if err != nil || len(l) != 50 {
				tb.Fatal(len(l), err)
			}
		}
	})
	tb.Run("notes", func(tb *testing.B) {
		var ids []uuid.UUID
		for i := range 20 {
			ids = append(ids, all[i*991%len(all)].ID)
		}
		for tb.Loop() {
			l, err := b.Notes(ctx, b.scope, v, ids, memory.ReadOptions{})
			if err != nil || len(l) != 20 {
				tb.Fatal(len(l), err)
			}
		}
	})
	tb.Run("links", func(tb *testing.B) {
		for tb.Loop() {
			if _, err := b.Links(ctx, b.scope, v, memory.LinkQuery{Notes: []uuid.UUID{all[0].ID, all[9].ID}, Direction: memory.Both}); err != nil {
				tb.Fatal(err)
			}
		}
	})
}

// BenchmarkAddsAtOnce measures durable adds of several clients, each with a transaction of its own, and together with those that
// wait.
func BenchmarkAddsAtOnce(tb *testing.B) {
	for _, clients := range []int{1, 4, 16, 64} {
		for name, long := range map[string]bool{"alone": true, "shared": false} {
			tb.Run(fmt.Sprintf("%d/%s", clients, name), func(tb *testing.B) {
				b := newBench(tb)
				var next atomic.Int64
				var all sync.WaitGroup
				tb.ResetTimer()
				for range clients {
					all.Go(func() {
						for i := next.Add(1); i <= int64(tb.N); i = next.Add(1) {
							n := plain(int(i))
							if _, err := b.Write(tb.Context(), b.scope, b.collection, memory.WriteOptions{Cause: memory.CauseAdd, Long: long}, func(ctx context.Context, tx memory.Tx) error {
								_, err := tx.Put(ctx, n)
								return err
							}); err != nil {
								tb.Error(err)
							}
						}
					})
				}
				all.Wait()
				tb.ReportMetric(float64(tb.N)/tb.Elapsed().Seconds(), "adds/s")
			})
		}
	}
}
