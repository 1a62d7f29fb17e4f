package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// headerLastEvent has the id of the last event that a client of a stream has seen (WHATWG HTML §9.2.4).
const headerLastEvent = "Last-Event-ID"

// listChanges answers with a page of the log of a collection, or sends what it has and what comes.
func (h *core) listChanges(c *gin.Context, ref string) error {
	var after memory.Revision
	if given := queryRevision(c, "after"); given != nil {
		after = *given
	}
	ctx, s := c.Request.Context(), scope(c)
	v, err := h.Recall.Open(ctx, s, ref, nil, 0)
	if err != nil {
		return err
	}
	if strings.Contains(c.GetHeader("Accept"), mediaSSE) {
		return h.streamChanges(c, v, after)
	}
	page, err := h.Recall.Changes(ctx, s, v, after, pageLimit(c))
	if err != nil {
		return err
	}
	out := wire.ChangeList{Items: make([]wire.Change, len(page)), Next: int64(after)}
	for i := range page {
		out.Items[i] = wireChange(&page[i])
		out.Next = out.Items[i].Revision
	}
	return replyAt(c, http.StatusOK, v.At, out)
}

// streamChanges sends the changes after a revision, or after the last event that the client has seen, until the collection is
// deleted, the client leaves, or the server stops.
func (h *core) streamChanges(c *gin.Context, v memory.View, after memory.Revision) error {
	if last := c.GetHeader(headerLastEvent); last != "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return fault.InvalidField(headerLastEvent, "must be the id of an event, a revision")
		}
		after = memory.Revision(n)
	}
	s, id := scope(c), v.Collection.ID
	// What cannot be read is refused while there is a status to say so.
	if _, err := h.Recall.Changes(c.Request.Context(), s, v, after, 1); err != nil {
		return err
	}
	setRevision(c, v.At)
	return h.stream(c, func(ctx context.Context, out *eventStream) error {
		err := relay(ctx, out, func(ctx context.Context, send func(func() error) error) error {
			return h.Waiter.Each(ctx, id, 0, func() (bool, error) {
				err := h.sendChanges(ctx, s, id, &after, func(change wire.Change) error {
					return send(func() error { return out.eventAs(change.Revision, "change", change) })
				})
				return true, err
			})
		}, nil)
		if ctx.Err() != nil || fault.Is(err, fault.NotFound) {
			return nil //nolint:nilerr // the client left, or the collection did: the stream ends
		}
		return err
	})
}

// sendChanges sends what the collection has after a revision, and moves it on.
func (h *core) sendChanges(ctx context.Context, s tenant.Scope, id uuid.UUID, after *memory.Revision, send func(wire.Change) error) error {
	v, err := h.Recall.Open(ctx, s, id.String(), nil, 0)
	if err != nil {
		return err
	}
	for *after < v.At {
		page, err := h.Recall.Changes(ctx, s, v, *after, memory.MaxPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if err := send(wireChange(&page[i])); err != nil {
				return err
			}
			*after = page[i].Revision
		}
	}
	return nil
}

func wireChange(ch *memory.Change) wire.Change {
	out := wire.Change{
		Revision: int64(ch.Revision), At: wire.Time(ch.At), Actor: ch.Actor, Job: wire.Optional(ch.Job), Cause: string(ch.Cause),
		Notes: make([]wire.ChangedNote, len(ch.Notes)), Links: make([]wire.LinkChange, len(ch.Links)),
	}
	for i, n := range ch.Notes {
		out.Notes[i] = wire.ChangedNote{ID: n.Note, Change: wire.ChangeKind(n.Change), Text: wire.Optional(n.Text)}
	}
	for i, l := range ch.Links {
		out.Links[i] = wireLinkChange(l.LinkID, string(l.Change), l.SourceText, l.TargetText)
	}
	return out
}

func wireLinkChange(l memory.LinkID, change, source, target string) wire.LinkChange {
	return wire.LinkChange{
		Source: l.Source, Target: l.Target, Relation: l.Relation, Change: wire.ChangeKind(change),
		SourceText: wire.Optional(source), TargetText: wire.Optional(target),
	}
}
