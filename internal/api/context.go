package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
)

// buildContext answers a query with a text for a prompt.
func (h *core) buildContext(c *gin.Context) error {
	body, err := bindAsked[wire.ContextRequest](h, c)
	if err != nil {
		return err
	}
	// A context accepts the same questions as a search.
	question, err := h.query(&wire.SearchQuery{
		Query: body.Query, Messages: body.Messages, Mode: body.Mode, ExpandLinks: body.ExpandLinks, Filter: body.Filter, MinScore: body.MinScore,
		Profile: body.Profile, Weights: body.Weights, ReferenceTime: body.ReferenceTime,
	})
	if err != nil {
		return err
	}
	q := recall.ContextQuery{
		Text: question.Text, Messages: question.Messages, Mode: question.Mode, K: valueOr(body.K, 0), ExpandLinks: body.ExpandLinks, Filter: question.Filter, MinScore: question.MinScore,
		Profile: question.Profile, Weights: question.Weights, Reference: question.Reference,
		MinAnswerable: body.MinAnswerable,
		TokenBudget:   valueOr(body.TokenBudget, 0), Encoding: search.Encoding(valueOr(body.Encoding, "")), Order: recall.Order(valueOr(body.Order, "")),
		Hidden: includesEvicted(c),
	}
	ctx, s := c.Request.Context(), scope(c)
	if body.MinRevision != nil {
		endTurn(c)
	}
	v, err := h.viewOf(c, &asked{body.Collections, body.External, body.AsOf, body.MinRevision})
	if err != nil {
		return err
	}
	built, err := h.Recall.Context(ctx, s, v, q)
	if err != nil {
		return err
	}
	countRecords(c, len(built.Citations))
	setRevisionOf(c, &v)
	out := wireContext(&built)
	_, out.Revisions = wireRevisions(&v)
	if len(body.Fields) > 0 {
		if out.Notes, err = h.citedNotes(c, v, built.Notes, searchFields(body.Fields, false)); err != nil {
			return err
		}
	}
	return reply(c, http.StatusOK, out)
}

// citedNotes renders the notes that a context shows.
func (h *core) citedNotes(c *gin.Context, v memory.View, cited []memory.Note, fields noteFields) ([]wire.HitNote, error) {
	views := each(cited, func(n *memory.Note) recall.NoteView { return recall.NoteView{Note: *n} })
	if fields.hasUse() {
		var err error
		if views, err = h.Recall.Views(c.Request.Context(), scope(c), v, cited); err != nil {
			return nil, err
		}
	}
	out := make([]wire.HitNote, len(views))
	for i := range views {
		out[i] = fields.render(new(wireNoteView(&views[i], false)))
	}
	return out, nil
}

func wireContext(built *recall.Context) wire.ContextAnswer {
	out := wire.ContextAnswer{
		Text: built.Text, Tokens: built.Tokens, Citations: wireCitations(built.Citations),
		Parts: make([]wire.ContextPart, 0, len(built.Parts)), Encoding: wire.TokenEncoding(built.Encoding), Degraded: wire.Optional(built.Degraded),
		Dates: built.Dates, Answerable: built.Answerable, Withheld: wire.Optional(built.Withheld),
	}
	for _, p := range built.Parts {
		out.Parts = append(out.Parts, wire.ContextPart{
			Kind: string(p.Kind), Text: p.Text, Tokens: p.Tokens, Citations: wireCitations(p.Citations),
		})
	}
	return out
}

func wireCitations(in []recall.Citation) []wire.Citation {
	return each(in, func(c *recall.Citation) wire.Citation {
		return wire.Citation{Note: c.Note, Revision: int64(c.Revision), Confidence: c.Confidence, Sources: c.Sources, File: wire.Optional(c.File), Page: wire.Optional(c.Page)}
	})
}
