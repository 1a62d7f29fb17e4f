package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const reviewTables = " FROM reviews r CROSS JOIN LATERAL (SELECT * FROM collections c WHERE c.tenant = r.tenant AND c.id = r.collection LIMIT 1) c WHERE r.tenant = "

func (q *session) reviews(ctx context.Context, text string, args ...any) ([]memory.Review, error) {
	return collect(ctx, q, text, args, store.ScanReview)
}

// Review implements store.ReviewRows.
func (q *session) Review(ctx context.Context, s tenant.Scope, id uuid.UUID, now time.Time) (memory.Review, bool, error) {
	var p params
	text := "SELECT " + store.ReviewColumns + reviewTables + p.add(s.Tenant()) + " AND r.id = " + p.add(id) + seenBy(&p, s, now)
	return store.First(q.reviews(ctx, text, p.args...))
}

// ListReviews implements store.ReviewRows.
func (q *session) ListReviews(ctx context.Context, s tenant.Scope, rq memory.ReviewQuery, now time.Time) ([]memory.Review, error) {
	var p params
	text := "SELECT " + store.ReviewColumns + reviewTables + p.add(s.Tenant()) + seenBy(&p, s, now)
	if rq.Collection != uuid.Nil {
		text += " AND r.collection = " + p.add(rq.Collection)
	}
	if rq.State != "" {
		text += " AND r.state = " + p.add(store.Clean(string(rq.State)))
	}
	if rq.Proposals {
		text += " AND r.state IN ('open', 'approved', 'rejected')"
	}
	order := " ORDER BY r.id DESC"
	if rq.ByRisk {
		order = " ORDER BY r.confidence, r.id DESC"
	}
	text += order + " LIMIT " + p.add(store.Limit(rq.Limit)) + " OFFSET " + p.add(rq.Offset)
	return q.reviews(ctx, text, p.args...)
}

// ReviewState implements store.ReviewRows.
func (q *session) ReviewState(ctx context.Context, tenantID, collection, id uuid.UUID) (s memory.ReviewState, ok bool, err error) {
	ok, err = q.get(ctx, "SELECT state FROM reviews WHERE "+store.ThatReview+" FOR UPDATE", []any{tenantID, id, collection}, &s)
	return s, ok, err
}
