package recall

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Nearest returns up to q.Limit visible notes that match the filter and are most similar to
// the vector by cosine, best first; with Limit 0 it returns none. It is an internal look-up:
// it counts no access and requires no permission but the view's.
func (r *Service) Nearest(ctx context.Context, s tenant.Scope, v memory.View, q memory.NearestQuery) ([]memory.Nearest, error) {
	if err := v.Check(s); err != nil {
		return nil, err
	}
	ix, err := r.openIndex(ctx, s, v)
	if err != nil {
		return nil, err
	}
	query, err := ix.Query("", q.Vector)
	if err != nil {
		return nil, err
	}
	_, end := r.spans.start(ctx, spanSearch, telemetry.SearchMode.String(string(Vector)))
	hits := query.Vector(ix.Select(q.Filter), q.Limit)
	end(nil)
	out := make([]memory.Nearest, len(hits))
	for i, h := range hits {
		out[i] = memory.Nearest{
			Version: memory.Version{Layer: v.Layers[h.Layer].Collection, Note: h.Note, From: memory.Revision(h.From)},
			Score:   h.Score,
		}
	}
	return out, nil
}
