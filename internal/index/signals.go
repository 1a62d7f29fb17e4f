package index

import (
	"bytes"
	"slices"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Signals is what the index knows of a note and a query. A signal that does
// not apply is 0.
type Signals struct {
	Note  ID
	From  int64 // of the version that is visible
	Layer int   // its place in the view's layers, 0 the nearest

	Words   float64   // BM25 of the best passage
	Passage text.Span // that Words is of
	Window1 float64   // BM25 of the note and those beside it in its session
	Window2 float64   // the same of the two on either side
	Session float64   // BM25 of the whole session

	Dense  bool    // the note and the query have vectors: Vector and Around hold
	Vector float64 // cosine
	Around float64 // cosine with the sum of the unit vectors of the note and those beside it

	Length int // in terms
	Role   Role
	Record *filter.Record // not to be changed
	Prev   *filter.Record // of the note just before it in its session; nil for none

	row uint32
}

// Signals gives the candidates of a query: the union of the depth best of the
// selected notes by Words, Window2, Vector and Around, each with all signals,
// in order of note id.
//
// Windows and sessions reach over the visible notes, selected or not, and over
// all layers; a note without a session is one by itself. Their words count
// once for each time that they stand in a note (its date counts once), weigh
// what they weigh over passages, and the length of a window is measured by as
// many average notes as it may have, that of a session by the mean session.
// What falls out does not depend on how the notes lie in layers, to the bit.
func (q *Query) Signals(sel *Selection, depth int) []Signals {
	v := q.view
	if v.notes == 0 || depth <= 0 {
		return nil
	}
	c := v.chained()
	w := borrow(v)
	defer w.back()
	w.windows(v.rows, len(v.stack.people.tallies))

	var rows []uint32
	add := func(list []ranked) {
		for _, r := range list {
			rows = append(rows, r.row)
		}
	}
	if len(q.words) > 0 {
		add(q.lexical(w, sel, depth))
		add(q.windows(w, c, sel, depth))
	}
	if q.vector != nil {
		q.scan(w, nil)
		add(q.nearest(w, c, sel, depth, func(g uint32) float64 { return float64(w.near[g]) }, q.exact))
		add(q.nearest(w, c, sel, depth, func(g uint32) float64 { return w.around(c, g) }, q.around))
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)

	out := make([]Signals, len(rows))
	for n, g := range rows {
		out[n] = q.signals(w, c, g)
	}
	q.gather(w, c, out)
	slices.SortFunc(out, func(a, b Signals) int { return bytes.Compare(a.Note[:], b.Note[:]) })
	return out
}

// signals gives what is known of a row but for Window1 and Session.
func (q *Query) signals(w *workspace, c *chain, g uint32) Signals {
	v := q.view
	i, row := v.place(g)
	e := &v.layers[i].rows[row]
	s := Signals{
		Note: e.note, From: e.from, Layer: i, row: g,
		Length: int(e.length), Role: e.role, Record: e.record,
	}
	if p := c.prev[g]; p != none {
		s.Prev = v.entry(uint32(p)).record //nolint:gosec // not none
	}
	if len(q.words) > 0 {
		s.Window2 = w.window[g]
		if s.Words = w.words[g]; s.Words > 0 {
			s.Passage = v.passage(w.part[g])
		}
	}
	if q.vector != nil && c.slot[g] != none {
		s.Dense, s.Vector, s.Around = true, q.exact(c, g), q.around(c, g)
	}
	return s
}

// exact is the cosine of the query and a note that has a vector.
func (q *Query) exact(c *chain, g uint32) float64 {
	v, _ := q.view.vector(c, int32(g)) //nolint:gosec // rows fit
	return cosine(&q.vector.vector, &v)
}

// around is [Signals.Around] of a note that has a vector.
func (q *Query) around(c *chain, g uint32) float64 {
	sum := q.exact(c, g)
	for _, o := range []int32{c.prev[g], c.next[g]} {
		if v, ok := q.view.vector(c, o); ok {
			sum += cosine(&q.vector.vector, &v)
		}
	}
	return min(max(sum*float64(c.spread[g]), -1), 1)
}

// around is the same out of what the scan found.
func (w *workspace) around(c *chain, g uint32) float64 {
	sum := w.near[g]
	if p := c.prev[g]; p != none && w.near[p] != absent {
		sum += w.near[p]
	}
	if n := c.next[g]; n != none && w.near[n] != absent {
		sum += w.near[n]
	}
	return float64(sum * c.spread[g])
}

// nearest gives the k best of the selected rows that have a vector, by a score
// that is looked at exactly for a shortlist by an approximate one.
func (q *Query) nearest(w *workspace, c *chain, sel *Selection, k int, approximate func(g uint32) float64, exact func(c *chain, g uint32) float64) []ranked {
	list := newTop(q.view, shortlist(k))
	for i := range q.view.layers {
		l := &q.view.layers[i]
		sel.of(i, l).each(func(row uint32) {
			if g := l.base + row; w.near[g] != absent {
				list.push(g, approximate(g))
			}
		})
	}
	best := newTop(q.view, k)
	for _, r := range list.heap {
		best.push(r.row, exact(c, r.row))
	}
	return best.heap
}

// window calls yield with the rows within two of g in its session, g among
// them, and whether they are within one.
func (c *chain) window(g uint32, yield func(g uint32, near bool)) {
	yield(g, true)
	if p := c.prev[g]; p != none {
		yield(uint32(p), true) //nolint:gosec // not none
		if p = c.prev[p]; p != none {
			yield(uint32(p), false) //nolint:gosec // not none
		}
	}
	if n := c.next[g]; n != none {
		yield(uint32(n), true) //nolint:gosec // not none
		if n = c.next[n]; n != none {
			yield(uint32(n), false) //nolint:gosec // not none
		}
	}
}

// tally leaves in w.count how often a word stands in each visible row of a
// layer, and gives the rows.
func (q *Query) tally(w *workspace, layer int, word *word, rows []uint32) []uint32 {
	l := &q.view.layers[layer]
	for _, p := range word.postings[layer] {
		row := l.passages[p.passage].row
		if !l.visible.has(row) || p.own == 0 {
			continue
		}
		g := l.base + row
		if w.count[g] == 0 {
			rows = append(rows, g)
		}
		w.count[g] += uint32(p.own)
	}
	return rows
}

// windows scores the window of two around every visible note, leaves that in
// w, and gives the k best of the selected notes.
func (q *Query) windows(w *workspace, c *chain, sel *Selection, k int) []ranked {
	v := q.view
	rows, reached := w.touched[:0], []uint32(nil)
	average := 5 * float64(v.length) / float64(v.notes)
	for j := range q.words {
		word := &q.words[j]
		rows, reached = rows[:0], reached[:0]
		for i := range v.layers {
			rows = q.tally(w, i, word, rows)
		}
		for _, g := range rows {
			n := w.count[g]
			w.count[g] = 0
			c.window(g, func(o uint32, _ bool) {
				if w.wide[o] == 0 {
					reached = append(reached, o)
				}
				w.wide[o] += n
			})
		}
		for _, g := range reached {
			if w.lengths[g] == 0 {
				length := uint32(0)
				c.window(g, func(o uint32, _ bool) { length += c.length[o] })
				w.lengths[g] = float64(length) / average
				w.windowed = append(w.windowed, g)
			}
			w.window[g] += word.weight * saturate(float64(w.wide[g]), w.lengths[g])
			w.wide[g] = 0
		}
	}
	w.touched = rows
	best := newTop(v, k)
	for _, g := range w.windowed {
		if i, row := v.place(g); sel.of(i, &v.layers[i]).has(row) {
			best.push(g, w.window[g])
		}
	}
	return best.heap
}

// gather adds Window1 and Session to candidates.
func (q *Query) gather(w *workspace, c *chain, out []Signals) {
	v := q.view
	people := v.stack.people
	average := 3 * float64(v.length) / float64(v.notes)
	_, mean := v.Sessions()
	lengths := make([]float64, len(out))
	sessions := make([]int32, len(out))
	for n := range out {
		i, row := v.place(out[n].row)
		sessions[n] = people.of(i, v.layers[i].rows[row].session)
		length := uint32(0)
		c.window(out[n].row, func(o uint32, near bool) {
			if near {
				length += c.length[o]
			}
		})
		lengths[n] = float64(length) / average
	}
	rows := w.touched[:0]
	for j := range q.words {
		word := &q.words[j]
		rows = rows[:0]
		for i := range v.layers {
			from := len(rows)
			rows = q.tally(w, i, word, rows)
			for _, g := range rows[from:] {
				if s := people.of(i, v.layers[i].rows[g-v.layers[i].base].session); s != none {
					w.session[s] += w.count[g]
				}
			}
		}
		for n := range out {
			s := &out[n]
			near := uint32(0)
			c.window(s.row, func(o uint32, close bool) {
				if close {
					near += w.count[o]
				}
			})
			if near > 0 {
				s.Window1 += word.weight * saturate(float64(near), lengths[n])
			}
			whole, length := w.count[s.row], int64(s.Length)
			if sessions[n] != none {
				whole, length = w.session[sessions[n]], people.tallies[sessions[n]].total
			}
			if whole > 0 {
				s.Session += word.weight * saturate(float64(whole), float64(length)/mean)
			}
		}
		for _, g := range rows {
			w.count[g] = 0
			i, row := v.place(g)
			if s := people.of(i, v.layers[i].rows[row].session); s != none {
				w.session[s] = 0
			}
		}
	}
	w.touched = rows
}
