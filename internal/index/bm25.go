package index

import "github.com/slipboxhq/slipbox/internal/text"

// The constants of BM25.
const (
	k1 = 1.2
	b  = 0.75
)

// saturate is what a count adds to a score, beside the word's weight, in a
// document whose length is so many times the average.
func saturate(tf, lengths float64) float64 {
	return tf * (k1 + 1) / (tf + k1*(1-b+b*lengths))
}

// bm25 is what one word adds to a passage's score.
func (q *Query) bm25(w *word, tf uint16, length uint32) float64 {
	return w.weight * saturate(float64(tf), float64(length)*float64(q.view.passages)/float64(q.view.terms))
}

// passage gives where a passage of the view stands in its content, by its
// number within its layer and that.
func (v *View) passage(p place) text.Span { return v.layers[p.layer].passages[p.passage].span() }

// place is a passage of a view.
type place struct{ layer, passage uint32 }

func (p *passage) span() text.Span { return text.Span{Start: int(p.start), End: int(p.end)} }

// lexical scores every passage that has a word of the query, and leaves in w
// what the selected notes' best ones come to. It gives the k best notes.
func (q *Query) lexical(w *workspace, sel *Selection, k int) []ranked {
	best := newTop(q.view, k)
	for i := range q.view.layers {
		l := &q.view.layers[i]
		pass := sel.of(i, l)
		scores := w.passages(len(l.passages))
		touched := w.touched[:0]
		for j := range q.words {
			word := &q.words[j]
			for _, p := range word.postings[i] {
				part := &l.passages[p.passage]
				if !pass.has(part.row) {
					continue
				}
				if scores[p.passage] == 0 {
					touched = append(touched, p.passage)
				}
				scores[p.passage] += q.bm25(word, p.tf, part.length)
			}
		}
		from := len(w.found)
		for _, p := range touched {
			score := scores[p]
			scores[p] = 0 // the array goes back as it came
			g := l.base + l.passages[p].row
			had := w.words[g]
			if had == 0 {
				w.found = append(w.found, g)
			}
			if score > had || score == had && p < w.part[g].passage {
				w.words[g], w.part[g] = score, place{uint32(i), p}
			}
		}
		for _, g := range w.found[from:] {
			best.push(g, w.words[g])
		}
		w.touched = touched
	}
	return best.sorted()
}
