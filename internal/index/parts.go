package index

import (
	"cmp"
	"slices"

	"github.com/slipboxhq/slipbox/internal/text"
)

// partWeight is the weight of a word that shares a part with a word of the query, for a whole one.
const partWeight = 0.6

// mostParts bounds the terms that one word of a query shares a part with, the nearest first.
const mostParts = 24

// part is a term that shares a part with a word of a query.
type part struct {
	term  string
	share float64
}

// AddParts adds to the words of the query the terms that they share a part with (see [text.Shared]), by less weight: parts
// of compounds, and words with an article or another small word written together with them. It reads all terms of the view.
func (q *Query) AddParts(words string) {
	v := q.view
	if v.notes == 0 {
		return
	}
	forms, times, _ := v.wordsOf(words)
	for i, found := range v.partsOf(forms) {
		_, own := q.newWord(forms[i])
		parts := make([]word, len(found))
		for j, p := range found {
			var df int
			parts[j], df = q.newWord([]string{p.term})
			own += df
		}
		for j, p := range found {
			// All count as one word that occurs as often as they do together, so that a part of a rare word is worth no more.
			if parts[j].weight = times[i] * partWeight * p.share * v.idf(own); parts[j].count > 0 {
				q.words = append(q.words, parts[j])
			}
		}
	}
	q.sort()
}

// partsOf returns the terms of the view that share a part with each word, nearest first.
func (v *View) partsOf(forms [][]string) [][]part {
	out := make([][]part, len(forms))
	for i := range v.layers {
		d := v.layers[i].data
		d.mu.RLock()
		for term := range d.terms.all() {
			for n, f := range forms {
				if share := sharedWithAny(f, term); share > 0 {
					out[n] = append(out[n], part{term: term, share: share})
				}
			}
		}
		d.mu.RUnlock()
	}
	for n, found := range out {
		slices.SortFunc(found, func(a, b part) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.term, b.term)) })
		found = slices.Compact(found)
		out[n] = found[:min(len(found), mostParts)]
	}
	return out
}

// sharedWithAny returns the largest share of a term in one of the terms of a word; 0 when it is one of them.
func sharedWithAny(forms []string, term string) (share float64) {
	for _, f := range forms {
		if f == term {
			return 0
		}
		share = max(share, text.Shared(f, term))
	}
	return share
}
