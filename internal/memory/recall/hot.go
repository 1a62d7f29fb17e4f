package recall

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Hot lists the visible notes with the highest memory.HotScore, the hottest first (notes:read);
// limit is 1..200, 0 is 50. Counts of this process are written first; those of other processes may
// be Config.FlushEvery old.
func (r *Service) Hot(ctx context.Context, s tenant.Scope, v memory.View, limit int) ([]HotNote, error) {
	if err := checkRead(s, &v); err != nil {
		return nil, err
	}
	limit, err := pageLimit(limit)
	if err != nil {
		return nil, err
	}
	// When the counts cannot be written, the hot notes do not include the latest.
	if err := r.counter.flushCollection(ctx, v.Collection.ID); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		r.outages.usage.Report(ctx, err)
	}
	hot, err := r.store.Hot(ctx, s, v, limit)
	if err != nil || len(hot) == 0 {
		return nil, err
	}
	ids := make([]uuid.UUID, len(hot))
	byID := make(map[uuid.UUID]memory.HotNote, len(hot))
	for i, h := range hot {
		ids[i], byID[h.Note] = h.Note, h
	}
	views, err := r.readViews(ctx, s, v, ids, false)
	if err != nil {
		return nil, err
	}
	out := make([]HotNote, len(views))
	for i := range views {
		h := byID[views[i].ID]
		out[i] = HotNote{Note: views[i], Score: h.Score}
		out[i].Note.Usage = h.Usage // the score was computed from it
	}
	return out, nil
}
