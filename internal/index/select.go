package index

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/slipboxhq/slipbox/internal/filter"
)

// Bounds of the conditions whose rows a layer keeps.
const (
	maxConditions      = 32
	maxConditionValues = 8 // of a list; a longer one is a caller's own
)

// conditions keeps which rows of a layer match the conditions that many searches have, such as those on kinds that
// a policy sets. The record of a row never changes, so only rows that came later are looked at.
type conditions struct {
	mu    sync.Mutex
	of    map[string]*condition
	clock uint64
}

// condition is a leaf of filters. Its rows are kept from its second use on.
type condition struct {
	rows bitset // of the first n, replaced rather than changed
	n    int
	used uint64
}

// conditionKey identifies a leaf that may be kept; ok is false for others, such as those on times.
func conditionKey(l *filter.Leaf) (key string, ok bool) {
	switch l.Field { // the others have too many values, or are compared with texts of their own
	case filter.Kind, filter.Category, filter.State, filter.Attributes:
	default:
		return "", false
	}
	if l.Op != filter.Eq && l.Op != filter.In && l.Op != filter.Exists || len(l.Values) > maxConditionValues {
		return "", false
	}
	b := fmt.Appendf(nil, "%s %s %t", l.Field, l.Op, l.Want)
	for _, p := range l.Path {
		b = fmt.Appendf(b, " %q", p)
	}
	for _, v := range l.Values {
		switch v.Type {
		case filter.Text:
			b = fmt.Appendf(b, " =%q", v.Text)
		case filter.Bool:
			b = fmt.Appendf(b, " =%t", v.Bool)
		default:
			return "", false
		}
	}
	return string(b), true
}

// matching returns the rows of a condition among the given ones, and how many records were compared for it; ok is false
// when they are not kept.
func (c *conditions) matching(leaf *filter.Leaf, rows []entry) (all bitset, compared int, ok bool) {
	key, ok := conditionKey(leaf)
	if !ok {
		return nil, 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]*condition{}
	}
	c.clock++
	k, known := c.of[key]
	if !known {
		if len(c.of) >= maxConditions {
			forgetOldest(c.of, func(k *condition) uint64 { return k.used })
		}
		c.of[key] = &condition{used: c.clock}
		return nil, 0, false
	}
	k.used = c.clock
	if compared = len(rows) - k.n; compared <= 0 {
		return k.rows, 0, true
	}
	more := newBitset(len(rows))
	copy(more, k.rows)
	for row := k.n; row < len(rows); row++ {
		if r := rows[row].record(); !rows[row].tombstone && leaf.Match(&r) {
			more.set(uint32(row)) //nolint:gosec // row numbers fit 32 bits
		}
	}
	k.rows, k.n = more, len(rows)
	return k.rows, compared, true
}

// Selection is the part of a view that matches a filter.
type Selection struct {
	rows []bitset
	// Compared is how many records were looked at to find it. Conditions that many searches have are looked up.
	Compared int
}

// Select evaluates a filter over the visible rows of the view, once for all queries that use it. A
// nil filter returns the nil Selection, which selects all.
func (v *View) Select(e filter.Expr) *Selection {
	if e == nil {
		return nil
	}
	s := &Selection{rows: make([]bitset, len(v.layers))}
	for i := range v.layers {
		s.rows[i] = s.matching(&v.layers[i], e, rowSet{bitset: v.layers[i].visible}).bitset
	}
	return s
}

// rowSet is a set of rows. One that is not own belongs to others, and is not changed.
type rowSet struct {
	bitset
	own bool
}

// ours returns the same set as one that may be changed.
func (r rowSet) ours() rowSet {
	if r.own {
		return r
	}
	return rowSet{slices.Clone(r.bitset), true}
}

// matching returns those of some rows of a layer that match a filter. The given set is of no use afterwards if it is own.
func (s *Selection) matching(l *layerView, e filter.Expr, of rowSet) rowSet {
	switch e := e.(type) {
	case filter.And:
		for _, term := range e {
			if term != nil {
				of = s.matching(l, term, of)
			}
		}
		return of
	case filter.Or:
		out, rest := rowSet{newBitset(64 * len(of.bitset)), true}, of.ours()
		for _, term := range e {
			found := s.matching(l, term, rowSet{bitset: rest.bitset})
			out.or(found.bitset)
			rest.without(found.bitset)
		}
		return out
	case filter.Not:
		found := s.matching(l, e.Term, rowSet{bitset: of.bitset})
		if !of.own && found.own {
			found.leaving(of.bitset)
			return found
		}
		of = of.ours()
		of.without(found.bitset)
		return of
	case *filter.Leaf:
		if all, compared, ok := l.data.conditions.matching(e, l.rows); ok {
			s.Compared += compared
			of = of.ours()
			of.and(all)
			return of
		}
	}
	return rowSet{s.comparing(l, of.bitset, e.Match), true}
}

// comparing returns those of some rows of a layer for whose records keep returns true.
func (s *Selection) comparing(l *layerView, of bitset, keep func(*filter.Record) bool) bitset {
	out := newBitset(64 * len(of))
	var r filter.Record // one for all rows
	for row := range of.all {
		s.Compared++
		if r = l.rows[row].record(); keep(&r) {
			out.set(row)
		}
	}
	return out
}

// Narrow returns the part of a selection whose records keep returns true for, among those that a filter matches; records that
// it does not match stay.
func (v *View) Narrow(sel *Selection, among filter.Expr, keep func(*filter.Record) bool) *Selection {
	out := &Selection{rows: make([]bitset, len(v.layers))}
	for i := range v.layers {
		l := &v.layers[i]
		all := rowSet{bitset: sel.rowsOf(i, l)}
		if asked := out.matching(l, among, all); !asked.isEmpty() {
			asked = asked.ours()
			asked.without(out.comparing(l, asked.bitset, keep))
			all = all.ours()
			all.without(asked.bitset)
		}
		out.rows[i] = all.bitset
	}
	if sel != nil {
		out.Compared += sel.Compared
	}
	return out
}

// SelectNotes selects the visible versions of some notes for whose records keep returns true. A record is valid until keep returns.
func (v *View) SelectNotes(notes []ID, keep func(*filter.Record) bool) *Selection {
	s := &Selection{rows: make([]bitset, len(v.layers)), Compared: len(notes)}
	for i := range v.layers {
		s.rows[i] = newBitset(len(v.layers[i].visible) * 64)
	}
	var r filter.Record
	for _, note := range notes {
		if i, row, ok := v.locateNote(note); ok {
			if r = v.layers[i].rows[row].record(); keep(&r) {
				s.rows[i].set(row)
			}
		}
	}
	return s
}

// Each returns the versions of a selection. A record is valid until the next one.
func (v *View) Each(sel *Selection) iter.Seq2[ID, *filter.Record] {
	return func(yield func(note ID, r *filter.Record) bool) {
		var r filter.Record
		for i := range v.layers {
			l := &v.layers[i]
			for row := range sel.rowsOf(i, l).all {
				if r = l.rows[row].record(); !yield(r.ID, &r) {
					return
				}
			}
		}
	}
}

// IsEmpty reports whether a selection has no version.
func (s *Selection) IsEmpty() bool {
	return !slices.ContainsFunc(s.rows, func(rows bitset) bool { return !rows.isEmpty() })
}

// latest has when the last note of each 64 rows occurred, those of one word of a bitset.
type latest struct {
	mu sync.Mutex
	at []int64 // as entry.occurredAt; grows with the rows, which never change
}

// of returns the times of the words that the rows fill.
func (l *latest) of(rows []entry) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for from := 64 * len(l.at); from+64 <= len(rows); from += 64 {
		last := int64(math.MinInt64)
		for i := range rows[from : from+64] {
			last = max(last, rows[from+i].occurredAt)
		}
		l.at = append(l.at, last)
	}
	return l.at[:min(len(l.at), len(rows)/64)]
}

// Newest returns up to n of the notes of a selection, those that occurred last first; of those of one time the last by id first.
func (v *View) Newest(sel *Selection, n int) []ID {
	newest := make([]*entry, 0, n+1)
	for i := range v.layers {
		l := &v.layers[i]
		latest := l.data.latest.of(l.rows)
		for w, rows := range slices.Backward(sel.rowsOf(i, l)) {
			if len(newest) == n && w < len(latest) && (n == 0 || latest[w] < newest[n-1].occurredAt) {
				continue
			}
			for ; rows != 0; rows &= rows - 1 {
				e := &l.rows[w<<6+bits.TrailingZeros64(rows)]
				if len(newest) == n && (n == 0 || e.compareTime(newest[n-1]) <= 0) {
					continue
				}
				at, _ := slices.BinarySearchFunc(newest, e, func(a, b *entry) int { return b.compareTime(a) })
				newest = slices.Insert(newest, at, e)
				newest = newest[:min(len(newest), n)]
			}
		}
	}
	out := make([]ID, len(newest))
	for i, e := range newest {
		out[i] = e.note
	}
	return out
}

// rowsOf returns the selected rows of a layer, a subset of the visible ones.
func (s *Selection) rowsOf(i int, l *layerView) bitset {
	if s == nil {
		return l.visible
	}
	return s.rows[i]
}
