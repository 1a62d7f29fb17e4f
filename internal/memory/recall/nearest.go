package recall

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Nearest gives up to k visible notes most similar to a vector by cosine, best
// first, of those that the filter lets pass. It is an internal look-up: it
// counts no access and asks no permission but the view's.
func (r *Service) Nearest(ctx context.Context, s tenant.Scope, v memory.View, vector []float32, k int, only filter.Expr) ([]Near, error) {
	if err := v.Check(s); err != nil {
		return nil, err
	}
	ix, err := r.opened(ctx, s, v)
	if err != nil {
		return nil, err
	}
	q, err := ix.Query("", vector)
	if err != nil {
		return nil, err
	}
	hits := q.Vector(ix.Select(only), max(k, 0))
	out := make([]Near, len(hits))
	for i, h := range hits {
		out[i] = Near{Note: h.Note, Score: h.Score}
	}
	return out, nil
}
