package analyst

import "github.com/slipboxhq/slipbox/internal/memory/policy/mem0"

// factCalls are the calls of Mem0.
func factCalls() map[string]answerer {
	return map[string]answerer{
		"extract":   answer(extract),
		"decide":    answer(decide),
		"summarize": answer(summarize),
		"procedure": answer(summarize),
	}
}

func extract(mem0.ExtractInput) mem0.Extraction { return mem0.Extraction{Facts: []string{}} }

func decide(mem0.DecideInput) mem0.FactDecision { return mem0.FactDecision{Operation: mem0.OpAdd} }

func summarize(mem0.SummarizeInput) mem0.Summary { return mem0.Summary{} }
