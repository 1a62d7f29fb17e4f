package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

var directions = map[string]memory.Direction{
	"": memory.Outgoing, "out": memory.Outgoing, "in": memory.Incoming, "both": memory.Both,
}

func (h *core) listLinks(c *gin.Context, _ string, id uuid.UUID) error {
	v, err := h.view(c)
	if err != nil {
		return err
	}
	set, err := h.Notes.LinksIn(c.Request.Context(), scope(c), v, id, directions[query(c).Get("direction")])
	if err != nil {
		return err
	}
	if directions[query(c).Get("direction")] != memory.Outgoing {
		c.Request.Header.Del("If-None-Match") // the tag does not say which links come in
	}
	return replyLinks(c, &set)
}

func (h *core) putLinks(c *gin.Context, ref string, id uuid.UUID) error {
	body, err := bind[wire.LinksInput](c)
	if err != nil {
		return err
	}
	in := each(body.Links, func(l *wire.LinkInput) notes.LinkInput {
		return notes.LinkInput{Target: l.Target, Relation: valueOr(l.Relation, ""), Confidence: l.Confidence, Attributes: l.Attributes}
	})
	set, err := h.Notes.PutLinks(c.Request.Context(), scope(c), ref, id, in, conditions(c))
	if err != nil {
		return err
	}
	return replyLinks(c, &set)
}

func (h *core) deleteLinks(c *gin.Context, ref string, id uuid.UUID) error {
	target, err := route.ParseID(query(c).Get("target"))
	if err != nil {
		return fault.InvalidField("target", "must be a UUID")
	}
	at, err := h.Notes.DeleteLinks(c.Request.Context(), scope(c), ref, id, target, query(c).Get("relation"), conditions(c))
	if err != nil {
		return err
	}
	setRevision(c, at)
	return noContent(c)
}

// replyLinks answers links with the entity tag of the outgoing ones, which is not the note's.
func replyLinks(c *gin.Context, set *notes.LinkSet) error {
	setRevision(c, set.Revision)
	c.Header("ETag", set.ETag)
	return reply(c, http.StatusOK, wire.LinkList{Items: wireLinks(set.Links), Revision: int64(set.Revision)})
}

func (h *core) getGraph(c *gin.Context) error {
	q := recall.GraphQuery{Depth: queryInt(c, "depth", -1), Limit: queryInt(c, "limit", 0)}
	if text := query(c).Get("center"); text != "" {
		id, err := route.ParseID(text)
		if err != nil || id == uuid.Nil {
			return fault.InvalidField("center", "must be the id of a note")
		}
		q.Center = id
	}
	v, err := h.view(c)
	if err != nil {
		return err
	}
	g, err := h.Recall.Graph(c.Request.Context(), scope(c), v, q)
	if err != nil {
		return err
	}
	out := wire.Graph{
		Nodes: make([]wire.GraphNode, 0, len(g.Nodes)), Links: wireLinks(g.Links), Truncated: wire.Optional(g.Truncated), Revision: int64(v.At),
	}
	for i := range g.Nodes {
		n := &g.Nodes[i].Note
		out.Nodes = append(out.Nodes, wire.GraphNode{
			ID: n.ID, Kind: wire.Kind(n.Kind), Content: n.Content, Context: n.Context, Keywords: nonNilList(n.Keywords), Tags: nonNilList(n.Tags),
			Category: wire.Optional(n.Category), State: wire.NoteState(n.State), Distance: g.Nodes[i].Distance,
		})
	}
	return replyAt(c, http.StatusOK, v.At, out)
}
