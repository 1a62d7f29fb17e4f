package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

func meaning(seed int) []float32 {
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32((seed*31+i*7)%97) / 97
	}
	return v
}

func plain(i int) memory.Note {
	return memory.Note{
		Content: fmt.Sprint("The quick brown fox jumps over the lazy dog ", i), Keywords: []string{"fox", "dog"}, Tags: []string{"animals"},
		State: memory.StateEvolved, Vector: meaning(i),
	}
}

// add adds notes as the API does: with their vectors, jobs and an audit entry.
func (b bench) add(tb testing.TB, notes ...memory.Note) []memory.Note {
	tb.Helper()
	var out []memory.Note
	_, err := b.Write(context.Background(), b.scope, b.collection, memory.WriteOptions{
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

func (b bench) fill(tb testing.TB, n int) []memory.Note {
	tb.Helper()
	var out []memory.Note
	for len(out) < n {
		var batch []memory.Note
		for i := range min(500, n-len(out)) {
			batch = append(batch, plain(len(out)+i))
		}
		out = append(out, b.add(tb, batch...)...)
	}
	return out
}

func percentile(times []time.Duration, p int) float64 {
	slices.Sort(times)
	return float64(times[len(times)*p/100].Microseconds())
}

// BenchmarkAdd measures durable adds by concurrent writers of one collection.
func BenchmarkAdd(tb *testing.B) {
	for _, writers := range []int{1, 8, 32} {
		tb.Run(fmt.Sprint(writers), func(tb *testing.B) {
			b := newBench(tb)
			work := make(chan int)
			var mu sync.Mutex
			var times []time.Duration
			var all sync.WaitGroup
			for range writers {
				all.Go(func() {
					for i := range work {
						start := time.Now()
						b.add(tb, plain(i))
						mu.Lock()
						times = append(times, time.Since(start))
						mu.Unlock()
					}
				})
			}
			commits := b.trace.commits.Load()
			for i := 0; tb.Loop(); i++ {
				work <- i
			}
			close(work)
			all.Wait()
			tb.ReportMetric(percentile(times, 50), "µs-p50")
			tb.ReportMetric(percentile(times, 99), "µs-p99")
			tb.ReportMetric(float64(len(times))/float64(b.trace.commits.Load()-commits), "adds/commit")
		})
	}
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

// BenchmarkRead reads a collection of 10,000 notes.
func BenchmarkRead(tb *testing.B) {
	b := newBench(tb)
	all := b.fill(tb, 10_000)
	run(tb, b.db.OwnerURL, "ANALYZE")
	ctx := context.Background()
	v := b.open(tb)
	tb.Run("view", func(tb *testing.B) {
		for tb.Loop() {
			b.open(tb)
		}
	})
	tb.Run("notes", func(tb *testing.B) {
		var ids []uuid.UUID
		for i := range 20 {
			ids = append(ids, all[i*491%len(all)].ID)
		}
		for tb.Loop() {
			if l, err := b.Notes(ctx, b.scope, v, ids, memory.ReadOptions{}); err != nil || len(l) != len(ids) {
				tb.Fatal(len(l), err)
			}
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
	tb.Run("nearest", func(tb *testing.B) {
		for i := 0; tb.Loop(); i++ {
			l, err := b.Nearest(ctx, b.scope, v, memory.NearestQuery{Vector: meaning(i), Limit: 10})
			if err != nil || len(l) != 10 {
				tb.Fatal(len(l), err)
			}
		}
	})
}
