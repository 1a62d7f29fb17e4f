package recall_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// The store and the index compare numbers of any size in the same way.
func TestBigNumbersInFilters_C060(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	for _, n := range []string{"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "-9007199254740993", "1e400"} {
		in := notes.NewNote{Content: "a number", Attributes: map[string]any{"n": json.Number(n)}}
		_, err := r.notes.Add(t.Context(), r.all, c.ID.String(), in, memory.Request{})
		if err != nil {
			t.Logf("%s: %v", n, err)
		}
	}
	for _, op := range []string{"eq", "ne", "gt", "gte", "lt", "lte"} {
		for _, n := range []string{"9007199254740992", "9007199254740993", "-9007199254740993"} {
			e := must.Get(filter.Parse([]byte(`{"field":"attributes.n","op":"` + op + `","value":` + n + `}`)))(t)
			listed := must.Get(r.store.ListNotes(t.Context(), r.all, r.view(c), memory.NoteQuery{Filter: e, Limit: 100}))(t)
			hits := r.search(c, recall.Query{Text: "number", K: 50, Filter: e}).Hits
			if len(listed) != len(hits) {
				t.Errorf("%s %s: %d listed, %d found", op, n, len(listed), len(hits))
			}
		}
	}
}

// A deep fork is searched while it is flattened: views that were opened before and after find each note once, and what is written next.
func TestSearchBesideFlattening(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.collection("base")
		want := []string{r.add(c, "kiln of the base").String()}
		for i := range memory.MaxLineage {
			c = r.fork(c, nil)
			want = append(want, r.add(c, fmt.Sprint("kiln of layer ", i)).String())
		}
		old := r.view(c)
		check := func(what string, v memory.View, want []string) {
			t.Helper()
			out := must.Get(r.recall.Search(t.Context(), r.all, v, recall.Query{Text: "kiln", K: 50, Mode: recall.Lexical}))(t)
			got := hitsInOrder(out)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d hits of %d notes: %v", what, len(got), len(want), got)
			}
		}
		check("before", old, want)
		r.noError(r.store.FlattenLineage(t.Context(), r.all, c.ID))
		check("an earlier view", old, want)
		check("afterwards", r.view(c), want)
		check("the earlier view again", old, want)
		more := append(slices.Clone(want), r.add(c, "kiln of the flat fork").String())
		check("and written since", r.view(c), more)
		check("the earlier view still", old, want)
	})
}
