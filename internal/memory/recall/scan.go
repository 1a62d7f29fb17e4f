package recall

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
)

// canScan reports whether the store answers the search instead of a cold index. The store only
// compares vectors, so the search must need nothing else, and expiry must not apply.
func (sr *searchRun) canScan() bool {
	return sr.service.cfg.ColdScan && sr.mode == Vector && sr.q.Rerank != RerankModel && sr.q.ExpandLinks == 0 && sr.q.expiredBy.IsZero() &&
		sr.service.indexes.isCold(&sr.view)
}

// scanStore returns the hits of the store's exact scan, ranked as those of the index are, while the
// index loads in the background.
func (sr *searchRun) scanStore(ctx context.Context) ([]search.Hit, error) {
	sr.service.loadAhead(sr.scope, sr.view)
	made, err := sr.embedQuery(ctx)
	if err != nil {
		return nil, err
	}
	ranker, err := sr.ranker()
	if err != nil {
		return nil, err
	}
	near, err := sr.service.store.Nearest(ctx, sr.scope, sr.view, memory.NearestQuery{
		Vector: made.Vector, Filter: sr.q.Filter, Limit: search.Depth(sr.q.K),
	})
	if err != nil {
		return nil, err
	}
	sr.nearest = make(map[uuid.UUID]memory.Version, len(near))
	candidates := make([]search.Candidate, len(near))
	for i, n := range near {
		sr.nearest[n.Note] = n.Version
		candidates[i] = search.Candidate{Note: n.Note, Values: search.Values{search.Vector: n.Score}, Dense: true, ByVector: true}
	}
	o := search.Options{Mode: Vector, K: sr.q.K, MinScore: sr.q.MinScore, Now: sr.service.clock()}
	return ranker.Rank(candidates, o).Hits, nil
}
