package sqlite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

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

func (b bench) head(tb testing.TB) memory.Revision {
	tb.Helper()
	c, err := b.ResolveCollection(context.Background(), b.scope, b.collection.String())
	if err != nil {
		tb.Fatal(err)
	}
	return c.Head
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
