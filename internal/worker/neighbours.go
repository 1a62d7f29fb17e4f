package worker

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Searcher answers searches; *recall.Service is it.
type Searcher interface {
	Search(ctx context.Context, s tenant.Scope, v memory.View, q recall.Query) (recall.Result, error)
}

// Neighbours finds neighbours for the engine through recall, by vector and as
// an internal look-up that counts no access.
type Neighbours struct{ Recall Searcher }

// Nearest implements engine.Neighbours.
func (n Neighbours) Nearest(ctx context.Context, s tenant.Scope, v memory.View, q engine.NearestQuery) ([]engine.Near, error) {
	r, err := n.Recall.Search(ctx, s, v, recall.Query{
		Vector: q.Vector, Mode: recall.Vector, K: q.K, Filter: q.Filter, IDsOnly: true, Internal: true,
	})
	if err != nil {
		return nil, err
	}
	out := make([]engine.Near, len(r.Hits))
	for i, h := range r.Hits {
		out[i] = engine.Near{Note: h.ID, Score: h.Score}
	}
	return out, nil
}

var _ engine.Neighbours = Neighbours{}
