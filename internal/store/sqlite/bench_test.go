package sqlite

import (
	"context"
	"fmt"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
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
		must.Get(b.Write(context.Background(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
			for _, n := range batch {
				n, err := tx.Put(ctx, n)
				if err != nil {
					return err
				}
				out = append(out, n)
			}
			return nil
		}))(tb)
	}
	return out
}

func (b bench) head(tb testing.TB) memory.Revision {
	tb.Helper()
	c := must.Get(b.ResolveCollection(context.Background(), b.scope, b.collection.String()))(tb)
	return c.Head
}
