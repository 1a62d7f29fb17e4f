package rules

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
	"github.com/slipboxhq/slipbox/internal/text"
)

// queueChars bounds a summary of what has left the window, in characters: 100 words, about.
const queueChars = 550

// queueSummary joins the most informative sentences of the old summary and of what was said. Questions and
// results of tools say little.
func queueSummary(in memgpt.SummaryInput) memgpt.Summary {
	list := text.Sentences(in.Old)
	for _, m := range in.Messages {
		if m.Role == string(memory.RoleTool) {
			continue
		}
		for _, s := range text.Sentences(m.Text) {
			if e := (exchange{said: s}); !e.isQuestion() {
				list = append(list, s)
			}
		}
	}
	out := extractiveSummary(list, queueChars, policy.Language(""))
	if policy.IsBlank(out) && len(in.Messages) > 0 {
		out = text.Shorten(strings.Join(strings.Fields(in.Messages[0].Text), " "), queueChars)
	}
	return memgpt.Summary{Summary: out}
}
