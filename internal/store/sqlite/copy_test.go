package sqlite

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// copyOf makes a collection that is being copied into.
func (b bench) copyOf(tb testing.TB, v memory.View, name string) uuid.UUID {
	tb.Helper()
	ctx := context.Background()
	c := must.Get(b.CreateCollection(ctx, b.scope, memory.NewCollection{Collection: memory.Collection{
		Name: name, Dim: v.Collection.Dim, Embedder: v.Collection.Embedder,
	}}))(tb)
	must.Do(tb, b.writing(ctx, ofJob(b.scope.Tenant()), func(ctx context.Context, q *session) error {
		_, err := q.exec(ctx, "UPDATE collections SET state = ? WHERE id = ?", memory.CollectionCopying, c.Collection.ID)
		return err
	}))
	return c.Collection.ID
}

// TestCopyInChunks: a step that takes several statements copies each note of each layer once, as it is visible.
func TestCopyInChunks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.fill(t, 2*copyChunk+1)
	c := must.Get(b.CreateCollection(t.Context(), b.scope, memory.NewCollection{Collection: memory.Collection{
		Name: "fork", Parent: b.collection, ParentRevision: b.head(t),
	}}))(t)
	b.collection = c.Collection.ID
	for _, n := range base[:copyChunk+1] {
		n.Content += "!"
		b.add(t, n)
	}
	read := func(collection uuid.UUID) []string {
		v := must.Get(b.OpenView(t.Context(), b.scope, collection.String(), memory.At{}))(t)
		notes := must.Get(b.ListNotes(t.Context(), b.scope, v, memory.NoteQuery{Limit: 10 * copyChunk, ReadOptions: memory.ReadOptions{Vector: true}}))(t)
		var out []string
		for i := range notes {
			out = append(out, fmt.Sprint(notes[i].ID, notes[i].From, notes[i].Content, notes[i].Vector))
		}
		return out
	}
	v := must.Get(b.OpenView(t.Context(), b.scope, b.collection.String(), memory.At{}))(t)
	target := b.copyOf(t, v, "copy")
	copied, next, err := b.CopyRows(t.Context(), b.scope, v, target, "", 10*copyChunk)
	if err != nil || copied != len(base) || next != "" {
		t.Fatalf("copied %d, next %q, %v", copied, next, err)
	}
	if got, want := read(target), read(b.collection); len(want) != len(base) || !slices.Equal(got, want) {
		t.Errorf("the copy has %d notes of %d, or they differ", len(got), len(want))
	}
}
