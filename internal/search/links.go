package search

import (
	"bytes"
	"cmp"
	"slices"
)

// Edge is a link between two notes, in either direction.
type Edge struct {
	A, B       ID
	Confidence float64 // 0..1; 0 is a link without a confidence and counts as 1
}

// Linked is a note reached through links.
type Linked struct {
	Note       ID
	Via        ID      // the note it was reached from, a hit or a nearer linked note
	Confidence float64 // of the link, 0..1
	Hops       int
}

// Expand follows links out of and into the hits, breadth first, up to depth hops. It returns at
// most limit notes that are not hits themselves, each once. Notes reached from better hits come
// first, then those of higher confidence, then those of lower id. edges returns all links that
// touch any of the notes; it is called once per hop, and its error ends the expansion.
func Expand(hits []Hit, depth, limit int, edges func(notes []ID) ([]Edge, error)) ([]Linked, error) {
	seen := map[ID]bool{}
	frontier := make([]ID, 0, len(hits))
	for _, h := range hits {
		if !seen[h.Note] {
			seen[h.Note] = true
			frontier = append(frontier, h.Note)
		}
	}
	var out []Linked
	for hop := 1; hop <= depth && len(frontier) > 0 && len(out) < limit; hop++ {
		found, err := edges(frontier)
		if err != nil {
			return nil, err
		}
		touching := map[ID][]Linked{}
		for _, e := range found {
			c := min(e.Confidence, 1)
			if c <= 0 {
				c = 1
			}
			touching[e.A] = append(touching[e.A], Linked{Note: e.B, Via: e.A, Confidence: c, Hops: hop})
			touching[e.B] = append(touching[e.B], Linked{Note: e.A, Via: e.B, Confidence: c, Hops: hop})
		}
		var next []ID
		for _, from := range frontier {
			reached := touching[from]
			slices.SortFunc(reached, func(a, b Linked) int {
				return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), bytes.Compare(a.Note[:], b.Note[:]))
			})
			for _, l := range reached {
				if seen[l.Note] || len(out) == limit {
					continue
				}
				seen[l.Note] = true
				out = append(out, l)
				next = append(next, l.Note)
			}
		}
		frontier = next
	}
	return out, nil
}

// WithLinked scores linked notes on the scale of the direct hits, ranks all together and cuts to K.
// A linked note's score is its own score for the query, moved by LinkShare × confidence of the way
// up to the score of the note that led to it: a note that shares no word with the query, but is
// linked from its best answer, deserves a place. Direct hits keep their scores. Candidates that are
// not in linked are ignored, and so are linked notes without a candidate (not visible in the view,
// or excluded by the filter).
func (r Result) WithLinked(linked []Linked, candidates []Candidate) []Hit {
	byNote := make(map[ID]Candidate, len(candidates))
	for _, c := range candidates {
		byNote[c.Note] = c
	}
	hits := slices.Clone(r.Hits)
	scores := map[ID]float64{}
	for _, h := range hits {
		scores[h.Note] = h.Score
	}
	share := r.ranker.config.LinkShare
	for _, l := range linked { // nearer hops come first, so Via has a score
		c, ok := byNote[l.Note]
		if _, direct := scores[l.Note]; direct || !ok {
			continue
		}
		h := r.ranker.newHit(c, r.options, &r.scale)
		h.IsNeighbor = true
		h.Sources = append(h.Sources, SourceLink)
		if via, ok := scores[l.Via]; ok && via > h.Score && share > 0 {
			weight := share * l.Confidence
			for i := range h.Explain {
				h.Explain[i].Weight *= 1 - weight
			}
			h.Explain = append(h.Explain, Part{partLink, l.Confidence, via, weight})
			h.Score += weight * (via - h.Score)
		}
		scores[l.Note] = h.Score
		hits = append(hits, h)
	}
	slices.SortFunc(hits, compareHits)
	moveReserved(hits, r.options.K, func(h Hit) bool { return r.reserved[h.Note] })
	return cutToK(hits, r.options)
}
