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
	"github.com/slipboxhq/slipbox/internal/said"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Name is the model name of the analyst's answers. Its version is a hash of golden answers, which a test compares.
const Name = "extractive@95d3aa8f"

// Analyst answers calls without a model. It is safe for concurrent use. The zero Analyst is not usable.
type Analyst struct {
	answers map[string]answerer // by the call's name
	encoder memory.Embedder     // nil: sentences are read without vectors
	name    string
}

// New returns an Analyst that reads sentences without vectors.
func New() *Analyst { return NewWith(nil) }

// NewWith returns an Analyst that reads the kinds of sentences from the vectors of an embedder. Nil, or one that is not
// said.Embedder: without vectors, as where the embedder fails.
func NewWith(vectors memory.Embedder) *Analyst {
	a := &Analyst{answers: map[string]answerer{}, name: Name}
	if vectors != nil && vectors.Name() == said.Embedder {
		a.encoder = vectors
		a.name += "+" + said.KindsVersion()
	}
	for _, calls := range []map[string]answerer{noteCalls(), factCalls(), graphCalls(), dayCalls(), tierCalls(), layerCalls(), weighCalls()} {
		maps.Copy(a.answers, calls)
	}
	return a
}

// Analyst returns memory.AnalystHeuristic.
func (a *Analyst) Analyst() memory.Analyst { return memory.AnalystHeuristic }

// Ask answers a call. For an unknown call, or input of another type than the call's, the error is
// an Internal fault. An answer that the call's own check refuses is ErrBadAnswer, as with a
// model. It makes no request and uses no tokens.
func (a *Analyst) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (memory.Answer, error) {
	answer := memory.Answer{Analyst: memory.AnalystHeuristic, Model: a.name}
	if err := ctx.Err(); err != nil {
		return answer, fault.Wrap(err, fault.Unavailable, "stopped while analyzing")
	}
	answerCall, ok := a.answers[c.Name]
	if !ok {
		return answer, fault.New(fault.Internal, "the analyst has no answer to the call %q", c.Name)
	}
	out, ok := answerCall(&reader{ctx: ctx, scope: s, encoder: a.encoder}, c.Input)
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
type answerer func(r *reader, input any) (answer any, ok bool)

// answer turns a function of one input type into an answerer.
func answer[In, Out any](of func(In) Out) answerer {
	return reading(func(_ *reader, in In) Out { return of(in) })
}

// reading turns a function that reads sentences into an answerer.
func reading[In, Out any](of func(*reader, In) Out) answerer {
	return func(r *reader, input any) (any, bool) {
		in, ok := input.(In)
		if !ok {
			return nil, false
		}
		return of(r, in), true
	}
}

// reader reads sentences for one call.
type reader struct {
	ctx     context.Context //nolint:containedctx // it lives as long as the call
	scope   tenant.Scope
	encoder memory.Embedder // nil: none
}

// sentences returns the sentences of turns, with their kinds if there are vectors.
func (r *reader) sentences(turns []said.Turn) []said.Sentence {
	return r.judged(said.Sentences(turns, 0))
}

// judged returns sentences with their kinds if there are vectors.
func (r *reader) judged(all []said.Sentence) []said.Sentence {
	if r.encoder == nil || !r.encoder.Fast() {
		return all
	}
	_ = said.Judge(all, func(texts []string) ([][]float32, error) {
		made, err := memory.EmbedAll(r.ctx, r.encoder, r.scope, texts)
		out := make([][]float32, len(made))
		for i := range made {
			out[i] = made[i].Vector
		}
		return out, err
	}) // where it fails, they stay as without vectors
	return all
}

var _ memory.Model = (*Analyst)(nil)
