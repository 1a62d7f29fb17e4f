package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (h *core) getNoteHistory(c *gin.Context, _ string, id uuid.UUID) error {
	v, cur, err := h.pageView(c)
	if err != nil {
		return err
	}
	return h.replyHistory(c, v, id, cur)
}

// replyHistory answers with a page of the versions of a note, from a cursor on.
func (h *core) replyHistory(c *gin.Context, v memory.View, id uuid.UUID, cur *cursor) error {
	var before memory.Revision
	if cur != nil {
		at, err := strconv.ParseInt(cur.Position, 10, 64)
		if err != nil {
			return badCursor("is not a cursor of this listing")
		}
		before = memory.Revision(at)
	}
	ctx, s := c.Request.Context(), scope(c)
	page, err := h.Recall.History(ctx, s, v, id, before, pageLimit(c))
	if err != nil {
		return err
	}
	out := wire.HistoryList{Items: make([]wire.HistoryEntry, 0, len(page.Items)), Revision: int64(v.At)}
	for i := range page.Items {
		item, err := h.historyEntry(ctx, s, &page.Items[i])
		if err != nil {
			return err
		}
		out.Items = append(out.Items, item)
	}
	if page.Next > 0 {
		if out.NextCursor, err = h.nextCursorAt(c, strconv.FormatInt(int64(page.Next), 10), v.Collection.ID, v.At); err != nil {
			return err
		}
	}
	return replyAt(c, http.StatusOK, v.At, out)
}

func (h *core) historyEntry(ctx context.Context, s tenant.Scope, e *memory.HistoryEntry) (wire.HistoryEntry, error) {
	out := wire.HistoryEntry{
		Revision: int64(e.Note.From), ChangedAt: wire.Time(e.Changeset.At), Actor: e.Changeset.Actor, Cause: string(e.Changeset.Cause),
		Job: wire.Optional(e.Changeset.Job), Trigger: wire.Optional(e.Changeset.Trigger),
	}
	if e.Note.Deleted {
		out.Deleted = new(true)
		return out, nil
	}
	links, err := h.linksThen(ctx, s, &e.Note)
	if err != nil {
		return out, err
	}
	out.Note = new(wireNote(&e.Note, links, nil, false))
	return out, nil
}

// linksThen returns the outgoing links of a note at the beginning of its version; none if the
// collection no longer keeps that revision.
func (h *core) linksThen(ctx context.Context, s tenant.Scope, n *memory.Note) ([]memory.Link, error) {
	v, err := h.Recall.Open(ctx, s, n.Collection.String(), &n.From, 0)
	if err == nil {
		var set notes.LinkSet
		set, err = h.Notes.LinksIn(ctx, s, v, n.ID, memory.Outgoing)
		if err == nil {
			return set.Links, nil
		}
	}
	if fault.Is(err, fault.RevisionGone) || fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return nil, err
}
