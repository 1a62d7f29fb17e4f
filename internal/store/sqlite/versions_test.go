package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// Reading, listing and changing a note looks at its newest version alone, however many there are: the pages read do not grow.
func TestVersionsAreNotRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	note := plain(1)
	note.Kind, note.Key = memory.KindProfile, "profile"
	note = b.add(t, note, plain(2), plain(3))[0]
	edit := func(times int) {
		must.Get(b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Cause: memory.CausePatch}, func(ctx context.Context, tx memory.Tx) error {
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
		}))(t)
	}
	type cost struct{ get, patch, key, list int64 }
	measure := func() (c cost) {
		v := must.Get(b.OpenView(t.Context(), b.scope, b.collection.String(), memory.At{}))(t)
		before := b.pages.Load()
		if n, err := b.Notes(t.Context(), b.scope, v, []uuid.UUID{note.ID}, memory.ReadOptions{Vector: true}); err != nil || len(n) != 1 {
			t.Fatal(n, err)
		}
		must.Do(t, b.AddUsage(t.Context(), b.scope, v, []memory.UsageDelta{{Note: note.ID, Accesses: 1}}))
		c.get = b.pages.Load() - before
		before = b.pages.Load()
		must.Get(b.NoteByKey(t.Context(), b.scope, v, note.Kind, note.Key))(t)
		c.key = b.pages.Load() - before
		before = b.pages.Load()
		for _, q := range []memory.NoteQuery{{Limit: 9}, {Limit: 9, Newest: true}, {Limit: 9, Kinds: []memory.Kind{note.Kind}}, {Limit: 9, Kinds: []memory.Kind{note.Kind}, Newest: true}} {
			if n, err := b.ListNotes(t.Context(), b.scope, v, q); err != nil || n[0].ID != note.ID && n[len(n)-1].ID != note.ID {
				t.Fatal(n, err)
			}
		}
		c.list = b.pages.Load() - before
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
	if many.get > few.get+20 || many.patch > few.patch+40 || many.key > few.key+20 || many.list > few.list+700 {
		t.Errorf("pages of one note: %+v at few versions, %+v at 2,000 more", few, many)
	}
}

// TestHeadWritesNoIndex: what each write changes of a head opens its table to be written, and no index of it.
func TestHeadWritesNoIndex(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	must.Do(t, b.reading(t.Context(), b.scope.Tenant(), func(ctx context.Context, q *session) error {
		rows := must.Get(q.conn.QueryContext(ctx, "EXPLAIN "+parameter.ReplaceAllString(saveHead, "X'00'")))(t)
		written := 0
		for rows.Next() {
			var opcode string
			var other any
			must.Do(t, rows.Scan(&other, &opcode, &other, &other, &other, &other, &other, &other))
			if opcode == "OpenWrite" {
				written++
			}
		}
		if written != 1 {
			t.Errorf("%d trees are opened to be written, want 1", written)
		}
		return errors.Join(rows.Err(), rows.Close())
	}))
}
