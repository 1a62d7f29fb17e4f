package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// reviews lists reviews of visible collections that the scope reaches; tail is what follows the
// conditions.
func (q *session) reviews(ctx context.Context, s tenant.Scope, now time.Time, tail string, args ...any) ([]memory.Review, error) {
	seen, seenArgs := seenCollections(s, now)
	text := "SELECT " + store.ReviewColumns + " FROM reviews r JOIN collections c ON c.tenant = r.tenant AND c.id = r.collection WHERE r.tenant = ?" + seen + tail
	return collect(ctx, q, text, append(append([]any{s.Tenant()}, seenArgs...), args...), store.ScanReview)
}

// Review implements store.ReviewRows.
func (q *session) Review(ctx context.Context, s tenant.Scope, id uuid.UUID, now time.Time) (memory.Review, bool, error) {
	return store.First(q.reviews(ctx, s, now, " AND r.id = ?", id))
}

// ListReviews implements store.ReviewRows.
func (q *session) ListReviews(ctx context.Context, s tenant.Scope, rq memory.ReviewQuery, now time.Time) ([]memory.Review, error) {
	var text string
	var args []any
	if rq.Collection != uuid.Nil {
		text, args = text+" AND r.collection = ?", append(args, rq.Collection)
	}
	if rq.State != "" {
		text, args = text+" AND r.state = ?", append(args, rq.State)
	}
	if rq.Proposals {
		text += " AND r.state IN ('open', 'approved', 'rejected')"
	}
	order := " ORDER BY r.id DESC"
	if rq.ByRisk {
		order = " ORDER BY r.confidence, r.id DESC"
	}
	return q.reviews(ctx, s, now, text+order+" LIMIT +? OFFSET ?", append(args, limit(rq.Limit), rq.Offset)...)
}

// ReviewState implements store.ReviewRows.
func (q *session) ReviewState(ctx context.Context, tenantID, collection, id uuid.UUID) (s memory.ReviewState, ok bool, err error) {
	ok, err = q.get(ctx, "SELECT state FROM reviews WHERE tenant = ? AND id = ? AND collection = ?", []any{tenantID, id, collection}, &s)
	return s, ok, err
}
