package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (h *core) listReviews(c *gin.Context) error {
	cur, err := h.cursorOf(c)
	if err != nil {
		return err
	}
	q := memory.ReviewQuery{State: memory.ReviewState(query(c).Get("state")), ByRisk: query(c).Get("sort") == "risk"}
	// Without a filter for applied or undone, only proposals are listed.
	q.Proposals = q.State == ""
	if q.Collection, err = h.queryCollection(c); err != nil {
		return err
	}
	p := reviewPlace{}
	if cur != nil {
		if p, err = parseReviewPlace(cur.Position); err != nil {
			return badCursor("is not a cursor of this listing")
		}
	}
	page, next, err := h.reviewsAfter(c, q, p, pageLimit(c))
	if err != nil {
		return err
	}
	out := wire.ReviewList{Items: each(page, wireReview)}
	if out.NextCursor, err = h.nextCursor(c, next); err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

// reviewPlace is the position of a listing of reviews: the last review that was shown, and the
// offset after it at that time.
type reviewPlace struct {
	offset     int
	confidence float64
	id         uuid.UUID // zero: the start
}

func (p *reviewPlace) text() string {
	return fmt.Sprintf("%d %s %s", p.offset, strconv.FormatFloat(p.confidence, 'g', -1, 64), p.id)
}

func parseReviewPlace(text string) (p reviewPlace, err error) {
	var id string
	if _, err = fmt.Sscan(text, &p.offset, &p.confidence, &id); err != nil {
		return p, err
	}
	p.id, err = route.ParseID(id)
	return p, err
}

// isPast reports whether a review is at or before the place.
func (p *reviewPlace) isPast(r *memory.Review, byRisk bool) bool {
	if p.id == uuid.Nil {
		return false
	}
	if byRisk && r.Confidence != p.confidence {
		return r.Confidence < p.confidence
	}
	return r.ID.String() >= p.id.String() // newest first; ids ascend with time
}

// reviewsAfter returns the reviews after a place. Reviews that were opened or closed since have
// moved the offset, but the order of the others is the same. The place is found again from there,
// so no review is skipped or shown twice.
func (h *core) reviewsAfter(c *gin.Context, q memory.ReviewQuery, p reviewPlace, limit int) (page []memory.Review, next string, err error) {
	ctx, s := c.Request.Context(), scope(c)
	q.Offset, q.Limit = p.offset, limit+1
	for q.Offset > 0 {
		q.Offset = max(0, q.Offset-1)
		before, err := h.Engine.Reviews(ctx, s, memory.ReviewQuery{
			Collection: q.Collection, State: q.State, Proposals: q.Proposals, ByRisk: q.ByRisk, Offset: q.Offset, Limit: 1,
		})
		if err != nil {
			return nil, "", err
		}
		if len(before) == 1 && p.isPast(&before[0], q.ByRisk) {
			q.Offset++
			break
		}
		q.Offset = max(0, q.Offset-limit+1)
	}
	for {
		list, err := h.Engine.Reviews(ctx, s, q)
		if err != nil {
			return nil, "", err
		}
		for i := range list {
			if p.isPast(&list[i], q.ByRisk) {
				continue
			}
			if len(page) == limit {
				last := &page[limit-1]
				at := reviewPlace{offset: q.Offset + i, confidence: last.Confidence, id: last.ID}
				return page, at.text(), nil
			}
			page = append(page, list[i])
		}
		if len(list) < q.Limit {
			return page, "", nil
		}
		q.Offset += len(list)
	}
}

func (h *core) getReview(c *gin.Context, id uuid.UUID) error {
	r, err := h.Engine.Review(c.Request.Context(), scope(c), id)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wireReview(&r))
}

func (h *core) approveReview(c *gin.Context, body wire.ReviewDecision) error {
	return h.closeReview(c, h.answered(true, func(ctx context.Context, s tenant.Scope, id uuid.UUID, reason string) (memory.Review, error) {
		r, err := h.Engine.Review(ctx, s, id)
		switch {
		case err != nil:
			return r, err
		case r.Merge() != nil:
			return h.Clone.ApproveMerge(ctx, s, r, body.Notes, reason)
		case body.Notes != nil:
			return r, fault.InvalidField("notes", "only a review of a merge is approved in part")
		}
		return h.Engine.Approve(ctx, s, id, reason)
	}))
}

func (h *core) rejectReview(c *gin.Context) error {
	return h.closeReview(c, h.answered(false, h.Engine.Reject))
}

func (h *core) undoReview(c *gin.Context) error {
	return h.closeReview(c, func(ctx context.Context, s tenant.Scope, id uuid.UUID, reason string) (memory.Review, error) {
		r, err := h.Engine.Review(ctx, s, id)
		if err != nil {
			return r, err
		}
		if r.Revision == 0 {
			return r, fault.New(fault.Conflict, "the review is %s; nothing was applied that could be undone", r.State)
		}
		if _, err := h.Engine.Undo(ctx, s, r.Collection.String(), r.Revision, reason); err != nil {
			return r, err
		}
		return h.Engine.Review(ctx, s, id)
	})
}

// closing closes a review.
type closing func(ctx context.Context, s tenant.Scope, id uuid.UUID, reason string) (memory.Review, error)

func (h *core) closeReview(c *gin.Context, end closing) error {
	id, err := pathID(c, "review")
	if err != nil {
		return err
	}
	body, err := bind[wire.ReviewDecision](c)
	if err != nil {
		return err
	}
	r, err := end(c.Request.Context(), scope(c), id, valueOr(body.Reason, ""))
	if err != nil {
		return err
	}
	if r.Revision > 0 {
		setRevision(c, r.Revision)
	}
	return reply(c, http.StatusOK, wireReview(&r))
}
