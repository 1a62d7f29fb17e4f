package recall

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
)

// scans tells whether the store answers: it knows similarity, so a search that
// asks for nothing else, and where nothing expires, need not wait for a cold index.
func (f *finding) scans() bool {
	return f.r.cfg.ColdScan && f.mode == Vector && f.q.Rerank != RerankModel && f.q.ExpandLinks == 0 && f.q.now.IsZero() &&
		f.r.indexes.cold(&f.view)
}

// scan gives the hits by the store's own exact scan, ranked as the index's
// would be, while the index loads in the background.
func (f *finding) scan(ctx context.Context) ([]search.Hit, error) {
	f.r.loadAhead(f.scope, f.view)
	made, err := f.embedding(ctx)
	if err != nil {
		return nil, err
	}
	ranker, err := f.ranker()
	if err != nil {
		return nil, err
	}
	near, err := f.r.store.Nearest(ctx, f.scope, f.view, memory.NearestQuery{
		Vector: made.Vector, Filter: f.q.Filter, Limit: search.Depth(f.q.K),
	})
	if err != nil {
		return nil, err
	}
	f.nearest = make(map[uuid.UUID]memory.Version, len(near))
	candidates := make([]search.Candidate, len(near))
	for i, n := range near {
		f.nearest[n.Note] = n.Version
		candidates[i] = search.Candidate{Note: n.Note, Values: search.Values{search.Vector: n.Score}, Dense: true, ByVector: true}
	}
	o := search.Options{Mode: Vector, K: f.q.K, MinScore: f.q.MinScore, Now: f.r.clock()}
	return ranker.Rank(candidates, o).Hits, nil
}
