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

const (
	// PooledNotes is how many notes speak for a session. Of a shorter one, all.
	PooledNotes = 3
	// RepeatInSession is the factor of a note for each better candidate of its session, up to RepeatMost of them.
	RepeatInSession = 0.75
	RepeatMost      = 4
)

// sessionsOf returns the place of each candidate's session in a list of all, and their number. Notes without a
// session have -1.
func sessionsOf(found []Candidate) (of []int, n int) {
	of = make([]int, len(found))
	known := map[int32]int{}
	for i := range found {
		number := found[i].Session
		if number == 0 {
			of[i] = -1
			continue
		}
		at, ok := known[number]
		if !ok {
			at = len(known)
			known[number] = at
		}
		of[i] = at
	}
	return of, len(known)
}

// pools holds what the notes of each session have in common.
type pools struct {
	bySession map[int32]float64
	highest   float64 // cosine of the candidates
}

// pool sets Pooled of the candidates: the mean of the best PooledNotes of their session, by the mean of cosine and
// late interaction with the notes around. Of a note without a session it is its own value. Without sessions it
// is 0 for all, so it does not count.
func pool(found []Candidate) pools {
	p := pools{bySession: map[int32]float64{}}
	of, n := sessionsOf(found)
	if n == 0 {
		return p
	}
	for i := range found {
		p.highest = max(p.highest, found[i].Values[Vector])
	}
	best := make([][PooledNotes]float64, n)
	for i := range found {
		if of[i] < 0 {
			continue
		}
		list := &best[of[i]]
		for x, at := p.match(&found[i]), 0; at < len(list); at++ {
			if x > list[at] {
				x, list[at] = list[at], x
			}
		}
	}
	for i := range found {
		c := &found[i]
		if _, ok := p.bySession[c.Session]; ok || of[i] < 0 {
			continue
		}
		sum := 0.0
		for _, x := range best[of[i]] {
			sum += x
		}
		p.bySession[c.Session] = sum / speakers(c)
	}
	for i := range found {
		found[i].Values[Pooled] = p.of(&found[i])
	}
	return p
}

// speakers returns how many notes speak for a note's session.
func speakers(c *Candidate) float64 { return float64(min(max(c.SessionNotes, 1), PooledNotes)) }

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

// repeats returns the factor of each candidate: RepeatInSession for each better one of its session, up to RepeatMost.
func repeats(found []Candidate, scores []float64) []float64 {
	of, n := sessionsOf(found)
	best := make([][RepeatMost]int, n) // places of the best, each one more than it is
	better := func(a, b int) bool {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), bytes.Compare(found[a].Note[:], found[b].Note[:])) < 0
	}
	for i := range found {
		if of[i] < 0 {
			continue
		}
		list := &best[of[i]]
		for x, at := i+1, 0; at < len(list) && x > 0; at++ {
			if list[at] == 0 || better(x-1, list[at]-1) {
				x, list[at] = list[at], x
			}
		}
	}
	out := make([]float64, len(found))
	for i := range found {
		out[i] = 1
		if of[i] < 0 {
			continue
		}
		for _, x := range best[of[i]] {
			if x == i+1 {
				break
			}
			out[i] *= RepeatInSession
		}
	}
	return out
}
