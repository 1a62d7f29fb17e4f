package sqlite

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const reviewColumns = "r.id, r.collection, r.job, r.trigger, r.state, r.confidence, r.changes, r.read, r.revision, r.reason, r.actor, r.created_at, r.closed_at"

func scanReview(rows interface{ Scan(...any) error }) (r memory.Review, err error) {
	var changes, read string
	var created, closed int64
	if err := rows.Scan(&r.ID, &r.Collection, &r.Job, &r.Trigger, &r.State, &r.Confidence, &changes, &read, &r.Revision, &r.Reason, &r.Actor, &created, &closed); err != nil {
		return r, err
	}
	r.CreatedAt, r.ClosedAt = timeOf(created), timeOf(closed)
	err = store.ReadReview(&r, changes, read)
	return r, err
}

func (q *session) reviews(ctx context.Context, text string, args ...any) (out []memory.Review, err error) {
	err = q.each(ctx, text, args, func(rows *sql.Rows) error {
		r, err := scanReview(rows)
		out = append(out, r)
		return err
	})
	return out, err
}

// OpenReview implements memory.Tx.
func (t *tx) OpenReview(ctx context.Context, r memory.Review) (memory.Review, error) {
	ctx = context.WithoutCancel(ctx)
	if err := store.NewReview(&r); err != nil {
		return r, err
	}
	r.Collection, r.CreatedAt, r.ClosedAt = t.row.ID, t.now, trunc(r.ClosedAt)
	changes, err := store.Document("changes", r.Changes)
	if err != nil {
		return r, err
	}
	read, err := store.Document("read", r.Read)
	if err != nil {
		return r, err
	}
	_, err = t.q.exec(ctx, `INSERT INTO reviews (tenant, id, collection, job, trigger, state, confidence, changes, read, revision, reason, actor, created_at, closed_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, blob(t.tenant()), blob(r.ID), blob(r.Collection), blob(r.Job), blob(r.Trigger), string(r.State), r.Confidence,
		changes, read, rev(r.Revision), r.Reason, r.Actor, micros(r.CreatedAt), micros(r.ClosedAt))
	return r, err
}

// UpdateReview implements memory.Tx.
func (t *tx) UpdateReview(ctx context.Context, r memory.Review) error {
	ctx = context.WithoutCancel(ctx)
	if err := store.Text("reason", r.Reason); err != nil {
		return err
	}
	var now memory.ReviewState
	ok, err := t.q.get(ctx, "SELECT state FROM reviews WHERE tenant = ? AND id = ? AND collection = ?", []any{blob(t.tenant()), blob(r.ID), blob(t.row.ID)}, &now)
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
	_, err = t.q.exec(ctx, "UPDATE reviews SET state = ?, reason = ?, actor = ?, revision = ?, closed_at = ? WHERE tenant = ? AND id = ? AND collection = ?",
		string(r.State), r.Reason, store.Clean(r.Actor), rev(r.Revision), micros(closed), blob(t.tenant()), blob(r.ID), blob(t.row.ID))
	return err
}

// Review implements memory.ReviewStore.
func (s *Store) Review(ctx context.Context, sc tenant.Scope, id uuid.UUID) (r memory.Review, err error) {
	if err := sc.Check(); err != nil {
		return r, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		found, err := q.reviews(ctx, "SELECT "+reviewColumns+" FROM reviews r WHERE r.tenant = ? AND r.id = ?", blob(sc.Tenant()), blob(id))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fault.Missing("review")
		}
		if _, err := q.live(ctx, sc, found[0].Collection, s.now()); err != nil {
			if fault.Is(err, fault.NotFound) {
				return fault.Missing("review")
			}
			return err
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
	text := "SELECT " + reviewColumns + " FROM reviews r JOIN collections c ON c.tenant = r.tenant AND c.id = r.collection WHERE r.tenant = ? AND " + visibleCollections
	args := []any{blob(sc.Tenant()), micros(s.now())}
	if sc.HasAgent() {
		text += " AND c.agent IN (?, zeroblob(16))"
		args = append(args, blob(sc.Agent()))
	}
	if rq.Collection != uuid.Nil {
		text += " AND r.collection = ?"
		args = append(args, blob(rq.Collection))
	}
	if rq.State != "" {
		text += " AND r.state = ?"
		args = append(args, string(rq.State))
	}
	if rq.Proposals {
		text += " AND r.state IN ('open', 'approved', 'rejected')"
	}
	order := " ORDER BY r.id DESC"
	if rq.ByRisk {
		order = " ORDER BY r.confidence, r.id DESC"
	}
	args = append(args, limit(rq.Limit), rq.Offset)
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		if rq.Collection != uuid.Nil {
			if _, err := q.live(ctx, sc, rq.Collection, s.now()); err != nil {
				return err
			}
		}
		out, err = q.reviews(ctx, text+order+" LIMIT ? OFFSET ?", args...)
		return err
	})
	return out, err
}
