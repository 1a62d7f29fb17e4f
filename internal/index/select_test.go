//go:build !race

package index

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/test/must"
)

// drawnFilter returns a filter of a few conditions, some of which recur.
func drawnFilter(r *rand.Rand, deep int) filter.Expr {
	if deep > 0 && r.IntN(3) > 0 {
		a, b := drawnFilter(r, deep-1), drawnFilter(r, deep-1)
		return []filter.Expr{filter.And{a, b}, filter.Or{a, b}, filter.Not{Term: a}, filter.And{}, filter.Or{}}[r.IntN(5)]
	}
	name := func() string { return string(rune('a' + r.IntN(3))) }
	return []filter.Expr{
		filter.TextIs(filter.Kind, name()), filter.TextIs(filter.Category, name(), name()), filter.TextIs(filter.State, name()),
		filter.AttributeIs("of", name()),
		&filter.Leaf{Field: filter.Attributes, Path: []string{"of"}, Op: filter.Exists, Want: r.IntN(2) == 0},
		&filter.Leaf{Field: filter.Kind, Op: filter.Ne, Values: filter.TextValues([]string{name()})},
		&filter.Leaf{Field: filter.OccurredAt, Op: filter.Lt, Values: []filter.Value{{Type: filter.Time, Time: day(r.IntN(20))}}},
	}[r.IntN(7)]
}

func day(n int) time.Time { return time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC) }

func drawnRow(r *rand.Rand, n int, from int64) Row {
	name := func() string { return string(rune('a' + r.IntN(3))) }
	row := Row{Note: noteID(n), From: from, Content: "kiln", Record: filter.Record{Kind: name(), Category: name(), State: name(), OccurredAt: day(r.IntN(20))}}
	if r.IntN(2) == 0 {
		row.Record.Attributes = map[string]any{"of": name()}
	}
	return row
}

// selected returns the notes of a selection.
func selected(v *View, s *Selection) (out []ID) {
	for note := range v.Each(s) {
		out = append(out, note)
	}
	slices.SortFunc(out, func(a, b ID) int { return slices.Compare(a[:], b[:]) })
	return out
}

// newest returns what View.Newest does, by sorting all.
func newest(v *View, e filter.Expr, n int) (out []ID) {
	var all []filter.Record
	for _, rec := range v.Each(v.Select(e)) {
		all = append(all, *rec)
	}
	slices.SortFunc(all, func(a, b filter.Record) int {
		return cmp.Or(b.OccurredAt.Compare(a.OccurredAt), slices.Compare(b.ID[:], a.ID[:]))
	})
	for i := range all[:min(n, len(all))] {
		out = append(out, all[i].ID)
	}
	return out
}

// A selection is the versions that the filter matches, in forks and at every revision, though what earlier ones have found is
// used again.
func TestSelectIsMatch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	base := newTestLayer(t, 0)
	fork := must.Get(NewLayer(Config{Start: 40}))(t)
	for at := int64(1); at <= 60; at++ {
		l, bounds := base, []Bound{{base, at}}
		if at > 40 {
			l, bounds = fork, []Bound{{fork, at}, {base, 40}}
		}
		mustApply(t, l, at, drawnRow(r, r.IntN(30)+1, at))
		if at%20 == 0 {
			base.Compact(min(at, 40), at)
		}
		v := must.Get(Open(bounds))(t)
		for range 40 {
			e := drawnFilter(r, 2)
			want := selected(v, v.SelectFunc(func(_ ID, _ int64, rec *filter.Record) bool { return e.Match(rec) }))
			if got := selected(v, v.Select(e)); !slices.Equal(got, want) {
				t.Fatalf("at %d, %#v: %v, want %v", at, e, got, want)
			}
			n := r.IntN(8)
			if got, want := v.Newest(v.Select(e), n), newest(v, e, n); !slices.Equal(got, want) {
				t.Fatalf("at %d, the newest %d of %#v: %v, want %v", at, n, e, got, want)
			}
			kept := func(rec *filter.Record) bool { return rec.Kind != "a" }
			among := drawnFilter(r, 1)
			want = selected(v, v.SelectFunc(func(_ ID, _ int64, rec *filter.Record) bool { return e.Match(rec) && (!among.Match(rec) || kept(rec)) }))
			if got := selected(v, v.Narrow(v.Select(e), among, kept)); !slices.Equal(got, want) {
				t.Fatalf("at %d, %#v narrowed: %v, want %v", at, e, got, want)
			}
		}
	}
}

// The newest of many rows are those of all, though words of them are passed over, also by a view of before.
func TestNewestOfMany(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	l := newTestLayer(t, 0)
	for at := int64(1); at <= 500; at++ {
		row := drawnRow(r, int(at), at)
		row.Record.OccurredAt = day(r.IntN(200))
		mustApply(t, l, at, row)
	}
	for range 100 {
		v := must.Get(Open([]Bound{{l, 1 + r.Int64N(500)}}))(t)
		e, n := drawnFilter(r, 1), r.IntN(20)
		if got, want := v.Newest(v.Select(e), n), newest(v, e, n); !slices.Equal(got, want) {
			t.Fatalf("the newest %d of %#v: %v, want %v", n, e, got, want)
		}
	}
}

// Rows behind the bound of a layer have no number in a view: their words are not those of the next layer's rows.
func TestRowsBehindTheBound(t *testing.T) {
	t.Parallel()
	far, near := newTestLayer(t, 0), must.Get(NewLayer(Config{Start: 2}))(t)
	row := func(n int, from int64, content, session string) Row {
		return Row{Note: noteID(n), From: from, Content: content, Record: filter.Record{Kind: content, Attributes: map[string]any{"session": session}}}
	}
	mustApply(t, far, 1, row(1, 1, "ramen", "t"))
	mustApply(t, far, 2, row(2, 2, "clay", "s"))
	mustApply(t, near, 3, row(3, 3, "kiln", "s"))
	mustApply(t, far, 3, row(4, 3, "ramen", "t"))
	mustApply(t, far, 4, row(5, 4, "ramen", "t"))
	v := must.Get(Open([]Bound{{near, 3}, {far, 2}}))(t)
	q := must.Get(v.Query("ramen"))(t)
	if found := q.Signals(v.Select(&filter.Leaf{Field: filter.Kind, Op: filter.Eq, Values: []filter.Value{{Type: filter.Text, Text: "kiln"}}}), 10); len(found) > 0 {
		t.Errorf("found by words behind the bound: %+v", found)
	}
}

// A condition that comes again compares only records that are new, however many there are.
func TestSelectComparesOnce(t *testing.T) {
	t.Parallel()
	l := newTestLayer(t, 0)
	r := rand.New(rand.NewPCG(5, 5))
	e := filter.And{
		filter.Not{Term: filter.TextIs(filter.Category, "b")}, filter.TextIs(filter.Kind, "a", "b"), filter.AttributeIs("of", "a"),
		&filter.Leaf{Field: filter.Attributes, Path: []string{"gone"}, Op: filter.Exists, Want: true},
	}
	compare := func(at int64, sel func(*View) *Selection) int {
		v := must.Get(Open([]Bound{{l, at}}))(t)
		return sel(v).Compared
	}
	policy := func(v *View) *Selection { return v.Select(e) }
	for at := int64(1); at <= 1000; at++ {
		mustApply(t, l, at, drawnRow(r, int(at), at))
		if n := compare(at, policy); at > 2 && n > len(e) {
			t.Fatalf("at %d: %d records were compared", at, n)
		}
		if at%100 == 0 { // a caller's own conditions do not displace those of a policy
			for i := range 2 * maxConditions {
				compare(at, func(v *View) *Selection { return v.Select(filter.AttributeIs("of", fmt.Sprint(at, i))) })
				compare(at, policy)
			}
		}
	}
}
