package index

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
)

// weakWeight is the weight of a word of a query that says little about what to look for, see
// [text.Weak].
const weakWeight = 0.3

// Query is a query prepared for one view: its words as weighted postings, heaviest first, and its
// vector rounded. It can be used any number of times and concurrently.
type Query struct {
	view    *View
	words   []word
	terms   int
	weight  float64        // of all words, also of those that no note has
	vectors []*queryVector // none, one for all layers, or one for each
	held    []*storedTerms // of the layers: postings may be in a snapshot
}

// vector returns the vector that the notes of a layer are compared with. The query has one.
func (q *Query) vector(layer int) *queryVector { return q.vectors[min(layer, len(q.vectors)-1)] }

// word is one distinct word of a query.
type word struct {
	weight   float64 // idf, times how often the query has the word
	postings [][]posting
	count    int // of postings
}

// Query prepares words and vector, either of which may be missing (nil). Layers whose vectors are of several embedders have a vector each.
// An invalid vector (wrong dimensions, NaN, infinite, all zeros) is a fault on field "vector".
func (v *View) Query(words string, vectors ...[]float32) (*Query, error) {
	q := &Query{view: v}
	for _, vector := range vectors {
		if vector == nil {
			continue
		}
		u, err := pack(vector)
		if err != nil {
			return nil, err
		}
		if len(vector) != v.dimensions {
			return nil, wrongDimensions(len(vector), v.dimensions)
		}
		q.vectors = append(q.vectors, newQueryVector(u))
	}
	if v.notes == 0 || words == "" {
		return q, nil
	}
	forms, times, terms := v.wordsOf(words)
	q.terms = terms
	for i, f := range forms {
		w, df := q.newWord(f)
		w.weight = times[i] * v.idf(df)
		q.weight += w.weight
		if df > 0 {
			q.words = append(q.words, w)
		}
	}
	q.sort()
	return q, nil
}

// wordsOf returns the distinct words of a query as the terms that they may have, how often each counts, and the number of all.
func (v *View) wordsOf(words string) (forms [][]string, times []float64, n int) {
	place := map[string]int{}
	for _, f := range text.Forms(words, v.langs) {
		n++
		key := strings.Join(f.Terms, "\x00")
		i, seen := place[key]
		if !seen {
			i = len(forms)
			place[key] = i
			forms, times = append(forms, f.Terms), append(times, 0)
		}
		if f.Weak {
			times[i] += weakWeight
		} else {
			times[i]++
		}
	}
	return forms, times, n
}

// newWord returns the postings of a word that has one of some terms, and how many of them are visible.
func (q *Query) newWord(terms []string) (w word, df int) {
	w.postings = make([][]posting, len(q.view.layers))
	for j := range q.view.layers {
		l := &q.view.layers[j]
		var held *storedTerms
		w.postings[j], held = l.postings(terms)
		q.hold(held)
		df += l.countVisible(w.postings[j])
		w.count += len(w.postings[j])
	}
	return w, df
}

func (q *Query) sort() {
	slices.SortStableFunc(q.words, func(a, b word) int { return cmp.Compare(b.weight, a.weight) })
}

// hold keeps a snapshot whose postings the query has.
func (q *Query) hold(t *storedTerms) {
	if t != nil && !slices.Contains(q.held, t) {
		q.held = append(q.held, t)
	}
}

// Terms returns the number of words of the query that are not stop words, repeats included, whether
// or not a note has them; 0 when the view is empty.
func (q *Query) Terms() int { return q.terms }

// Matches reports whether a visible note has one of these words.
func (q *Query) Matches() bool { return len(q.words) > 0 }

// idf returns the weight of a word that occurs in df visible passages.
func (v *View) idf(df int) float64 {
	n := float64(df)
	return math.Log(1 + (float64(v.passages)-n+0.5)/(n+0.5))
}

// countVisible returns the number of visible postings.
func (l *layerView) countVisible(list []posting) int {
	if l.whole {
		return len(list)
	}
	n := 0
	for _, p := range list {
		if l.visible.has(l.passages[p.passage].row) {
			n++
		}
	}
	return n
}

// postings returns the passages that hold one of the forms of a word, in order, with the counts
// summed over the forms. They are readable as long as the caller keeps held, which may be nil.
func (l *layerView) postings(forms []string) (all []posting, held *storedTerms) {
	l.data.mu.RLock()
	held = l.data.terms.stored
	lists := make([][]posting, 0, len(forms))
	for _, f := range forms {
		if list := l.data.terms.list(f); len(list) > 0 {
			lists = append(lists, list)
		}
	}
	l.data.mu.RUnlock()
	for i, list := range lists {
		// Postings added after the view was opened are at the end.
		n, _ := slices.BinarySearchFunc(list, len(l.passages), func(p posting, n int) int { return int(p.passage) - n })
		lists[i] = list[:n]
	}
	for _, list := range lists {
		all = mergePostings(all, list)
	}
	return all, held
}

// mergePostings returns the postings of two lists, in order of their passages, with the counts of a passage
// that both hold added up. It changes neither.
func mergePostings(a, b []posting) []posting {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]posting, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		p := a[0]
		switch {
		case p.passage < b[0].passage:
			a = a[1:]
		case p.passage > b[0].passage:
			p, b = b[0], b[1:]
		default:
			p.tf, p.own = addCounts(p.tf, b[0].tf), addCounts(p.own, b[0].own)
			a, b = a[1:], b[1:]
		}
		out = append(out, p)
	}
	return append(append(out, a...), b...)
}

// newHits returns ranked rows as hits, best first.
func (v *View) newHits(best *top) []Hit {
	out := make([]Hit, 0, len(best.heap))
	for _, r := range best.sorted() {
		i, row := v.locate(r.row)
		e := &v.layers[i].rows[row]
		out = append(out, Hit{Note: e.note, From: e.from, Layer: i, Score: r.score, Digest: e.digest})
	}
	return out
}

// Vector returns the k notes nearest to the query's vector, best first; none without a vector.
// Notes whose vector is pending are not included.
func (q *Query) Vector(sel *Selection, k int) []Hit {
	if len(q.vectors) == 0 || k <= 0 {
		return nil
	}
	defer runtime.KeepAlive(q) // vectors may be a part of a snapshot, which the view keeps
	return q.view.newHits(q.startScan(sel, k).finish(func(g uint32) float64 {
		i, row := q.view.locate(g)
		v, _ := q.view.vectorAt(i, q.view.layers[i].slotOf(row))
		return q.vector(i).cosine(&v)
	}))
}

// slotOf returns the vector slot of a row as the view sees it, or none.
func (l *layerView) slotOf(row uint32) int {
	l.data.mu.RLock()
	slot := int(l.data.slotOf[row])
	l.data.mu.RUnlock()
	if slot >= len(l.slots) {
		return none // stored after the view was opened
	}
	return slot
}

// Record returns the filterable fields and the version of a visible note.
func (v *View) Record(note ID) (hit Hit, record filter.Record, ok bool) {
	i, row, ok := v.locateNote(note)
	if !ok {
		return Hit{}, record, false
	}
	e := &v.layers[i].rows[row]
	return Hit{Note: note, From: e.from, Layer: i}, e.record(), true
}
