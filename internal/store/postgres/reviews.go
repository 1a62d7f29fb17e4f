package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const reviewColumns = "r.id, r.collection, r.job, r.trigger, r.state, r.confidence, r.changes, r.read, r.revision, r.reason, r.actor, r.created_at, r.closed_at"

func scanReview(rows pgx.Rows) (r memory.Review, err error) {
	var changes, read string
	var closed *time.Time
	if err := rows.Scan(&r.ID, &r.Collection, &r.Job, &r.Trigger, &r.State, &r.Confidence, &changes, &read, &r.Revision, &r.Reason, &r.Actor, &r.CreatedAt, &closed); err != nil {
		return r, err
	}
	r.CreatedAt, r.ClosedAt = r.CreatedAt.UTC(), timeOf(closed)
	err = store.ReadReview(&r, changes, read)
	return r, err
}

func (q *session) reviews(ctx context.Context, text string, args ...any) (out []memory.Review, err error) {
	err = q.each(ctx, text, args, func(rows pgx.Rows) error {
		r, err := scanReview(rows)
		out = append(out, r)
		return err
	})
	return out, err
}

// OpenReview implements memory.Tx.
func (t *tx) OpenReview(_ context.Context, r memory.Review) (memory.Review, error) {
	if err := store.NewReview(&r); err != nil {
		return r, err
	}
	r.Collection, r.CreatedAt, r.ClosedAt = t.row.ID, t.now, trunc(r.ClosedAt)
	changes, err := document("changes", r.Changes)
	if err != nil {
		return r, err
	}
	read, err := document("read", r.Read)
	if err != nil {
		return r, err
	}
	t.q.later(`INSERT INTO reviews (tenant, id, collection, job, trigger, state, confidence, changes, read, revision, reason, actor, created_at, closed_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`, t.tenant(), r.ID, r.Collection, r.Job, r.Trigger, string(r.State), r.Confidence,
		changes, read, rev(r.Revision), r.Reason, r.Actor, r.CreatedAt, at(r.ClosedAt))
	return r, nil
}

// UpdateReview implements memory.Tx.
func (t *tx) UpdateReview(_ context.Context, r memory.Review) error {
	if err := store.Text("reason", r.Reason); err != nil {
		return err
	}
	var now memory.ReviewState
	ok, err := t.q.get(t.bare, "SELECT state FROM reviews WHERE tenant = $1 AND id = $2 AND collection = $3 FOR UPDATE",
		[]any{t.tenant(), r.ID, t.row.ID}, &now)
	if err == nil && !ok {
		err = fault.Missing("review")
	}
	if err == nil {
		err = store.CheckReview(now, r.State)
	}
	if err != nil {
		return err
	}
	closed := trunc(r.ClosedAt)
	if closed.IsZero() {
		closed = t.now
	}
	t.q.later("UPDATE reviews SET state = $4, reason = $5, actor = $6, revision = $7, closed_at = $8 WHERE tenant = $1 AND id = $2 AND collection = $3",
		t.tenant(), r.ID, t.row.ID, string(r.State), r.Reason, store.Clean(r.Actor), rev(r.Revision), closed)
	return nil
}

// Review implements memory.ReviewStore.
func (s *Store) Review(ctx context.Context, sc tenant.Scope, id uuid.UUID) (r memory.Review, err error) {
	if err := sc.Check(); err != nil {
		return r, err
	}
	var p params
	text := "SELECT " + reviewColumns + " FROM reviews r JOIN collections c ON c.tenant = r.tenant AND c.id = r.collection WHERE r.tenant = " + p.add(sc.Tenant()) +
		" AND r.id = " + p.add(id) + seen(&p, sc, s.now())
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		found, err := q.reviews(ctx, text, p.args...)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fault.Missing("review")
		}
		r = found[0]
		return nil
	})
	return r, err
}

// ListReviews implements memory.ReviewStore.
func (s *Store) ListReviews(ctx context.Context, sc tenant.Scope, rq memory.ReviewQuery) (out []memory.Review, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	var p params
	text := "SELECT " + reviewColumns + " FROM reviews r JOIN collections c ON c.tenant = r.tenant AND c.id = r.collection WHERE r.tenant = " + p.add(sc.Tenant()) + seen(&p, sc, s.now())
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
	text += order + " LIMIT " + p.add(limit(rq.Limit)) + " OFFSET " + p.add(rq.Offset)
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		if rq.Collection != uuid.Nil {
			if _, err := q.live(ctx, sc, rq.Collection, s.now()); err != nil {
				return err
			}
		}
		out, err = q.reviews(ctx, text, p.args...)
		return err
	})
	return out, err
}
