package index

import (
	"math"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The constants of BM25.
const (
	k1 = 1.2
	b  = 0.75
)

// Query is a query worked out over one view: its words as weighted postings,
// its vector rounded. It serves any number of calls.
type Query struct {
	view   *View
	words  []word
	vector []float32
}

// word is one distinct word of a query.
type word struct {
	weight   float64 // idf, times how often the query has the word
	postings [][]posting
}

// Query prepares words and vector, of which either may be absent. A vector
// that is refused (wrong dimensions, NaN, infinite, all zeros) is a fault on
// field "vector".
func (v *View) Query(words string, vector []float32) (*Query, error) {
	q := &Query{view: v}
	if vector != nil {
		u, err := unit(vector)
		if err != nil {
			return nil, err
		}
		if len(u) != v.dimensions {
			return nil, wrongDimensions(len(u), v.dimensions)
		}
		q.vector = u
	}
	if v.notes == 0 || words == "" {
		return q, nil
	}
	place := map[string]int{}
	var forms [][]string
	var times []float64
	for _, f := range text.Forms(words, v.langs) {
		key := strings.Join(f.Terms, "\x00")
		i, seen := place[key]
		if !seen {
			i = len(forms)
			place[key] = i
			forms, times = append(forms, f.Terms), append(times, 0)
		}
		times[i]++
	}
	for i, f := range forms {
		w := word{postings: make([][]posting, len(v.layers))}
		df := 0
		for j := range v.layers {
			l := &v.layers[j]
			w.postings[j] = l.postings(f)
			for _, p := range w.postings[j] {
				if l.visible.has(p.row) {
					df++
				}
			}
		}
		if df == 0 {
			continue
		}
		n := float64(df)
		w.weight = times[i] * math.Log(1+(float64(v.notes)-n+0.5)/(n+0.5))
		q.words = append(q.words, w)
	}
	return q, nil
}

// postings gives the rows that hold one of the forms of a word, in order of
// row, with tf summed over the forms.
func (l *layerView) postings(forms []string) []posting {
	l.data.mu.RLock()
	lists := make([][]posting, 0, len(forms))
	for _, f := range forms {
		if list := l.data.terms[f]; list != nil {
			lists = append(lists, *list)
		}
	}
	l.data.mu.RUnlock()
	switch len(lists) {
	case 0:
		return nil
	case 1:
		return lists[0]
	}
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b posting) int { return int(a.row) - int(b.row) })
	out := all[:1]
	for _, p := range all[1:] {
		if last := &out[len(out)-1]; last.row == p.row {
			last.tf += p.tf
		} else {
			out = append(out, p)
		}
	}
	return out
}

// bm25 is what one word adds to a row's score.
func (q *Query) bm25(w *word, tf, length uint32) float64 {
	f := float64(tf)
	return w.weight * f * (k1 + 1) / (f + k1*(1-b+b*float64(length)/q.view.average))
}

// Lexical gives the k best notes by words, best first. Notes without a word
// of the query are never among them.
func (q *Query) Lexical(sel *Selection, k int) []Hit {
	best := newTop(k)
	for i := range q.view.layers {
		q.lexicalLayer(i, sel, best)
	}
	return best.sorted()
}

func (q *Query) lexicalLayer(i int, sel *Selection, best *top) {
	l := &q.view.layers[i]
	pass := sel.of(i, l)
	scores := l.layer.scratch(len(l.visible) * 64)
	defer l.layer.pool.Put(scores)
	var touched []uint32
	for j := range q.words {
		w := &q.words[j]
		for _, p := range w.postings[i] {
			if !pass.has(p.row) {
				continue
			}
			if (*scores)[p.row] == 0 {
				touched = append(touched, p.row)
			}
			(*scores)[p.row] += q.bm25(w, p.tf, l.rows[p.row].length)
		}
	}
	for _, row := range touched {
		e := &l.rows[row]
		best.push(Hit{Note: e.note, From: e.from, Layer: i, Score: (*scores)[row]})
		(*scores)[row] = 0 // the array goes back as it came
	}
}

// scratch gives an array of n zeros that is returned to the pool zeroed.
func (l *Layer) scratch(n int) *[]float64 {
	if s, ok := l.pool.Get().(*[]float64); ok && len(*s) >= n {
		return s
	}
	s := make([]float64, n)
	return &s
}

// Vector gives the k notes nearest to the query's vector, best first; none
// without one. Notes whose vector is pending are not among them.
func (q *Query) Vector(sel *Selection, k int) []Hit {
	best := newTop(k)
	if q.vector == nil {
		return nil
	}
	for i := range q.view.layers {
		l := &q.view.layers[i]
		pass := sel.of(i, l)
		for slot, row := range l.slots {
			if !pass.has(row) {
				continue
			}
			score := cosine(dot(q.vector, vectorAt(l.blocks, slot, q.view.dimensions)))
			if best.full() && score < best.worst() {
				continue
			}
			e := &l.rows[row]
			best.push(Hit{Note: e.note, From: e.from, Layer: i, Score: score})
		}
	}
	return best.sorted()
}

// Score is how a note stands to a query.
type Score struct {
	Note    ID
	From    int64
	Layer   int
	Lexical float64 // 0: no word of the query, or no words asked
	Vector  float64 // cosine
	Dense   bool    // whether Vector was computed: both sides have one
}

// Scores gives the scores of the given notes, in the given order; notes that
// the view does not see are left out. It scores linked notes by the same
// measure as hits.
func (q *Query) Scores(notes []ID) []Score {
	out := make([]Score, 0, len(notes))
	for _, note := range notes {
		i, row, ok := q.view.find(note)
		if !ok {
			continue
		}
		l := &q.view.layers[i]
		s := Score{Note: note, From: l.rows[row].from, Layer: i}
		for j := range q.words {
			w := &q.words[j]
			list := w.postings[i]
			at, found := slices.BinarySearchFunc(list, row, func(p posting, row uint32) int { return int(p.row) - int(row) })
			if found {
				s.Lexical += q.bm25(w, list[at].tf, l.rows[row].length)
			}
		}
		if slot := l.slot(row); slot != none && q.vector != nil {
			s.Vector = cosine(dot(q.vector, vectorAt(l.blocks, slot, q.view.dimensions)))
			s.Dense = true
		}
		out = append(out, s)
	}
	return out
}

// slot gives the vector slot of a row as the view sees it, or none.
func (l *layerView) slot(row uint32) int {
	l.data.mu.RLock()
	slot := int(l.data.slotOf[row])
	l.data.mu.RUnlock()
	if slot >= len(l.slots) {
		return none // came after the view was opened
	}
	return slot
}

// Record gives the filterable fields and the version of a visible note.
func (v *View) Record(note ID) (hit Hit, record *filter.Record, ok bool) {
	i, row, ok := v.find(note)
	if !ok {
		return Hit{}, nil, false
	}
	e := &v.layers[i].rows[row]
	return Hit{Note: note, From: e.from, Layer: i}, e.record, true
}
