package cache

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// linkCounter is a store that counts the notes whose links were read.
type linkCounter struct {
	memory.Reader
	notes int
}

func (c *linkCounter) Links(ctx context.Context, s tenant.Scope, v memory.View, q memory.LinkQuery) ([]memory.Link, error) {
	c.notes += len(q.Notes)
	return c.Reader.Links(ctx, s, v, q)
}

// Outgoing links are read once for what a view shows, and are the store's: at any revision, through
// forks, in both orders, and after a write.
func TestLinksAreKept(t *testing.T) {
	t.Parallel()
	w := newShelf(t)
	store := &linkCounter{Reader: w.store}
	c := must.Get(NewVersions(store, nil, VersionsConfig{}, Deps{}))(t)
	var ids []uuid.UUID
	for i := range 4 {
		ids = append(ids, w.write(w.base, memory.Note{Kind: memory.KindNote, State: memory.StateRaw, Content: fmt.Sprint(i)}).ID)
	}
	link := func(c uuid.UUID, from, to int) {
		t.Helper()
		must.Get(w.store.Write(t.Context(), w.scope, c, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Link(ctx, memory.Link{
				LinkID: memory.LinkID{Source: ids[from], Target: ids[to], Relation: memory.RelatedTo}, Confidence: 1, Attributes: map[string]any{"why": "tests"},
			})
			return err
		}))(t)
	}
	link(w.base, 0, 1)
	link(w.base, 0, 2)
	link(w.base, 2, 1)
	view := func(c uuid.UUID, at *memory.Revision) memory.View {
		t.Helper()
		v := must.Get(w.store.OpenView(t.Context(), w.scope, c.String(), memory.At{AsOf: at}))(t)
		return v
	}
	same := func(what string, v memory.View, q memory.LinkQuery, reads int) {
		t.Helper()
		want := must.Get(w.store.Links(t.Context(), w.scope, v, q))(t)
		before := store.notes
		got := must.Get(c.Links(t.Context(), w.scope, v, q))(t)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if n := store.notes - before; n != reads {
			t.Errorf("%s: the links of %d notes were read, want %d", what, n, reads)
		}
		for i := range got {
			got[i].Attributes["why"] = "changed by the caller"
		}
	}
	out := memory.LinkQuery{Notes: []uuid.UUID{ids[2], ids[0], ids[3]}, Direction: memory.Outgoing}
	v := view(w.base, nil)
	same("first", v, out, 3)
	same("again", v, out, 0)
	same("a part, and another note, repeated", v, memory.LinkQuery{Notes: []uuid.UUID{ids[1], ids[0], ids[1]}, Direction: memory.Outgoing}, 1)
	same("in both directions", v, memory.LinkQuery{Notes: out.Notes, Direction: memory.Both}, 3)
	same("with a limit", v, memory.LinkQuery{Notes: out.Notes, Direction: memory.Outgoing, Limit: 1}, 3)
	same("in the past", view(w.base, new(v.At-1)), out, 3)
	fork := w.create(memory.Collection{Name: "fork", Parent: w.base, ParentRevision: v.At})
	same("in a fork", view(fork, nil), out, 3)
	link(fork, 3, 0)
	same("in a fork with a link", view(fork, nil), out, 3)
	link(w.base, 2, 3)
	same("after a write", view(w.base, nil), out, 3)
	same("before it", v, out, 0)
	stranger := grant.Scope(uuid.New(), uuid.Nil, "stranger", tenant.AllPermissions()...)
	if _, err := c.Links(t.Context(), stranger, v, out); err == nil {
		t.Error("another tenant read the links")
	}
}
