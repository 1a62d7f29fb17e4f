package notes

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Purposes of calls that an answer costs. All others are what adds cost.
const (
	PurposeChat      = "chat"      // the reply itself
	PurposeRelevance = "relevance" // the judgement of what was found for it
)

// CostsStore is what Costs asks of a store.
type CostsStore interface {
	OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error)
	CountChangesets(ctx context.Context, s tenant.Scope, v memory.View, cause memory.Cause, from, to time.Time) (int64, error)
	ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]memory.ModelUse, error)
}

// Costs tells what the model calls of a collection cost. A use is told about
// once it has been written, a few seconds after the call.
type Costs struct{ store CostsStore }

// NewCosts makes the use-case.
func NewCosts(store CostsStore) *Costs { return &Costs{store: store} }

// CollectionCosts are the calls and tokens of a collection within some days.
type CollectionCosts struct {
	Purposes  []memory.ModelUse // by purpose, without days
	Adds      int64             // changes that brought notes or messages: a call of Add or AddMessages, or one batch of a bulk
	Answers   int64             // calls of the purpose chat
	PerAdd    Cost              // of all purposes but those of answers
	PerAnswer Cost
}

// Cost is an average; zeros where there is nothing to divide by.
type Cost struct {
	Calls, PromptTokens, CompletionTokens float64
}

// Of sums up the days from the first to the last, both included (UTC), for the
// collection itself and not for what it is a fork of (notes:read).
func (c *Costs) Of(ctx context.Context, s tenant.Scope, ref string, first, last time.Time) (CollectionCosts, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return CollectionCosts{}, err
	}
	if first.After(last) {
		return CollectionCosts{}, fault.InvalidField("from", "must not lie after the last day")
	}
	v, err := c.store.OpenView(ctx, s, ref, memory.At{})
	if err != nil {
		return CollectionCosts{}, err
	}
	used, err := c.store.ModelUse(ctx, s, first.Format(time.DateOnly), last.Format(time.DateOnly))
	if err != nil {
		return CollectionCosts{}, err
	}
	var out CollectionCosts
	if out.Adds, err = c.store.CountChangesets(ctx, s, v, memory.CauseAdd, first, last.AddDate(0, 0, 1)); err != nil {
		return CollectionCosts{}, err
	}
	var adding, answering memory.ModelUse
	for _, u := range used {
		if u.Collection != v.Collection.ID {
			continue
		}
		i := slices.IndexFunc(out.Purposes, func(o memory.ModelUse) bool { return o.Purpose == u.Purpose })
		if i < 0 {
			i = len(out.Purposes)
			out.Purposes = append(out.Purposes, memory.ModelUse{Collection: u.Collection, Purpose: u.Purpose})
		}
		addUse(&out.Purposes[i], u)
		switch u.Purpose {
		case PurposeChat:
			out.Answers += u.Calls
			addUse(&answering, u)
		case PurposeRelevance:
			addUse(&answering, u)
		default:
			addUse(&adding, u)
		}
	}
	slices.SortFunc(out.Purposes, func(a, b memory.ModelUse) int { return strings.Compare(a.Purpose, b.Purpose) })
	out.PerAdd, out.PerAnswer = costPer(&adding, out.Adds), costPer(&answering, out.Answers)
	return out, nil
}

func addUse(u *memory.ModelUse, o memory.ModelUse) {
	u.Calls += o.Calls
	u.PromptTokens += o.PromptTokens
	u.CompletionTokens += o.CompletionTokens
}

func costPer(u *memory.ModelUse, n int64) Cost {
	if n == 0 {
		return Cost{}
	}
	return Cost{
		Calls: float64(u.Calls) / float64(n), PromptTokens: float64(u.PromptTokens) / float64(n),
		CompletionTokens: float64(u.CompletionTokens) / float64(n),
	}
}
