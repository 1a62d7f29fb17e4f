package index

import (
	"bytes"
	"runtime"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Signals are the measures of one note and a query. A signal that does not apply is 0.
type Signals struct {
	Note ID

	Words   float64   // BM25 of the best passage
	Covered float64   // the share of the query's words that the best passage has, by their weights, 0..1
	Passage text.Span // the best passage
	Window  float64   // BM25 of the note and of two on either side of it in its session
	Session float64   // BM25 of the whole session

	InSession int32 // number of its session in the view, from 1; 0 without one

	Dense  bool    // note and query have vectors, so Vector is valid
	Vector float64 // cosine

	Length  int // in terms
	Role    Role
	Asks    bool  // it ends with a question mark
	Replies bool  // the note before it in its session has a question mark
	Opens   bool  // it is the first of a session of several
	Names   int   // capitalized words inside its sentences, at most 3
	Digest  int64 // as Row.Digest

	row   uint32
	entry *entry
}

// Record returns what filters read of the note. It must not be changed.
func (s *Signals) Record() filter.Record { return s.entry.record() }

// OccurredAt returns when the note occurred.
func (s *Signals) OccurredAt() time.Time { return s.entry.at() }

// Importance returns the importance of the note.
func (s *Signals) Importance() float64 { return s.entry.importance }

// Attributes returns the attributes of the note. They must not be changed.
func (s *Signals) Attributes() map[string]any { return s.entry.attributes() }

// Signals returns the candidates of a query: the union of the depth best of the selected notes by
// Words, Window and Vector, each with all signals, in order of note id.
//
// Windows and sessions cover visible notes, selected or not, of all layers. A note without a
// session is a session by itself; when all are, the view has neither windows nor sessions. Words of
// a window or session count each time that they occur (a note's date counts once) and have the
// weight that they have for passages. The length of a window is relative to five average notes,
// the most that a window has, that of a session to the mean session. The result does not depend on how
// the notes are spread over layers, to the bit.
func (q *Query) Signals(sel *Selection, depth int) []Signals { return q.AppendSignals(nil, sel, depth) }

// AppendSignals is [Query.Signals] that appends to an empty list.
func (q *Query) AppendSignals(out []Signals, sel *Selection, depth int) []Signals {
	v := q.view
	if v.notes == 0 || depth <= 0 {
		return out
	}
	defer runtime.KeepAlive(q) // vectors and postings may be a part of a snapshot, which the query keeps
	c := v.sessionChain()
	w := acquireWorkspace(v)
	w.growWindows(v.rows, len(v.stack.sessions.tallies))

	rows := make([]uint32, 0, min(3*depth, v.rows)) // words, windows, vectors
	add := func(best *top) {
		for _, r := range best.heap {
			rows = append(rows, r.row)
		}
	}
	// Vectors are scanned while words are counted.
	var vectors *scan
	if len(q.vectors) > 0 {
		vectors = q.startScan(sel, depth)
	}
	if len(q.words) > 0 {
		add(q.lexical(w, sel, depth))
		add(q.windows(w, c, sel, depth))
	}
	if vectors != nil {
		add(vectors.finish(func(g uint32) float64 { return q.exactCosine(w, c, g) }))
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	slices.SortFunc(rows, func(a, b uint32) int {
		x, y := &v.entry(a).note, &v.entry(b).note
		return bytes.Compare(x[:], y[:])
	})
	out = slices.Grow(out, len(rows))[:len(rows)]
	for n, g := range rows {
		out[n] = q.signals(w, c, g)
	}
	q.addContext(w, c, out)
	w.release()
	return out
}

// signals returns the signals of a row except those of its window and session.
func (q *Query) signals(w *workspace, c *chain, g uint32) Signals {
	v := q.view
	i, row := v.locate(g)
	e := &v.layers[i].rows[row]
	s := Signals{
		Note: e.note, row: g,
		Length: int(e.length), Role: e.role, entry: e, Digest: e.digest,
	}
	s.Asks, s.Names = e.marks&endsWithQuestion != 0, int(e.marks&nameMask)
	if n := c.session[g]; n != none {
		s.InSession = n + 1
	}
	if p := c.prev[g]; p != none {
		s.Replies = v.entry(uint32(p)).marks&hasQuestion != 0 //nolint:gosec // not none
	} else {
		s.Opens = c.next[g] != none
	}
	s.Words, s.Covered, s.Passage = q.bestPassage(i, row)
	if len(q.vectors) > 0 && c.slot[g] != none {
		s.Dense, s.Vector = true, q.exactCosine(w, c, g)
	}
	return s
}

// exactCosine returns the cosine of the query and a note that has a vector.
func (q *Query) exactCosine(w *workspace, c *chain, g uint32) float64 {
	if known := w.exact[g]; known != 0 {
		return known
	}
	v, _ := q.view.vector(c, int32(g)) //nolint:gosec // rows fit
	i, _ := q.view.locate(g)
	w.exact[g] = q.vector(i).cosine(&v)
	w.looked = append(w.looked, g)
	return w.exact[g]
}

// HasSessions reports whether some notes of the view share a session.
func (v *View) HasSessions() bool { return v.stack.sessions.notes < v.notes }

// window returns the rows within two of g in its session: g first, then those before it, then those
// after it. lead counts g and those before it, n all of them.
func (c *chain) window(g uint32) (rows [5]uint32, lead, n int) {
	rows[0], lead = g, 1
	for p := c.prev[g]; p != none && lead < 3; p = c.prev[p] {
		rows[lead] = uint32(p) //nolint:gosec // not none
		lead++
	}
	n = lead
	for p := c.next[g]; p != none && n < lead+2; p = c.next[p] {
		rows[n] = uint32(p) //nolint:gosec // not none
		n++
	}
	return rows, lead, n
}

// sum returns the sum of some elements of an array.
func sum(of []uint32, rows []uint32) (n uint32) {
	for _, g := range rows {
		n += of[g]
	}
	return n
}

// countWord adds to w.count how often a word occurs in each row of a layer that is in the set, and
// adds these rows to w.touched. A member of the set is the row's number within the layer plus
// shift.
func (q *Query) countWord(w *workspace, layer int, word *word, of bitset, shift uint32) {
	l := &q.view.layers[layer]
	for _, p := range word.postings[layer] {
		row := l.passages[p.passage].row
		if int(row) >= len(l.rows) || !of.has(shift+row) || p.own == 0 { // rows behind the bound have numbers of the next layer
			continue
		}
		g := l.base + row
		if w.count[g] == 0 {
			w.touched = append(w.touched, g)
		}
		w.count[g] += uint32(p.own)
	}
}

// windows returns the k best of the selected notes by the words of their windows. Words are
// processed heaviest first. Once the remaining words cannot lift a note without a score into the
// best k, only notes that can still get there are updated; of few selected notes, no other ones from the start.
func (q *Query) windows(w *workspace, c *chain, sel *Selection, k int) *top {
	v := q.view
	if !v.HasSessions() {
		return newTop(v, 0)
	}
	average := 5 * float64(v.length) / float64(v.notes)
	decided := q.isFew(sel)
	if decided {
		for i := range v.layers {
			for row := range sel.rows[i].all {
				w.windowed = append(w.windowed, v.layers[i].base+row)
			}
		}
	}
	for j := range q.words {
		word, left := &q.words[j], q.maxGain(j)
		if j > 0 && word.count > fewPostings {
			if bar := w.bestByWindow(v, sel, newTop(nil, k)).threshold(); bar > left {
				decided = true
				w.windowed = slices.DeleteFunc(w.windowed, func(g uint32) bool {
					if w.window[g]+left >= bar {
						return false
					}
					w.window[g] = 0
					return true
				})
			}
		}
		if decided {
			q.addWordToScored(w, c, word, average)
		} else {
			q.addWordToAll(w, c, word, average)
		}
		for _, g := range w.touched {
			w.count[g] = 0
		}
		w.touched = w.touched[:0]
	}
	return w.bestByWindow(v, sel, newTop(v, k))
}

// isFew reports whether to look for each word in the windows of the selected notes takes less than to pass on what its postings
// add to windows.
func (q *Query) isFew(sel *Selection) bool {
	if sel == nil {
		return false
	}
	rows, postings := 0, 0
	for _, of := range sel.rows {
		rows += of.count()
	}
	for j := range q.words {
		postings += q.words[j].count
	}
	return 2*rows*len(q.words) <= postings
}

// addWordToAll adds a word to the score of every note whose window has it.
func (q *Query) addWordToAll(w *workspace, c *chain, word *word, average float64) {
	for i := range q.view.layers {
		q.countWord(w, i, word, q.view.layers[i].visible, 0)
	}
	reached := w.reached[:0]
	for _, g := range w.touched {
		count := w.count[g]
		near, _, n := c.window(g)
		for _, o := range near[:n] {
			if w.wide[o] == 0 {
				reached = append(reached, o)
			}
			w.wide[o] += count
		}
	}
	for _, g := range reached {
		had := w.window[g]
		if had == 0 {
			w.windowed = append(w.windowed, g)
		}
		w.window[g] = had + word.weight*saturate(float64(w.wide[g]), float64(c.windowLength[g])/average)
		w.wide[g] = 0
	}
	w.reached = reached
}

// addWordToScored adds a word to the score of the notes that already have a score.
func (q *Query) addWordToScored(w *workspace, c *chain, word *word, average float64) {
	for _, g := range w.windowed {
		near, _, n := c.window(g)
		for _, o := range near[:n] {
			w.mask.set(o)
		}
	}
	for i := range q.view.layers {
		q.countWord(w, i, word, w.mask, q.view.layers[i].base)
	}
	for _, g := range w.windowed {
		near, _, n := c.window(g)
		if count := sum(w.count, near[:n]); count > 0 {
			w.window[g] += word.weight * saturate(float64(count), float64(c.windowLength[g])/average)
		}
		for _, o := range near[:n] {
			w.mask.clear(o)
		}
	}
}

// bestByWindow adds the best of the selected notes by window to best.
func (w *workspace) bestByWindow(v *View, sel *Selection, best *top) *top {
	for _, g := range w.windowed {
		if score := w.window[g]; score > 0 && !best.rejects(score) {
			if i, row := v.locate(g); sel.rowsOf(i, &v.layers[i]).has(row) {
				best.push(g, score)
			}
		}
	}
	return best
}

// addContext sets the signals of windows and sessions of the candidates.
func (q *Query) addContext(w *workspace, c *chain, out []Signals) {
	v := q.view
	if !v.HasSessions() {
		return
	}
	people := v.stack.sessions
	average := 5 * float64(v.length) / float64(v.notes)
	_, mean := v.Sessions()
	type place struct {
		near    [5]uint32
		n       int
		window  float64 // length, in average windows
		session int32
		whole   float64 // length of the session, in average sessions
	}
	at := make([]place, len(out))
	for n := range out {
		p := &at[n]
		p.near, _, p.n = c.window(out[n].row)
		p.window = float64(c.windowLength[out[n].row]) / average
		p.session = c.session[out[n].row]
		p.whole = float64(out[n].Length) / mean
		if p.session != none {
			p.whole = float64(people.tallies[p.session].total) / mean
			w.asked[p.session] = true
		} else {
			w.mask.set(out[n].row)
		}
	}
	for j := range q.words {
		word := &q.words[j]
		for i := range v.layers {
			q.countWordInSessions(w, c, i, word)
		}
		for n := range out {
			s, p := &out[n], &at[n]
			if count := sum(w.count, p.near[:p.n]); count > 0 {
				s.Window += word.weight * saturate(float64(count), p.window)
			}
			whole := w.count[s.row]
			if p.session != none {
				whole = w.session[p.session]
			}
			if whole > 0 {
				s.Session += word.weight * saturate(float64(whole), p.whole)
			}
		}
		for _, g := range w.touched {
			w.count[g] = 0
			if s := c.session[g]; s != none {
				w.session[s] = 0
			}
		}
		w.touched = w.touched[:0]
	}
	for n := range out {
		if s := at[n].session; s != none {
			w.asked[s] = false
		} else {
			w.mask.clear(out[n].row)
		}
	}
}

// countWordInSessions adds to w.count and w.session how often a word occurs in the rows and
// sessions that are asked for, and adds the rows to w.touched.
func (q *Query) countWordInSessions(w *workspace, c *chain, layer int, word *word) {
	l := &q.view.layers[layer]
	for _, p := range word.postings[layer] {
		row := l.passages[p.passage].row
		if int(row) >= len(l.rows) || p.own == 0 {
			continue
		}
		g := l.base + row
		s := c.session[g]
		if s == none {
			if !w.mask.has(g) {
				continue
			}
		} else {
			if !w.asked[s] {
				continue
			}
			w.session[s] += uint32(p.own)
		}
		if w.count[g] == 0 {
			w.touched = append(w.touched, g)
		}
		w.count[g] += uint32(p.own)
	}
}
