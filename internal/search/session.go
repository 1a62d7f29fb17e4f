package search

import (
	"bytes"
	"cmp"
)

// This file ranks by sessions. A chat with an assistant has a task for each session: many of its notes match
// what is asked about that task, and one of them says that it is the one. So in the profile
// [AssistantTalk] the best notes of a session speak for all of its notes (Pooled; an average of the k best
// passages of a document: J. Callan, "Passage-level evidence in document retrieval", SIGIR 1994; Z. Dai and
// J. Callan, "Deeper text understanding for IR", SIGIR 2019), and each further hit of a session counts less
// than the one before.

// How sessions count.
const (
	// pooledNotes is how many notes speak for a session. Of a shorter one, all.
	pooledNotes = 3
	// repeatInSession is the factor of a note for each better candidate of its session.
	repeatInSession = 0.75
	// repeatMost is how many better candidates count.
	repeatMost = 4
)

// sessionGroups are candidates by session.
type sessionGroups struct {
	of []int // by candidate, the number of its session among those of all candidates; -1 without one
	n  int   // sessions
}

func groupBySession(found []Candidate) sessionGroups {
	g := sessionGroups{of: make([]int, len(found))}
	known := make(map[int32]int, len(found))
	for i := range found {
		number := found[i].Session
		if number == 0 {
			g.of[i] = -1
			continue
		}
		at, ok := known[number]
		if !ok {
			at = len(known)
			known[number] = at
		}
		g.of[i] = at
	}
	g.n = len(known)
	return g
}

// pools holds what the notes of each session have in common.
type pools struct {
	bySession map[int32]float64
	highest   float64 // cosine of the candidates
}

// pool sets Pooled of the candidates: the mean of the best pooledNotes of their session, by the mean of cosine and
// late interaction with the notes around. Of a note without a session it is its own value. Without sessions it
// is 0 for all, so it does not count.
func pool(found []Candidate, g sessionGroups) pools {
	p := pools{bySession: make(map[int32]float64, g.n)}
	if g.n == 0 {
		return p
	}
	for i := range found {
		p.highest = max(p.highest, found[i].Values[Vector])
	}
	best := make([][pooledNotes]float64, g.n)
	for i := range found {
		if g.of[i] < 0 {
			continue
		}
		list := &best[g.of[i]]
		for x, at := p.match(&found[i]), 0; at < len(list); at++ {
			if x > list[at] {
				x, list[at] = list[at], x
			}
		}
	}
	values := make([]float64, g.n)
	for i := range found {
		c := &found[i]
		if g.of[i] < 0 || values[g.of[i]] > 0 {
			continue
		}
		for _, x := range best[g.of[i]] {
			values[g.of[i]] += x / speakers(c)
		}
		p.bySession[c.Session] = values[g.of[i]]
	}
	for i := range found {
		c := &found[i]
		if g.of[i] < 0 {
			c.Values[Pooled] = p.of(c)
		} else {
			c.Values[Pooled] = values[g.of[i]]
		}
	}
	return p
}

// speakers returns how many notes speak for a note's session.
func speakers(c *Candidate) float64 { return float64(min(max(c.SessionNotes, 1), pooledNotes)) }

// match returns how a note matches the query in meaning, 0..1.
func (p *pools) match(c *Candidate) float64 {
	cosine := 0.0
	if p.highest > 0 {
		cosine = max(c.Values[Vector]/p.highest, 0)
	}
	return (cosine + c.Values[LateAround]) / 2
}

// of returns Pooled for a note, which need not be a candidate.
func (p *pools) of(c *Candidate) float64 {
	if len(p.bySession) == 0 {
		return 0
	}
	if x, ok := p.bySession[c.Session]; ok {
		return x
	}
	return min(p.match(c), 1) / speakers(c)
}

// repeats returns the factor of each candidate: repeatInSession for each better one of its session, up to repeatMost.
func repeats(found []Candidate, g sessionGroups, scores []float64) []float64 {
	best := make([][repeatMost]int, g.n) // places of the best, each one more than it is
	better := func(a, b int) bool {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), bytes.Compare(found[a].Note[:], found[b].Note[:])) < 0
	}
	for i := range found {
		if g.of[i] < 0 {
			continue
		}
		list := &best[g.of[i]]
		for x, at := i+1, 0; at < len(list) && x > 0; at++ {
			if list[at] == 0 || better(x-1, list[at]-1) {
				x, list[at] = list[at], x
			}
		}
	}
	out := make([]float64, len(found))
	for i := range found {
		out[i] = 1
		if g.of[i] < 0 {
			continue
		}
		for _, x := range best[g.of[i]] {
			if x == i+1 {
				break
			}
			out[i] *= repeatInSession
		}
	}
	return out
}
