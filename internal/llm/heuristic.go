package llm

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// HeuristicName is the model name of the heuristic analyst's answers. What
// changes its answers gets a new name.
const HeuristicName = "heuristic@1"

// Heuristic is the analyst of an installation without a model. It works from
// the structured material of a call, not from its prompt, and gives the same
// answer to the same material every time. The zero Heuristic is not usable.
type Heuristic struct {
	topics *lexicon
}

// NewHeuristic makes one; it is safe for concurrent use.
func NewHeuristic() *Heuristic { return &Heuristic{topics: newLexicon()} }

// Analyst says that rules describe the notes.
func (h *Heuristic) Analyst() memory.Analyst { return memory.AnalystHeuristic }

// Ask answers "analyze", "evolve" and "relevance". Other calls and material of
// another type are a fault Internal; an answer that the call's own check
// refuses is ErrBadAnswer, as with a model. No request is made and no token used.
func (h *Heuristic) Ask(ctx context.Context, _ tenant.Scope, c memory.Call) (memory.Answer, error) {
	answer := memory.Answer{Analyst: memory.AnalystHeuristic, Model: HeuristicName}
	if err := ctx.Err(); err != nil {
		return answer, fault.Wrap(err, fault.Unavailable, "stopped while analyzing")
	}
	var out any
	switch in := c.Input.(type) {
	case memory.AnalyzeInput:
		out = h.analyze(in)
	case memory.EvolveInput:
		out = evolve(in)
	case memory.RelevanceInput:
		out = relevance(in)
	default:
		return answer, fault.New(fault.Internal, "the heuristic analyst has no rules for the call %q with material of type %T", c.Name, c.Input)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return answer, fault.Wrap(err, fault.Internal, "write the answer of %q", c.Name)
	}
	if c.Check != nil {
		if err := c.Check(raw); err != nil {
			answer.JSON = Empty(c.Schema)
			return answer, fault.Wrap(memory.ErrBadAnswer, fault.ModelFailed, "the rules gave no usable answer to %q", c.Name)
		}
	}
	answer.JSON = raw
	return answer, nil
}

var _ memory.Model = (*Heuristic)(nil)
