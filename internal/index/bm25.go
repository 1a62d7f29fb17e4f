package index

import (
	"runtime"

	"github.com/slipboxhq/slipbox/internal/text"
)

// The parameters of BM25: saturation of the count, and how much length matters.
const (
	k1 = 1.2
	b  = 0.75
)

// saturate returns the factor that BM25 multiplies a word's weight by: for a word that occurs tf
// times in a document whose length is lengths times the average.
func saturate(tf, lengths float64) float64 {
	return tf * (k1 + 1) / (tf + k1*(1-b+b*lengths))
}

// bm25 returns what one word adds to the score of a passage.
func (q *Query) bm25(w *word, tf uint16, length uint32) float64 {
	return w.weight * saturate(float64(tf), float64(length)*float64(q.view.passages)/float64(q.view.terms))
}

// maxGain returns an upper bound of what the words from the j-th on can add to a score. The factor
// of a word approaches k1 + 1 and reaches it only for an endless count, so the bound is above any
// sum by more than the rounding.
func (q *Query) maxGain(j int) (n float64) {
	for ; j < len(q.words); j++ {
		n += q.words[j].weight * (k1 + 1)
	}
	return n
}

func (p *passage) span() text.Span { return text.Span{Start: int(p.start), End: int(p.end)} }

// bestPassage returns the score of a row's best passage, which share of the query's words it has, by
// their weights, and where the passage is in the content; zero when the row has no word of the query.
func (q *Query) bestPassage(layer int, row uint32) (score, covered float64, at text.Span) {
	l := &q.view.layers[layer]
	e := &l.rows[row]
	for n := e.first; n < e.first+e.passages; n++ {
		p, sum, has := &l.passages[n], 0.0, 0.0
		for j := range q.words {
			word := &q.words[j]
			if tf := findPosting(word.postings[layer], n).tf; tf > 0 {
				sum += q.bm25(word, tf, p.length)
				has += word.weight
			}
		}
		if sum > score {
			score, covered, at = sum, has, p.span()
		}
	}
	if covered > 0 {
		covered = min(covered/q.weight, 1) // parts of words come on top
	}
	return score, covered, at
}

// findPosting returns the posting of a passage, or the zero posting. The list is sorted by passage.
func findPosting(list []posting, passage uint32) posting {
	from, until := 0, len(list)
	for from < until {
		if at := int(uint(from+until) >> 1); list[at].passage < passage {
			from = at + 1
		} else {
			until = at
		}
	}
	if from < len(list) && list[from].passage == passage {
		return list[from]
	}
	return posting{}
}

// fewPostings is the number of postings below which it does not pay to check whether a word can
// still bring a note into the best k.
const fewPostings = 256

// lexical returns the k best of the selected notes by their best passage. Words are processed
// heaviest first. Once the remaining words cannot by themselves lift a passage into the best k,
// only passages that already have a score are updated.
func (q *Query) lexical(w *workspace, sel *Selection, k int) *top {
	v := q.view
	if k <= 0 {
		return newTop(v, 0)
	}
	decided := false
	for j := range q.words {
		word := &q.words[j]
		if !decided && j > 0 && word.count > fewPostings {
			decided = w.bestByWords(newTop(nil, k)).threshold() > q.maxGain(j)
		}
		for i := range v.layers {
			l := &v.layers[i]
			pass, scores := sel.rowsOf(i, l), w.passage[l.offset:]
			for _, p := range word.postings[i] {
				score := scores[p.passage]
				if decided && score == 0 {
					continue
				}
				part := &l.passages[p.passage]
				if score == 0 {
					if !pass.has(part.row) {
						continue
					}
					w.touched = append(w.touched, l.offset+p.passage)
				}
				score += q.bm25(word, p.tf, part.length)
				scores[p.passage] = score
				if had := &w.words[l.base+part.row]; score > *had {
					if *had == 0 {
						w.found = append(w.found, l.base+part.row)
					}
					*had = score
				}
			}
		}
	}
	for _, p := range w.touched {
		w.passage[p] = 0
	}
	w.touched = w.touched[:0]
	return w.bestByWords(newTop(v, k))
}

// Lexical returns the k best of the selected notes by words, best first, as [Query.Signals] finds them among its candidates.
func (q *Query) Lexical(sel *Selection, k int) []Hit {
	defer runtime.KeepAlive(q) // postings may be a part of a snapshot, which the query keeps
	w := acquireWorkspace(q.view)
	out := q.view.newHits(q.lexical(w, sel, k))
	w.release()
	return out
}

// bestByWords adds the notes found by words to best.
func (w *workspace) bestByWords(best *top) *top {
	for _, g := range w.found {
		if score := w.words[g]; score >= best.least {
			best.push(g, score)
		}
	}
	return best
}
