// Package rules answers the calls of the policies without a model: key phrases,
// extracts and rules for English and Chinese. It needs no key and no network,
// and the same input gets the same answer every time.
//
// It implements memory.Model beside internal/llm, which asks real models.
// Each call has a file of its own and is registered by its name in rules.go;
// the lexicon files hold the word lists. It reads the input of a call, never
// its prompt, and knows nothing of stores, jobs or HTTP.
package rules

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Name is the model name of answers by rules. Increase its number when a change of the rules
// changes answers.
const Name = "heuristic@1"

// Analyst answers calls by rules, for installations without a model. It works
// from the structured input of a call, not from its prompt, and is
// deterministic. The zero Analyst is not usable.
type Analyst struct {
	rules map[string]rule // by the call's name
}

// New returns an Analyst. It is safe for concurrent use.
func New() *Analyst {
	a := &Analyst{}
	a.rules = a.rulesByCall()
	return a
}

// Analyst returns memory.AnalystHeuristic.
func (a *Analyst) Analyst() memory.Analyst { return memory.AnalystHeuristic }

// Ask answers a call. For an unknown call, or input of another type than the call's, the error is
// an Internal fault. An answer that the call's own check refuses is ErrBadAnswer, as with a
// model. It makes no request and uses no tokens.
func (a *Analyst) Ask(ctx context.Context, _ tenant.Scope, c memory.Call) (memory.Answer, error) {
	answer := memory.Answer{Analyst: memory.AnalystHeuristic, Model: Name}
	if err := ctx.Err(); err != nil {
		return answer, fault.Wrap(err, fault.Unavailable, "stopped while analyzing")
	}
	answerCall, ok := a.rules[c.Name]
	if !ok {
		return answer, fault.New(fault.Internal, "the heuristic analyst has no rules for the call %q", c.Name)
	}
	out, ok := answerCall(c.Input)
	if !ok {
		return answer, fault.New(fault.Internal, "the heuristic analyst cannot read the input of the call %q: it has the type %T", c.Name, c.Input)
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

// rule answers one call from its structured input. ok is false for input of another type.
type rule func(input any) (answer any, ok bool)

// ruleFor turns a function of one input type into a rule.
func ruleFor[In, Out any](answer func(In) Out) rule {
	return func(input any) (any, bool) {
		in, ok := input.(In)
		if !ok {
			return nil, false
		}
		return answer(in), true
	}
}

// rulesByCall returns the rule of each call that the policies and recall make.
func (a *Analyst) rulesByCall() map[string]rule {
	return map[string]rule{
		// A-MEM
		"analyze": ruleFor(a.analyze),
		"evolve":  ruleFor(evolve),
		// Mem0
		"extract":   ruleFor(extract),
		"decide":    ruleFor(decide),
		"summarize": ruleFor(summarize),
		"procedure": ruleFor(summarize),
		// Mem0g
		"entities":  ruleFor(findEntities),
		"relations": ruleFor(findRelations),
		"conflicts": ruleFor(findConflicts),
		// MemoryBank
		"daily_summary":       ruleFor(daySummary),
		"daily_personality":   ruleFor(dayPersonality),
		"overall_history":     ruleFor(overallHistory),
		"overall_personality": ruleFor(overallPersonality),
		// MemGPT
		memgpt.CallSummary: ruleFor(queueSummary),
		// MemoryOS
		memoryos.CallContinuity: ruleFor(continuity),
		memoryos.CallMeta:       ruleFor(metaInfo),
		memoryos.CallThemes:     ruleFor(a.multiSummary),
		memoryos.CallProfile:    ruleFor(profile),
		memoryos.CallKnowledge:  ruleFor(knowledge),
		// the three layers
		layered.CallTriples:  ruleFor(takeTriples),
		layered.CallAbstract: ruleFor(abstract),
		// recall
		"relevance": ruleFor(scoreRelevance),
	}
}

var _ memory.Model = (*Analyst)(nil)
