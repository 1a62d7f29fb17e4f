package store

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// ReviewRows are the rows of reviews.
type ReviewRows interface {
	// Review returns a review of a visible collection that the scope reaches.
	Review(ctx context.Context, s tenant.Scope, id uuid.UUID, now time.Time) (r memory.Review, ok bool, err error)
	// ListReviews lists reviews of visible collections that the scope reaches.
	ListReviews(ctx context.Context, s tenant.Scope, q memory.ReviewQuery, now time.Time) ([]memory.Review, error)
	// ReviewState returns the state of a review of a collection, and locks the review.
	ReviewState(ctx context.Context, tenantID, collection, id uuid.UUID) (s memory.ReviewState, ok bool, err error)
}

// ThatReview finds a review by its id, and not by the index of its collection.
const ThatReview = "tenant = $1 AND id = $2 AND collection IS NOT DISTINCT FROM $3"

// ReviewColumns are the columns of reviews r that ScanReview reads.
const ReviewColumns = "r.id, r.collection, r.job, r.trigger, r.state, r.confidence, r.changes, r.read, r.revision, r.reason, r.actor, r.created_at, r.closed_at"

// ScanReview reads ReviewColumns.
func ScanReview(row Scanner) (r memory.Review, err error) {
	var changes json.RawMessage
	err = row.Scan(&r.ID, &r.Collection, &r.Job, &r.Trigger, &r.State, &r.Confidence, JSON(&changes), JSON(&r.Read), &r.Revision, &r.Reason, &r.Actor, Time(&r.CreatedAt), Time(&r.ClosedAt))
	if err != nil {
		return r, err
	}
	err = readChanges(&r, changes)
	return r, err
}

// Review implements memory.ReviewStore.
func (b *Base) Review(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Review, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) (memory.Review, error) {
		r, ok, err := q.Review(ctx, s, id, b.now())
		if err == nil && !ok {
			err = fault.Missing("review")
		}
		return r, err
	})
}

// ListReviews implements memory.ReviewStore.
func (b *Base) ListReviews(ctx context.Context, s tenant.Scope, rq memory.ReviewQuery) ([]memory.Review, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.Review, error) {
		if rq.Collection != uuid.Nil {
			if _, err := ReachVisible(ctx, q, s, rq.Collection, b.now()); err != nil {
				return nil, err
			}
		}
		return q.ListReviews(ctx, s, rq, b.now())
	})
}

// readChanges reads the changes of a review. Attributes are read as those of notes are.
func readChanges(r *memory.Review, changes []byte) error {
	d := json.NewDecoder(bytes.NewReader(changes))
	d.UseNumber()
	if err := d.Decode(&r.Changes); err != nil {
		return err
	}
	for _, c := range r.Changes {
		for _, n := range []*memory.Note{c.Before, c.After} {
			if n != nil {
				convertNumbers(n.Attributes)
			}
		}
		for _, l := range c.Links {
			convertNumbers(l.Attributes)
		}
	}
	return nil
}

// checkReviewStep returns Conflict unless a review may go from one state to another.
func checkReviewStep(from, to memory.ReviewState) error {
	var allowed bool
	switch to {
	case memory.ReviewApproved, memory.ReviewRejected:
		allowed = from == memory.ReviewOpen
	case memory.ReviewUndone:
		allowed = from == memory.ReviewApplied || from == memory.ReviewApproved
	case memory.ReviewOpen, memory.ReviewApplied:
	}
	if !allowed {
		return fault.New(fault.Conflict, "the review is %s already", from)
	}
	return nil
}
