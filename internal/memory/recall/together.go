package recall

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Two statements are about the same thing when their nearness in meaning and the share of words that they have in
// common are together at least a sum, and the nearness alone is at least a minimum. The constants were chosen on
// labeled dialogues, where each fact was compared with every other of its dialogue: see
// internal/eval/reviews/ranking.md.
const (
	sameMeaning, leastMeaning   = 0.75, 1.0 / 3 // for embedders that compare meanings
	sameSpelling, leastSpelling = 0.7, 0.15     // for those that compare spellings
	meaningShare                = 0.75          // what nearness in meaning counts; a shared word counts 1
	// leastScore is the part of the score of a group's best hit below which another says too little about the query to be
	// put before it.
	leastScore = 1.0 / 3
	// leastCovered is the same for the share of the query's words: what the best hit alone has of them, such as the number of
	// an order, is what is asked for.
	leastCovered = 0.25
)

// together puts statements about the same thing together, the newest event first. Only the best hits are compared, and
// texts are read only of those that are near each other. A question that names a time asks for what held then, so the
// newest is not put first.
func (sr *searchRun) together(ctx context.Context, hits []search.Hit) ([]search.Hit, error) {
	if sr.index == nil || sr.reranked || sr.mode != Hybrid || sr.usedProfile == search.Mem0 || sr.q.Formula != nil || len(sr.times) > 0 {
		return hits, nil
	}
	pool := hits[:min(len(hits), search.TogetherOf)]
	ids, states := make([]search.ID, len(pool)), make([]search.Statement, len(pool))
	for i := range pool {
		h := &pool[i]
		ids[i] = h.Note
		states[i] = search.Statement{At: h.At, States: h.Values[search.Spoken] == 0 && h.Values[search.Question] == 0}
	}
	near, least, enough := sr.nearness(sr.index.Cosines(ids))
	nearOnes := map[int]bool{}
	for i := range near {
		for j, x := range near[i] {
			if x >= least && states[i].States && states[j].States {
				nearOnes[i], nearOnes[j] = true, true
			}
		}
	}
	if len(nearOnes) == 0 {
		return hits, nil
	}
	words, err := sr.wordsOf(ctx, pool, nearOnes)
	if err != nil {
		return nil, err
	}
	shared := search.SharedWords(words)
	groups := search.Together(states, func(a, b int) bool {
		x := near[b][a]
		oneTalk := pool[a].Session != 0 && pool[a].Session == pool[b].Session // its turns answer each other
		fits := pool[b].Score >= leastScore*pool[a].Score && pool[b].Values[search.Covered] >= leastCovered*pool[a].Values[search.Covered]
		return !oneTalk && fits && x >= least && x+shared(a, b) >= enough
	})
	out := make([]search.Hit, 0, len(hits))
	for _, group := range groups {
		best := pool[slices.Min(group)].Note
		for _, i := range group {
			h := pool[i]
			if len(group) > 1 {
				h.About = best
			}
			out = append(out, h)
		}
	}
	return append(out, hits[len(pool):]...), nil
}

// nearness turns cosines into what they count, as the collection's embedder spreads them, and returns the least that
// counts and the sum that is enough. It changes the cosines.
func (sr *searchRun) nearness(cosines [][]float64) (near [][]float64, least, enough float64) {
	if e, ok := sr.service.embedders.ByName(sr.view.Collection.Embedder); ok {
		if sp, ok := e.(memory.Spelling); ok && sp.Spelling() {
			return cosines, leastSpelling, sameSpelling
		}
	}
	floor := sr.noiseFloor()
	for _, row := range cosines {
		for j := range row {
			row[j] = meaningShare * (row[j] - floor) / (1 - floor)
		}
	}
	return cosines, meaningShare * leastMeaning, sameMeaning
}

// wordsOf returns the words of some hits: index terms, and the characters of a script without spaces, where a word of
// two characters rarely occurs twice.
func (sr *searchRun) wordsOf(ctx context.Context, pool []search.Hit, wanted map[int]bool) ([][]string, error) {
	var some []search.Hit
	for i := range pool {
		if wanted[i] {
			some = append(some, pool[i])
		}
	}
	notes, err := sr.readNotes(ctx, some, false)
	if err != nil {
		return nil, err
	}
	byNote := make(map[uuid.UUID][]string, len(notes))
	for i := range notes {
		for _, term := range text.Terms(notes[i].Content) {
			if !strings.ContainsFunc(term, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
				byNote[notes[i].ID] = append(byNote[notes[i].ID], term)
				continue
			}
			for _, r := range term {
				byNote[notes[i].ID] = append(byNote[notes[i].ID], string(r))
			}
		}
	}
	out := make([][]string, len(pool))
	for i := range pool {
		out[i] = byNote[pool[i].Note]
	}
	return out, nil
}
