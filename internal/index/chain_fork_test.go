package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestForksShareTheChain: forks that have written nothing use the chain of their base. One that has extends it, and gets what it
// would have built from all sessions; so does a fork of a fork.
func TestForksShareTheChain(t *testing.T) {
	t.Parallel()
	row := func(n int, session string) Row {
		r := Row{Note: noteID(n), From: 1, Content: fmt.Sprint("kiln ", n), Vector: []float32{1, float32(n)}}
		r.Record = filter.Record{Attributes: map[string]any{"session": session}}
		return r
	}
	base := newTestLayer(t, 2)
	var rows []Row
	for n := range 200 {
		rows = append(rows, row(n, []string{"a", "b", ""}[n%3]))
	}
	mustApply(t, base, 1, rows...)
	fork := func(rows ...Row) *Layer {
		l := must.Get(NewLayer(Config{Dimensions: 2, Start: 1}))(t)
		for i := range rows {
			rows[i].From = 2
		}
		mustApply(t, l, 2, rows...)
		return l
	}
	open := func(layers ...*Layer) *View {
		var bounds []Bound
		for _, l := range layers {
			bounds = append(bounds, Bound{l, l.Revision()})
		}
		v := must.Get(Open(bounds))(t)
		return v
	}
	shared := open(base).sessionChain()
	for range 2 {
		if open(fork(), base).sessionChain() != shared {
			t.Error("a fork without notes has a chain of its own")
		}
	}
	dead := Row{Note: noteID(9), Tombstone: true}
	wrote := fork(row(3, "b"), row(300, "a"), row(301, "new"), dead)
	for name, v := range map[string]*View{
		"a fork": open(wrote, base), "a fork of it": open(fork(), wrote, base), "one that writes": open(fork(row(302, "new"), row(300, "b")), wrote, base),
	} {
		got, want := v.extendChain(v.farChain()), v.buildChain()
		if got == nil {
			t.Fatalf("%s does not extend the chain of its base", name)
		}
		same := slices.Equal(got.prev, want.prev) && slices.Equal(got.next, want.next) && slices.Equal(got.length, want.length)
		for g := range want.prev {
			if i, row := v.locate(uint32(g)); v.layers[i].visible.has(row) {
				same = same && got.windowLength[g] == want.windowLength[g] && got.slot[g] == want.slot[g] && got.session[g] == want.session[g]
			}
		}
		if !same {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if open(base).sessionChain() != shared {
		t.Error("the chain of the base was replaced")
	}
}
