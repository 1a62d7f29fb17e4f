//go:build !race

package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/test/must"
)

// lively writes to a fork over a base of some notes and opens a view after every write: notes are
// added, in order of time or not, changed, deleted, moved between sessions, and get their vectors
// later.
func lively(tb testing.TB, notes, writes int, opened func(v *View)) {
	tb.Helper()
	r := rand.New(rand.NewPCG(21, 22))
	base := newTestLayer(tb, 8)
	row := func(note int, from int64) Row {
		w := Row{Note: noteID(note), From: from, Content: fmt.Sprintf("note %d of kiln and river", r.IntN(40))}
		w.Record = filter.Record{OccurredAt: time.Unix(int64(r.IntN(400)), 0)}
		if s := r.IntN(notes/60 + 2); s > 0 {
			w.Record.Attributes = map[string]any{"session": float64(s)}
		}
		if r.IntN(4) > 0 {
			w.Vector = make([]float32, 8)
			for i := range w.Vector {
				w.Vector[i] = float32(r.IntN(7) - 3)
			}
			w.Vector[0] = 1
		}
		return w
	}
	rows := make([]Row, notes)
	for i := range rows {
		rows[i] = row(i, 1)
	}
	mustApply(tb, base, 1, rows...)
	fork := must.Get(NewLayer(Config{Dimensions: 8, Start: 1}))(tb)
	var pending []Row
	for range writes {
		at := fork.Revision() + 1
		batch := []Row{row(r.IntN(notes+notes/10), at)}
		switch r.IntN(4) {
		case 0:
			batch[0].Tombstone, batch[0].Vector = true, nil
		case 1:
			if n := len(pending); n > 0 {
				late := pending[n-1]
				pending = pending[:n-1]
				late.Vector = []float32{1, 2, 3, 4, 5, 6, 7, float32(n)}
				batch = append(batch, late)
			}
		}
		mustApply(tb, fork, at, batch...)
		if w := batch[0]; w.Vector == nil && !w.Tombstone {
			pending = append(pending, w)
		}
		v := must.Get(Open([]Bound{{fork, at}, {base, 1}}))(tb)
		opened(v)
	}
}

// A chain that is extended from an earlier one equals one that is built from scratch.
func TestExtendedChainEqualsRebuiltChain(t *testing.T) {
	t.Parallel()
	var earlier *chain
	went := 0
	lively(t, 600, 400, func(v *View) {
		whole := v.buildChain()
		for name, c := range map[string]*chain{"kept": v.sessionChain(), "continued": v.extendChain(earlier)} {
			if c == nil {
				continue // the first has none to be extended from
			}
			went++
			if !slices.Equal(c.prev, whole.prev) || !slices.Equal(c.next, whole.next) || !slices.Equal(c.slot, whole.slot) || !slices.Equal(c.session, whole.session) ||
				!slices.Equal(c.length, whole.length) {
				t.Fatalf("the extended %s chain is not the rebuilt one", name)
			}
		}
		earlier = whole
	})
	if went < 2*400-1 {
		t.Errorf("only %d chains were compared", went)
	}
}

// Visibility at a bound that is computed from earlier bounds equals visibility computed from
// scratch.
func TestExtendedVisibilityEqualsRebuilt(t *testing.T) {
	t.Parallel()
	lively(t, 300, 300, func(v *View) {
		d := v.layers[0].data
		went := d.visibilityAt(v.stack.bounds[0])
		d.mu.Lock()
		clear(d.visible)
		clear(d.stacked)
		d.mu.Unlock()
		fresh := d.visibilityAt(v.stack.bounds[0])
		if !slices.Equal(went.rows, fresh.rows) || !slices.Equal(went.sessions, fresh.sessions) || went.notes != fresh.notes ||
			went.passages != fresh.passages || went.length != fresh.length || went.terms != fresh.terms || went.held != fresh.held {
			t.Fatalf("at %d: %+v, rebuilt %+v", v.stack.bounds[0], went, fresh)
		}
		again := must.Get(Open([]Bound{{v.stack.source[0].Value(), v.stack.bounds[0]}, {v.stack.source[1].Value(), 1}}))(t)
		n, mean := v.Sessions()
		if m, other := again.Sessions(); n != m || mean != other || v.notes != again.notes {
			t.Fatalf("%d sessions of %v, rebuilt %d of %v", n, mean, m, other)
		}
		for i := range v.layers {
			if !slices.Equal(v.layers[i].visible, again.layers[i].visible) {
				t.Fatalf("layer %d has other rows when it is rebuilt", i)
			}
		}
		_, base := d.visibilityAt(v.stack.bounds[0]-1), d.visibilityAt(v.stack.bounds[0]) // what the next one is computed from
		if base != fresh {
			t.Fatal("a bound is computed twice")
		}
	})
}
