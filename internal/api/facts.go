package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// listFacts pages through the facts about entities.
func (h *core) listFacts(c *gin.Context) error {
	q := recall.FactsQuery{
		Subject: query(c).Get("subject"), Relation: query(c).Get("relation"), Object: query(c).Get("object"), Limit: pageLimit(c),
	}
	switch query(c).Get("valid") {
	case "true":
		q.Valid = new(true)
	case "false":
		q.Valid = new(false)
	case "any":
		q.All = true
	}
	if at := query(c).Get("valid_at"); at != "" {
		var err error
		if q.ValidAt, err = anyTime("valid_at", at); err != nil {
			return err
		}
	}
	q.Contested = query(c).Get("conflicts") == "true"
	v, cur, err := h.pageView(c)
	if err != nil {
		return err
	}
	if cur != nil {
		q.After = cur.Position
	}
	page, err := h.Recall.Facts(c.Request.Context(), scope(c), v, q)
	if err != nil {
		return err
	}
	out := wire.FactList{Items: each(page.Items, wireFact), Revision: int64(v.At)}
	if q.Contested {
		out.Conflicts = new(conflictsOf(page.Items))
	}
	if out.NextCursor, err = h.nextCursorAt(c, page.Next, v.Collection.ID, v.At); err != nil {
		return err
	}
	return replyAt(c, http.StatusOK, v.At, out)
}

func wireFact(f *recall.Fact) wire.Fact {
	return wire.Fact{
		Subject: f.Subject, Relation: f.Relation, Object: f.Object, SubjectID: f.SubjectID, ObjectID: f.ObjectID, Valid: f.Valid,
		ValidFrom: wire.OptionalTime(f.ValidFrom), InvalidatedAt: wire.OptionalTime(f.InvalidatedAt), Contested: wire.Optional(f.Contested), Mentions: f.Mentions,
		Confidence: f.Confidence, Sources: nonNilList(f.Sources),
	}
}
