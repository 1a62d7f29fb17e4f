package analyst

import (
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
)

// dayCalls are the calls of MemoryBank, and the summary of MemGPT's queue.
func dayCalls() map[string]answerer {
	return map[string]answerer{
		"daily_summary":       answer(summarizeDay),
		"daily_personality":   answer(describeDay),
		"overall_history":     answer(summarizeDays),
		"overall_personality": answer(portray),
		memgpt.CallSummary:    answer(summarizeQueue),
	}
}

func summarizeDay(memorybank.DayInput) memorybank.DaySummary {
	return memorybank.DaySummary{Events: []string{}}
}

func describeDay(memorybank.DayInput) memorybank.DayPersonality {
	return memorybank.DayPersonality{Traits: []string{}}
}

func summarizeDays(memorybank.OverallInput) memorybank.History { return memorybank.History{} }

func portray(memorybank.OverallInput) memorybank.Portrait { return memorybank.Portrait{} }

func summarizeQueue(memgpt.SummaryInput) memgpt.Summary { return memgpt.Summary{} }
