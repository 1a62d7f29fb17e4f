package search

import (
	"bytes"
	"cmp"
	"slices"
)

// EstimateTokens counts the tokens of s as matches of
// [A-Za-z0-9]+|[^\sA-Za-z0-9]: within a hundredth of a common byte-pair
// count over English dialogue, and the same everywhere.
func EstimateTokens(s string) int {
	n, in := 0, false
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			if !in {
				n++
			}
			in = true
			continue
		case r == ' ' || r == '\t' || r == '\n' || r == '\f' || r == '\r':
		default:
			n++
		}
		in = false
	}
	return n
}

// Budget walks the hits in order and stops before the first that would pass
// the budget, so that what is left out is never more relevant than what is
// kept. A budget of 0 or less is none. It returns the tokens of what it kept.
func Budget(hits []Hit, budget int, count func(Hit) int) (kept []Hit, tokens int) {
	for i, h := range hits {
		n := count(h)
		if budget > 0 && tokens+n > budget {
			return hits[:i], tokens
		}
		tokens += n
	}
	return hits, tokens
}

// NoiseFloor is the cosine at or below which the first stage of [TwoStage]
// drops a hit, where the embedder knows no floor of its own.
const NoiseFloor = 0.7

// TwoStage keeps noise from the answer: first hits whose cosine is at most
// floor go, linked ones and those without a vector included; then the rest is
// ordered by the relevance that a model gives, and those below least go. The
// model sees only what passed the first stage, and is not asked about
// nothing. A nil relevance switches the second stage off. An error from it is
// returned beside the hits of the first stage in their order, which is what
// to answer with. Hits that the model did not score stay behind the others.
func TwoStage(hits []Hit, floor float64, relevance func([]Hit) (map[ID]float64, error), least float64) ([]Hit, error) {
	passed := slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool { return !h.Dense || h.Values[Vector] <= floor })
	if relevance == nil || len(passed) == 0 {
		return passed, nil
	}
	scores, err := relevance(slices.Clone(passed))
	if err != nil {
		return passed, err
	}
	return Rerank(passed, scores, least), nil
}

// Rerank orders hits by scores from elsewhere (0..1) and drops those that are
// scored below least. A scored hit takes the new score; hits without one keep
// theirs and their order, behind the others. Ties order by note id.
func Rerank(hits []Hit, scores map[ID]float64, least float64) []Hit {
	var scored, rest []Hit
	for _, h := range hits {
		s, ok := scores[h.Note]
		switch {
		case !ok:
			rest = append(rest, h)
		case s >= least:
			h.Explain = append(slices.Clone(h.Explain), Part{Name: "relevance", Raw: s, Normalized: min(max(s, 0), 1), Weight: 1})
			h.Score = s
			scored = append(scored, h)
		}
	}
	slices.SortStableFunc(scored, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Note[:], b.Note[:]))
	})
	return append(scored, rest...)
}
