// Package analyst answers the calls of the policies without a model, in any language: by statistics of words,
// similarity, quotation and extraction. It finds what was said, understands little, destroys nothing, and says so.
// It needs no key and no network, and the same input gets the same answer every time.
//
// It implements memory.Model beside internal/llm, which asks real models. Each policy has a file here. The package
// reads the input of a call, never its prompt, and knows nothing of stores, jobs or HTTP.
package analyst

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Name is the model name of the analyst's answers. Its version is a hash of golden answers, which a test compares.
const Name = "extractive@0a7b645b"

// Analyst answers calls without a model. It is safe for concurrent use. The zero Analyst is not usable.
type Analyst struct {
	answers map[string]answerer // by the call's name
}

// New returns an Analyst.
func New() *Analyst {
	a := &Analyst{answers: map[string]answerer{}}
	for _, calls := range []map[string]answerer{noteCalls(), factCalls(), graphCalls(), dayCalls(), tierCalls(), layerCalls()} {
		maps.Copy(a.answers, calls)
	}
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
	answerCall, ok := a.answers[c.Name]
	if !ok {
		return answer, fault.New(fault.Internal, "the analyst has no answer to the call %q", c.Name)
	}
	out, ok := answerCall(c.Input)
	if !ok {
		return answer, fault.New(fault.Internal, "the analyst cannot read the input of the call %q: it has the type %T", c.Name, c.Input)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return answer, fault.Wrap(err, fault.Internal, "write the answer of %q", c.Name)
	}
	if c.Check != nil {
		if err := c.Check(raw); err != nil {
			answer.JSON = memory.EmptyAnswer(c.Schema)
			return answer, fault.Wrap(memory.ErrBadAnswer, fault.ModelFailed, "the analyst has no usable answer to %q", c.Name)
		}
	}
	answer.JSON = raw
	return answer, nil
}

// answerer answers one call from its structured input. ok is false for input of another type.
type answerer func(input any) (answer any, ok bool)

// answer turns a function of one input type into an answerer.
func answer[In, Out any](of func(In) Out) answerer {
	return func(input any) (any, bool) {
		in, ok := input.(In)
		if !ok {
			return nil, false
		}
		return of(in), true
	}
}

var _ memory.Model = (*Analyst)(nil)
