package notes

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Purposes of the calls that answer questions. All other calls are costs of adding.
const (
	PurposeChat      = "chat"      // writing the reply
	PurposeRelevance = "relevance" // judging the relevance of what was found for it
)

// CostsStore is what Costs requires of a store.
type CostsStore interface {
	OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error)
	CountChangesets(ctx context.Context, s tenant.Scope, v memory.View, cause memory.Cause, from, to time.Time) (map[string]int64, error)
	ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]memory.ModelUse, error)
}

// Costs returns what the model calls of a collection cost. A call is counted a few seconds after it
// was made.
type Costs struct{ store CostsStore }

// NewCosts returns the use-case over a store.
func NewCosts(store CostsStore) *Costs { return &Costs{store: store} }

// CollectionCosts holds the calls and tokens of a collection within a range of days.
type CollectionCosts struct {
	Purposes  []memory.ModelUse // by purpose, without days
	Days      []DayCost         // in order; without days on which nothing was counted
	Adds      int64             // changes that added notes or messages: a call of Add or AddMessages, or one batch of a bulk
	Answers   int64             // calls with the purpose chat
	PerAdd    Cost              // of all purposes except those of answers
	PerAnswer Cost
}

// DayCost holds what was added and called on one day (UTC, 2006-01-02).
type DayCost struct {
	memory.ModelUse // without collection and purpose
	Adds            int64
}

// Cost is an average. Its fields are zero if there was nothing to average.
type Cost struct {
	Calls, PromptTokens, CompletionTokens float64
}

// Of returns the costs from the first day to the last, both included (UTC), of the collection
// itself without its ancestors (notes:read).
func (c *Costs) Of(ctx context.Context, s tenant.Scope, ref string, first, last time.Time) (CollectionCosts, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return CollectionCosts{}, err
	}
	if first.After(last) {
		return CollectionCosts{}, fault.InvalidField("from", "must not be after the last day")
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
	adds, err := c.store.CountChangesets(ctx, s, v, memory.CauseAdd, first, last.AddDate(0, 0, 1))
	if err != nil {
		return CollectionCosts{}, err
	}
	days := map[string]*DayCost{}
	day := func(name string) *DayCost {
		if days[name] == nil {
			days[name] = &DayCost{ModelUse: memory.ModelUse{Day: name}}
		}
		return days[name]
	}
	for name, n := range adds {
		out.Adds += n
		day(name).Adds = n
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
		addUse(&day(u.Day).ModelUse, u)
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
	for _, name := range slices.Sorted(maps.Keys(days)) {
		out.Days = append(out.Days, *days[name])
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
