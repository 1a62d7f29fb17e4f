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

// LinkedFrom is from how many of the best notes links are followed, and LinkedMost how many notes
// they lead to at most. Neither depends on k, so k never changes an order.
const (
	LinkedFrom = 20
	LinkedMost = 200
)

// Linked is a link that was followed to a note.
type Linked struct {
	Note       ID
	Via        ID      // the note it was reached from, a hit or a nearer linked note
	Confidence float64 // of the link, 0..1
	Hops       int
}

// Expand follows links out of and into notes, best first, breadth first, up to depth hops. It returns
// each link once for each direction that it was followed in, and the links of at most limit notes that
// are not in from. Links of better notes come first, then those of higher confidence, then those to
// lower ids. edges returns all links that touch any of the notes; it is called once per hop, and its
// error ends the expansion.
func Expand(from []ID, depth, limit int, edges func(notes []ID) ([]Edge, error)) ([]Linked, error) {
	seen := map[ID]bool{}
	frontier := make([]ID, 0, len(from))
	for _, note := range from {
		if !seen[note] {
			seen[note] = true
			frontier = append(frontier, note)
		}
	}
	reached, out := 0, []Linked(nil)
	for hop := 1; hop <= depth && len(frontier) > 0; hop++ {
		found, err := edges(frontier)
		if err != nil {
			return nil, err
		}
		touching := byEnd(found, hop)
		var next []ID
		for _, via := range frontier {
			for _, l := range touching[via] {
				if !seen[l.Note] {
					if reached == limit {
						continue
					}
					seen[l.Note] = true
					reached++
					next = append(next, l.Note)
				}
				out = append(out, l)
			}
		}
		frontier = next
	}
	return out, nil
}

// byEnd returns the links of a hop by the note that they lead from, the best first, and of each note the best alone.
func byEnd(edges []Edge, hop int) map[ID][]Linked {
	touching := map[ID][]Linked{}
	for _, e := range edges {
		c := min(e.Confidence, 1)
		if c <= 0 {
			c = 1
		}
		if e.A != e.B {
			touching[e.A] = append(touching[e.A], Linked{Note: e.B, Via: e.A, Confidence: c, Hops: hop})
			touching[e.B] = append(touching[e.B], Linked{Note: e.A, Via: e.B, Confidence: c, Hops: hop})
		}
	}
	for via, links := range touching {
		slices.SortFunc(links, func(a, b Linked) int {
			return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), bytes.Compare(a.Note[:], b.Note[:]))
		})
		touching[via] = slices.CompactFunc(links, func(a, b Linked) bool { return a.Note == b.Note })
	}
	return touching
}

// WithLinked scores linked notes on the scale of the candidates, ranks all together and cuts to K. A
// linked note has the better of its own score for the query and its path's: its own, moved by
// LinkShare × confidence of the way up to the score of the note that led to it. A note that shares no
// word with the query, but is linked from its best answer, deserves a place. This is also so for a
// candidate that is linked. linkedNotes are the measures of the linked notes. Linked notes without
// one are ignored (not visible in the view, or excluded by the filter).
func (r *Result) WithLinked(linked []Linked, linkedNotes []Candidate) []Hit {
	all := make(map[ID]*linkedNote, len(linkedNotes))
	for i := range r.ranked.found {
		c := &r.ranked.found[i]
		all[c.Note] = &linkedNote{c: c, found: true, own: r.ranked.scores[i], score: r.ranked.scores[i]}
	}
	for i := range linkedNotes {
		c := &linkedNotes[i]
		if all[c.Note] == nil {
			own := r.ranker.score(c, &r.options, &r.ranked.scale, nil)
			all[c.Note] = &linkedNote{c: c, own: own, score: own}
		}
	}
	r.follow(linked, all)
	order := make([]*linkedNote, 0, len(all))
	for _, n := range all {
		if n.found || n.link != nil {
			order = append(order, n)
		}
	}
	slices.SortFunc(order, func(a, b *linkedNote) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.isByLink(), b.isByLink()), bytes.Compare(a.c.Note[:], b.c.Note[:]))
	})
	if r.ranked.reserved >= 0 {
		note := r.ranked.found[r.ranked.reserved].Note
		moveReserved(order, r.ranked.place, func(n *linkedNote) bool { return n.c.Note == note })
	}
	direct := make(map[ID]bool, len(r.Hits))
	for i := range r.Hits {
		direct[r.Hits[i].Note] = true
	}
	hits := make([]Hit, 0, min(r.options.K, len(order)))
	for _, n := range order[:min(max(r.options.K, 0), len(order))] {
		if r.options.MinScore != nil && n.score < *r.options.MinScore {
			continue
		}
		hits = append(hits, r.linkedHit(n, direct))
	}
	return hits
}

// follow sets the first link to each note, and the score of the best path to it. A path's score is at most that of the note
// before it, so the best paths have no cycles, and each round finds those that are one link longer.
func (r *Result) follow(linked []Linked, all map[ID]*linkedNote) {
	for more := true; more; {
		more = false
		for i := range linked {
			l := &linked[i]
			n, via := all[l.Note], all[l.Via]
			if n == nil {
				continue
			}
			n.link = cmp.Or(n.link, l)
			if via == nil || via.score <= n.score {
				continue
			}
			weight := r.ranker.config.LinkShare * l.Confidence
			if path := n.own + weight*(via.score-n.own); path > n.score {
				n.by, n.weight, n.from, n.score, more = l, weight, via.score, path, true
			}
		}
	}
}

// linkedHit returns the hit of a note. direct are the notes that are hits without their links.
func (r *Result) linkedHit(n *linkedNote, direct map[ID]bool) Hit {
	h := r.ranker.newHit(*n.c, r.options, &r.ranked.scale)
	h.IsNeighbor, h.Via = n.link != nil && !direct[h.Note], n.by
	if h.IsNeighbor {
		h.Via = cmp.Or(n.by, n.link)
	}
	if h.Via != nil {
		h.Sources = append(h.Sources, SourceLink)
	}
	if n.by != nil {
		h.raise(n)
	}
	return h
}

// linkedNote is a note that is ranked with its links.
type linkedNote struct {
	c          *Candidate
	found      bool    // by the query
	link       *Linked // the first one to it; nil for none
	own, score float64 // by itself; the better of that and its best path's

	by           *Linked // the last link of that path; nil when its own score is better
	weight, from float64 // of that link: its weight, and the score before it
}

// isByLink is 1 for a note that owes its place to a link.
func (n *linkedNote) isByLink() int {
	if n.by != nil || !n.found {
		return 1
	}
	return 0
}

// raise explains the part of a hit's score that the best path to it adds.
func (h *Hit) raise(n *linkedNote) {
	for i := range h.Explain {
		h.Explain[i].Weight *= 1 - n.weight
	}
	h.Explain = append(h.Explain, Part{partLink, n.by.Confidence, n.from, n.weight})
	h.Score = n.score
}
