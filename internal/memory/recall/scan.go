package recall

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
)

// loadingDegraded is the reason why meaning alone answered a search by words and meaning.
const loadingDegraded = "the index is loading; meaning alone answered"

// canScan reports whether the store can answer the search. The store only compares vectors, so the search
// must need nothing else, and expiry must not apply.
func (sr *searchRun) canScan() bool {
	return sr.view.Of == nil && sr.mode != Lexical && sr.q.Rerank != RerankModel && sr.q.Rerank != RerankEndpoint && sr.q.ExpandLinks == 0 && sr.q.expiredBy.IsZero()
}

// farBehind is how many revisions an index may lack and still be read as a warm one. It reads as many in less
// than ColdWait, unless they are of a bulk, which may be of a million notes.
const farBehind = 100

// openIndex opens the index. It leaves it nil when the store has to answer, because the index is cold or far
// behind and is not filled soon; it is then filled in the background. What was not read of it is not waited for, if it is much.
func (sr *searchRun) openIndex(ctx context.Context) (err error) {
	r := sr.service
	if !sr.canScan() || !r.indexes.isBehind(&sr.view, farBehind) {
		return sr.waitForIndex(ctx, r.cfg.LoadTimeout)
	}
	if r.cfg.ColdScan && sr.mode == Vector {
		sr.loadAfter = true
		return nil
	}
	if r.cfg.ColdNotes < 0 || sr.q.Internal {
		return sr.waitForIndex(ctx, r.cfg.LoadTimeout)
	}
	rows, loads := r.indexes.heldOf(sr.scope.Tenant(), &sr.view)
	counts, err := r.store.Counts(ctx, sr.scope, sr.view)
	if err != nil {
		return err
	}
	if counts.Notes < r.cfg.ColdNotes {
		return sr.waitForIndex(ctx, r.cfg.LoadTimeout)
	}
	sr.loadAfter = !loads && counts.Notes-rows >= r.cfg.ColdNotes
	if !sr.loadAfter {
		if err = sr.waitForIndex(ctx, min(r.cfg.ColdWait, r.cfg.LoadTimeout)); !fault.Is(err, fault.Unavailable) {
			return err
		}
	}
	if err := sr.q.Batch.charge(&sr.q, int(counts.Notes)); err != nil {
		return err
	}
	if sr.mode == Hybrid {
		sr.mode, sr.degraded = Vector, loadingDegraded
	}
	return nil
}

// waitForIndex opens the index. When it is not filled in time, it is filled in the background.
func (sr *searchRun) waitForIndex(ctx context.Context, timeout time.Duration) (err error) {
	sr.index, err = sr.service.openIndexWithin(ctx, sr.scope, sr.view, timeout)
	if fault.Is(err, fault.Unavailable) {
		sr.service.loadAhead(sr.scope, sr.view)
	}
	return err
}

// scanStore returns the hits of the store's exact scan, ranked as those of the index are.
func (sr *searchRun) scanStore(ctx context.Context, vector []float32) ([]search.Hit, error) {
	if !sr.service.cfg.ColdScan { // the store computes in this process
		leave, err := sr.service.turns.Enter(ctx, sr.scope.Tenant(), sr.class())
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	ranker, err := sr.ranker()
	if err != nil {
		return nil, err
	}
	near, err := sr.service.store.Nearest(ctx, sr.scope, sr.view, memory.NearestQuery{
		Vector: vector, Filter: sr.q.Filter, Limit: search.Depth(sr.q.K),
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
	o := search.Options{Mode: Vector, K: len(candidates), MinScore: sr.q.MinScore, Now: sr.service.clock()}
	result := ranker.Rank(candidates, o)
	return sr.distinctHits(ctx, result.Hits)
}

// distinctHits returns the first K hits of which no two say the same. It reads the notes for that, as many
// as it needs.
func (sr *searchRun) distinctHits(ctx context.Context, hits []search.Hit) ([]search.Hit, error) {
	out, seen, hidden := make([]search.Hit, 0, min(sr.q.K, len(hits))), map[int64]bool{}, map[uuid.UUID]bool{}
	for part := range slices.Chunk(hits, max(sr.q.K, 1)) {
		notes, err := sr.readNotes(ctx, part, false)
		if err != nil {
			return nil, err
		}
		digests := make(map[uuid.UUID]int64, len(notes))
		for i := range notes {
			if n := &notes[i]; n.Matches(sr.q.leftOut) {
				hidden[n.ID] = true
			} else {
				digests[n.ID] = memory.DigestOf(n)
			}
		}
		for _, h := range part {
			d, ok := digests[h.Note]
			if hidden[h.Note] || ok && seen[d] {
				continue
			}
			seen[d] = ok
			if out = append(out, h); len(out) == sr.q.K {
				return out, nil
			}
		}
	}
	return out, nil
}
