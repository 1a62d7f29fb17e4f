package rules

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Name is the model name of the heuristic analyst's answers. What
// changes its answers gets a new name.
const Name = "heuristic@1"

// Analyst is the analyst of an installation without a model. It works from
// the structured material of a call, not from its prompt, and gives the same
// answer to the same material every time. The zero Heuristic is not usable.
type Analyst struct {
	topics *lexicon
}

// New makes one; it is safe for concurrent use.
func New() *Analyst { return &Analyst{topics: newLexicon()} }

// Analyst says that rules describe the notes.
func (h *Analyst) Analyst() memory.Analyst { return memory.AnalystHeuristic }

// Ask answers every call that the policies make. Other calls and material of
// another type are a fault Internal; an answer that the call's own check
// refuses is ErrBadAnswer, as with a model. No request is made and no token used.
func (h *Analyst) Ask(ctx context.Context, _ tenant.Scope, c memory.Call) (memory.Answer, error) {
	answer := memory.Answer{Analyst: memory.AnalystHeuristic, Model: Name}
	if err := ctx.Err(); err != nil {
		return answer, fault.Wrap(err, fault.Unavailable, "stopped while analyzing")
	}
	out := h.answer(c)
	if out == nil {
		return answer, fault.New(fault.Internal, "the heuristic analyst has no rules for the call %q with material of type %T", c.Name, c.Input)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return answer, fault.Wrap(err, fault.Internal, "write the answer of %q", c.Name)
	}
	if c.Check != nil {
		if err := c.Check(raw); err != nil {
			answer.JSON = memory.EmptyAnswer(c.Schema)
			return answer, fault.Wrap(memory.ErrBadAnswer, fault.ModelFailed, "the rules gave no usable answer to %q", c.Name)
		}
	}
	answer.JSON = raw
	return answer, nil
}

// answer gives the answer of a call, nil for one without rules. Two calls of a
// day and two of all days share their material, so their name decides.
func (h *Analyst) answer(c memory.Call) any {
	switch in := c.Input.(type) {
	case amem.AnalyzeInput:
		return h.analyze(in)
	case amem.EvolveInput:
		return evolve(in)
	case policy.RelevanceInput:
		return relevance(in)
	case mem0.ExtractInput:
		return extract(in)
	case mem0.DecideInput:
		return decide(in)
	case mem0.SummarizeInput:
		return summarize(in)
	case mem0.EntitiesInput:
		return entities(in)
	case mem0.RelationsInput:
		return relationsAmong(in)
	case mem0.ConflictsInput:
		return conflicts(in)
	case memorybank.DayInput:
		switch c.Name {
		case "daily_summary":
			return daySummary(in)
		case "daily_personality":
			return dayPersonality(in)
		}
	case memorybank.OverallInput:
		switch c.Name {
		case "overall_history":
			return overallHistory(in)
		case "overall_personality":
			return portrait(in)
		}
	}
	return nil
}

var _ memory.Model = (*Analyst)(nil)
