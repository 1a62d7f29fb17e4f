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

// maxGain is more than the words from the j-th on can add to a score: a count
// adds its word's weight k1 + 1 times only where it is endless, which is more
// than rounding amounts to.
func (q *Query) maxGain(j int) (n float64) {
	for ; j < len(q.words); j++ {
		n += q.words[j].weight * (k1 + 1)
	}
	return n
}

func (p *passage) span() text.Span { return text.Span{Start: int(p.start), End: int(p.end)} }

// bestPassage gives the score of a row's best passage, and where it stands; zero
// where the row has no word of the query.
func (q *Query) bestPassage(layer int, row uint32) (score float64, at text.Span) {
	l := &q.view.layers[layer]
	e := &l.rows[row]
	for n := e.first; n < e.first+e.passages; n++ {
		p, sum := &l.passages[n], 0.0
		for j := range q.words {
			word := &q.words[j]
			if tf := findPosting(word.postings[layer], n).tf; tf > 0 {
				sum += q.bm25(word, tf, p.length)
			}
		}
		if sum > score {
			score, at = sum, p.span()
		}
	}
	return score, at
}

// findPosting gives the posting of a passage, or the zero posting.
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

// fewPostings is the number of postings of a word from which on it pays to see whether
// they can still bring a note among the best.
const fewPostings = 256

// lexical gives the k best of the selected notes by their best passage. Words
// come heaviest first: once those that are left cannot by themselves lift a
// passage to the k best notes, only passages with a word that came before are
// looked at.
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

// bestByWords leaves the best notes by passage.
func (w *workspace) bestByWords(best *top) *top {
	for _, g := range w.found {
		best.push(g, w.words[g])
	}
	return best
}
