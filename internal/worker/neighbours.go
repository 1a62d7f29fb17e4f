package worker

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Finder finds notes by vector; *recall.Service is it.
type Finder interface {
	Nearest(ctx context.Context, s tenant.Scope, v memory.View, vector []float32, k int, only filter.Expr) ([]recall.Near, error)
}

// Neighbours gives the engine its neighbours from the index of recall.
type Neighbours struct{ Recall Finder }

// Nearest implements engine.Neighbours.
func (n Neighbours) Nearest(ctx context.Context, s tenant.Scope, v memory.View, q engine.NearestQuery) ([]engine.Near, error) {
	found, err := n.Recall.Nearest(ctx, s, v, q.Vector, q.K, q.Filter)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Near, len(found))
	for i, f := range found {
		out[i] = engine.Near(f)
	}
	return out, nil
}

var (
	_ engine.Neighbours = Neighbours{}
	_ Finder            = (*recall.Service)(nil)
)
