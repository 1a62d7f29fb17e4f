package sqlite

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Reading and changing a note looks at its newest version alone, however many there are: the pages read do not grow.
func TestVersionsAreNotRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	note := plain(1)
	note.Kind, note.Key = memory.KindProfile, "profile"
	note = b.add(t, note)[0]
	edit := func(times int) {
		if _, err := b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Cause: memory.CausePatch}, func(ctx context.Context, tx memory.Tx) error {
			for i := range times {
				n := note
				n.Content = fmt.Sprint("An edit, number ", i, " of ", times)
				if _, err := tx.Put(ctx, n); err != nil {
					return err
				}
				if err := tx.EndChangeset(ctx, memory.CausePatch, uuid.Nil, note.ID); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	type cost struct{ get, patch, key int64 }
	measure := func() (c cost) {
		v, err := b.OpenView(t.Context(), b.scope, b.collection.String(), memory.At{})
		if err != nil {
			t.Fatal(err)
		}
		before := b.pages.Load()
		if n, err := b.Notes(t.Context(), b.scope, v, []uuid.UUID{note.ID}, memory.ReadOptions{Vector: true}); err != nil || len(n) != 1 {
			t.Fatal(n, err)
		}
		if err := b.AddUsage(t.Context(), b.scope, v, []memory.UsageDelta{{Note: note.ID, Accesses: 1}}); err != nil {
			t.Fatal(err)
		}
		c.get = b.pages.Load() - before
		before = b.pages.Load()
		if _, err := b.NoteByKey(t.Context(), b.scope, v, note.Kind, note.Key); err != nil {
			t.Fatal(err)
		}
		c.key = b.pages.Load() - before
		before = b.pages.Load()
		edit(1)
		c.patch = b.pages.Load() - before
		return c
	}
	measure()
	few := measure()
	for range 4 {
		edit(500)
	}
	many := measure()
	if many.get > few.get+20 || many.patch > few.patch+40 || many.key > few.key+20 {
		t.Errorf("pages of one note: %+v at few versions, %+v at 2,000 more", few, many)
	}
}
