package analyst

import (
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
)

// noteCalls are the calls of A-MEM, and the judgment of a search's candidates.
func noteCalls() map[string]answerer {
	return map[string]answerer{
		"analyze":   answer(analyze),
		"evolve":    answer(evolve),
		"relevance": answer(judgeRelevance),
	}
}

func analyze(amem.AnalyzeInput) amem.Analysis {
	return amem.Analysis{Keywords: []string{}, Tags: []string{}, Context: memory.DefaultContext}
}

func evolve(amem.EvolveInput) amem.Evolution { return amem.Evolution{} }

func judgeRelevance(policy.RelevanceInput) policy.Relevance { return policy.Relevance{} }
