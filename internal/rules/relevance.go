package rules

import (
	"math"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// overlapShare is the weight of shared words in a relevance score; the rest is similarity.
const overlapShare = 0.6

// scoreRelevance scores candidates by similarity and by the share of the query's terms that they
// have, where rare terms count more. Every score is in 0..1. For a query of only stop words the
// score is the similarity.
func scoreRelevance(in policy.RelevanceInput) policy.Relevance {
	query := stringSet(text.Terms(in.Query))
	terms := make([]map[string]bool, len(in.Candidates))
	notesWith := map[string]int{}
	for i, c := range in.Candidates {
		terms[i] = stringSet(text.Terms(strings.Join([]string{c.Content, c.Context, strings.Join(c.Keywords, ", "), strings.Join(c.Tags, ", ")}, "\n")))
		for t := range query {
			if terms[i][t] {
				notesWith[t]++
			}
		}
	}
	// As in BM25, with half a note added so that no term has the weight 0.
	weight := func(t string) float64 {
		n := float64(len(in.Candidates))
		return math.Log(1 + (n+0.5)/(float64(notesWith[t])+0.5))
	}
	var out policy.Relevance
	out.Scores = make([]struct {
		ID    int     `json:"id"`
		Score float64 `json:"score"`
	}, len(in.Candidates))
	for i, c := range in.Candidates {
		similar := min(1, max(0, c.Score))
		score := similar
		if len(query) > 0 {
			all, found := 0.0, 0.0
			for _, t := range text.Terms(in.Query) {
				w := weight(t)
				all += w
				if terms[i][t] {
					found += w
				}
			}
			score = overlapShare*found/all + (1-overlapShare)*similar
		}
		out.Scores[i].ID = c.Handle
		out.Scores[i].Score = roundScore(score)
	}
	return out
}
