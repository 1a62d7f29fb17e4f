package analyst

import (
	"math"
	"strings"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/said"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The bounds of a description.
const (
	maxKeywords  = 8
	maxDescribed = 8_000 // bytes of a note that are read for its description
	maxContext   = 240   // characters
	informative  = 0.5   // a sentence is, if it has this share of the terms of the richest one
)

// noteCalls are the calls of A-MEM, and the judgment of a search's candidates.
func noteCalls() map[string]answerer {
	return map[string]answerer{
		"analyze":   answer(analyze),
		"evolve":    answer(evolve),
		"relevance": answer(judgeRelevance),
	}
}

// analyze describes a note: by its key phrases and its first informative sentence. Tags name a category, which no
// statistics of a text do, so there are none.
func analyze(in amem.AnalyzeInput) amem.Analysis {
	content := withoutSpeaker(clip.Head(memory.WithoutMarks(in.Content), maxDescribed), in.Speaker)
	out := amem.Analysis{Keywords: text.Keyphrases(content, maxKeywords, in.Speaker), Tags: []string{}, Context: firstInformative(content)}
	if out.Keywords == nil {
		out.Keywords = []string{}
	}
	if out.Context == "" {
		out.Context = memory.DefaultContext
	}
	return out
}

// withoutSpeaker returns a text without "Name: " before it.
func withoutSpeaker(s, speaker string) string {
	if rest, ok := strings.CutPrefix(s, speaker); ok && speaker != "" {
		if said, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), ":"); ok {
			return strings.TrimSpace(said)
		}
	}
	return s
}

// firstInformative returns the first sentence with enough different terms, one that asks only if all do.
func firstInformative(s string) string {
	sentences := text.Sentences(s)
	richness := make([]int, len(sentences))
	richest := 0
	for i, sentence := range sentences {
		terms := text.TermSet(sentence)
		richness[i] = len(terms)
		if !said.Asks(sentence) {
			richest = max(richest, len(terms))
		}
	}
	for i, sentence := range sentences {
		if (!said.Asks(sentence) || richest == 0) && richness[i] > 0 && float64(richness[i]) >= informative*float64(richest) {
			return text.Shorten(strings.Join(strings.Fields(sentence), " "), maxContext)
		}
	}
	return ""
}

// overlapShare is the weight of shared words in a relevance score; the rest is similarity.
const overlapShare = 0.6

// judgeRelevance scores candidates by similarity and by the share of the query's terms that they have, where terms that
// few candidates have count more. Every score is in 0..1. For a query of only stop words it is the similarity.
func judgeRelevance(in policy.RelevanceInput) policy.Relevance {
	query := text.Terms(in.Query)
	terms := make([]map[string]bool, len(in.Candidates))
	notesWith := map[string]int{}
	for i, c := range in.Candidates {
		terms[i] = text.TermSet(strings.Join([]string{c.Content, c.Context, strings.Join(c.Keywords, ", "), strings.Join(c.Tags, ", ")}, "\n"))
		for t := range terms[i] {
			notesWith[t]++
		}
	}
	var out policy.Relevance
	out.Scores = make([]struct {
		ID    int     `json:"id"`
		Score float64 `json:"score"`
	}, len(in.Candidates))
	for i, c := range in.Candidates {
		all, found := 0.0, 0.0
		for _, t := range query {
			// As in BM25, with half a note added so that no term has the weight 0.
			w := math.Log(1 + (float64(len(in.Candidates))+0.5)/(float64(notesWith[t])+0.5))
			all += w
			if terms[i][t] {
				found += w
			}
		}
		score := min(1, max(0, c.Score))
		if all > 0 {
			score = overlapShare*found/all + (1-overlapShare)*score
		}
		out.Scores[i].ID, out.Scores[i].Score = c.Handle, roundScore(score)
	}
	return out
}
