package recall

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
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
	_, end := r.spans.search(ctx, Vector)
	hits := query.Vector(r.counted(ix.Select(q.Filter)), q.Limit)
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

// Used returns the use of notes; those that were never used may be missing. It is an internal look-up, like Nearest.
func (r *Service) Used(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	if err := v.Check(s); err != nil {
		return nil, err
	}
	r.counter.lockBook(v.Collection.ID).mu.Unlock() // a job asks again for the same notes, so their counts are kept
	return r.counter.usage(ctx, s, v, ids, false)
}

// Matching returns the ids of the visible notes that match a filter, ascending. ok is false while the index is cold, which
// it stays, or far behind: the store answers sooner then. It is an internal look-up, like Nearest.
func (r *Service) Matching(ctx context.Context, s tenant.Scope, v memory.View, e filter.Expr) (ids []uuid.UUID, ok bool, err error) {
	if err := v.Check(s); err != nil {
		return nil, false, err
	}
	if r.indexes.isBehind(&v, farBehind) {
		return nil, false, nil
	}
	ix, err := r.openIndex(ctx, s, v)
	if err != nil {
		return nil, false, err
	}
	return ascending(ix, r.counted(ix.Select(e))), true, nil
}

// ascending returns the ids of a selection.
func ascending(ix *index.View, of *index.Selection) (ids []uuid.UUID) {
	for note := range ix.Each(of) {
		ids = append(ids, note)
	}
	slices.SortFunc(ids, memory.CompareIDs)
	return ids
}
