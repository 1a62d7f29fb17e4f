package search

import (
	"bytes"
	"cmp"
	"slices"
)

// EstimateMargin is the factor by which an estimate must be raised where a count above the true one does
// no harm and one below it does.
const EstimateMargin = 1.3

// EstimateTokens returns the number of matches of [A-Za-z0-9]+|[^\sA-Za-z0-9] in s: within a
// hundredth of a common byte-pair count over English dialogue, and the same everywhere.
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

// Budget keeps the hits up to the first that would exceed the budget, so a hit that is left out is
// never more relevant than one that is kept. A budget of 0 or less: no limit. count returns the tokens of
// a hit, and may show less of it when more than left would not fit. Budget returns the tokens of the hits kept.
func Budget(hits []Hit, budget int, count func(h Hit, left int) int) (kept []Hit, tokens int) {
	for i, h := range hits {
		n := count(h, budget-tokens)
		if budget > 0 && tokens+n > budget {
			return hits[:i], tokens
		}
		tokens += n
	}
	return hits, tokens
}

// LeadingOf is the number of first hits of which [Leading] is asked.
const LeadingOf = 50

// When a hit leads. internal/eval/reviews/ranking.md has what was tried.
const (
	background   = 0.2 // share of the hits, from the end, that are taken to answer nothing
	leadingShare = 0.3 // how near to the best, from the background, a hit must be
)

// Leading returns how many of the first hits score clearly above the last ones: those whose score is at least
// background + leadingShare · (best − background), where the background is the mean score of the last fifth. The
// scores of a search are comparable with each other and not with those of another search, so no score is a bound
// by itself. hits are the first [LeadingOf] of a search, best first; when it found fewer, all of them. The
// result is at least 1 for a list that is not empty.
func Leading(hits []Hit) int {
	if len(hits) == 0 {
		return 0
	}
	last := hits[len(hits)-max(1, int(background*float64(len(hits)))):]
	mean := 0.0
	for i := range last {
		mean += last[i].Score / float64(len(last))
	}
	least := mean + leadingShare*(hits[0].Score-mean)
	n := 1
	for n < len(hits) && hits[n].Score >= least {
		n++
	}
	return n
}

// NoiseFloor is the cosine at or below which the first stage of [TwoStage] drops a hit, for
// embedders without a floor of their own.
const NoiseFloor = 0.7

// TwoStage filters noise in two stages. The first drops hits whose cosine is at most floor, linked
// hits and hits without a vector included. The second orders the rest by the relevance that a model
// returns and drops those below least. The model sees only what passed the first stage, and is not
// called for an empty list. A nil relevance switches the second stage off. When relevance fails,
// TwoStage returns its error and the hits of the first stage in their order, which are the answer
// to use. Hits that the model did not score stay behind the others.
func TwoStage(hits []Hit, floor float64, relevance func([]Hit) (map[ID]float64, error), least float64) ([]Hit, error) {
	passed := slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool { return !h.Dense || h.Values[Vector] <= floor })
	if relevance == nil || len(passed) == 0 {
		return passed, nil
	}
	scores, err := relevance(slices.Clone(passed))
	if err != nil {
		return passed, err
	}
	return Reorder(passed, scores, least), nil
}

// Reorder orders hits by other scores (0..1) and drops those with a score below least. A scored hit
// takes the new score. Hits without a new score keep theirs and their order, behind the others.
// Ties are ordered by note id.
func Reorder(hits []Hit, scores map[ID]float64, least float64) []Hit {
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
