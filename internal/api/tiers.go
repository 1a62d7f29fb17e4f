package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos/tiers"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// includesEvicted reports whether a search or a context also finds what its policy evicted.
func includesEvicted(c *gin.Context) bool { return query(c).Get("include") == "evicted" }

// listSessions pages through the sessions of the middle tier. They are sorted as a whole: heat is computed now.
func (h *core) listSessions(c *gin.Context) error {
	v, after, err := h.pageAfter(c)
	if err != nil {
		return err
	}
	order := tiers.OrderHeat
	if tiers.Order(query(c).Get("order")) == tiers.OrderRecent {
		order = tiers.OrderRecent
	}
	list, err := h.Tiers.Sessions(c.Request.Context(), scope(c), v, order)
	if err != nil {
		return err
	}
	if after != uuid.Nil {
		list = list[slices.IndexFunc(list, func(s tiers.Session) bool { return s.Note.ID == after })+1:]
	}
	out := wire.SessionList{Items: []wire.SessionState{}, Revision: int64(v.At)}
	next := ""
	if limit := pageLimit(c); len(list) > limit {
		list, next = list[:limit], list[limit-1].Note.ID.String()
	}
	for i := range list {
		out.Items = append(out.Items, wireSession(&list[i]))
	}
	if out.NextCursor, err = h.nextCursorAt(c, next, v.Collection.ID, v.At); err != nil {
		return err
	}
	setRevision(c, v.At)
	return reply(c, http.StatusOK, out)
}

func wireSession(s *tiers.Session) wire.SessionState {
	return wire.SessionState{
		ID: s.Note.ID, Theme: optional(s.Theme), Summary: s.Note.Content, Keywords: append([]string{}, s.Note.Keywords...), Heat: s.Heat,
		Visits: int(s.Visits), Accesses: int(s.Accesses), Interaction: int(s.Interact), Recency: s.Recency, Fresh: int(s.Fresh), Pages: int(s.Pages),
		Damaged: optional(s.Damaged), CreatedAt: wireTime(s.Note.CreatedAt), LastVisit: optionalTime(s.LastVisit),
	}
}

// sessionDetail is wire.SessionDetail: a session with its pages in place of their number.
type sessionDetail struct {
	wire.SessionState

	Pages      []wire.SessionPage `json:"pages"`
	NextCursor *string            `json:"next_cursor,omitempty"`
	Revision   wire.Revision      `json:"revision"`
}

// getSession answers a session and its pages.
func (h *core) getSession(c *gin.Context) error {
	id, err := pathID(c, "session")
	if err != nil {
		return err
	}
	v, after, err := h.pageAfter(c)
	if err != nil {
		return err
	}
	s, pages, more, err := h.Tiers.Session(c.Request.Context(), scope(c), v, id, after, pageLimit(c))
	if err != nil {
		return err
	}
	out := sessionDetail{SessionState: wireSession(&s), Pages: make([]wire.SessionPage, len(pages)), Revision: int64(v.At)}
	for i := range pages {
		out.Pages[i] = wirePage(&pages[i])
	}
	next := ""
	if more {
		next = pages[len(pages)-1].ID.String()
	}
	if out.NextCursor, err = h.nextCursorAt(c, next, v.Collection.ID, v.At); err != nil {
		return err
	}
	setRevision(c, v.At)
	return reply(c, http.StatusOK, out)
}

func wirePage(p *tiers.Page) wire.SessionPage {
	out := wire.SessionPage{
		ID: p.ID, Meta: p.Meta, Previous: optional(p.Previous), Next: optional(p.Next), Analyzed: p.Analyzed, Preloaded: p.Preloaded,
		Keywords: append([]string{}, p.Keywords...), Messages: []uuid.UUID{}, Reason: p.Reason,
	}
	var user, assistant []string
	for i := range p.Messages {
		n := &p.Messages[i]
		if i == 0 {
			out.At = wireTime(n.OccurredAt)
		}
		out.Messages = append(out.Messages, n.ID)
		if u := memory.UtteranceOf(n); u.Role == memory.RoleUser {
			user = append(user, n.Content)
		} else {
			assistant = append(assistant, n.Content)
		}
	}
	out.User, out.Assistant = optional(strings.Join(user, "\n")), optional(strings.Join(assistant, "\n"))
	return out
}

// listKnowledge pages through what is known of the user and of the assistant.
func (h *core) listKnowledge(c *gin.Context) error {
	v, after, err := h.pageAfter(c)
	if err != nil {
		return err
	}
	return h.replyNotes(c, v, recall.ListQuery{
		Kinds: []memory.Kind{memory.KindKnowledge}, Filter: tiers.KnowledgeOf(query(c).Get("of")), After: after, Limit: pageLimit(c),
	})
}

// getTiers answers how full the tiers are.
func (h *core) getTiers(c *gin.Context) error {
	v, err := h.view(c)
	if err != nil {
		return err
	}
	s, err := h.Tiers.State(c.Request.Context(), scope(c), v)
	if err != nil {
		return err
	}
	out := wire.Tiers{Revision: int64(v.At)}
	out.Short.Pairs, out.Short.Capacity = s.Pairs, s.ShortCapacity
	out.Mid.Sessions, out.Mid.Pages, out.Mid.Capacity = s.Sessions, s.Pages, s.MidCapacity
	out.Long.User, out.Long.Assistant, out.Long.Profile, out.Long.Capacity = s.User, s.Assistant, s.Profile, s.KnowledgeCapacity
	setRevision(c, v.At)
	return reply(c, http.StatusOK, out)
}

// listMoves answers why something moved between the tiers.
func (h *core) listMoves(c *gin.Context) error {
	v, before, err := h.pageAfter(c)
	if err != nil {
		return err
	}
	moves, next, err := h.Tiers.Moves(c.Request.Context(), scope(c), v, before, pageLimit(c))
	if err != nil {
		return err
	}
	out := wire.MoveList{Items: make([]wire.Move, 0, len(moves)), Revision: int64(v.At)}
	for i := range moves {
		m := &moves[i]
		out.Items = append(out.Items, wire.Move{
			At: wireTime(m.At), From: wire.TierName(m.From), To: wire.TierName(m.To), Note: m.Note, Session: m.Session, Reason: m.Reason, Heat: m.Heat, Job: optional(m.Job),
		})
	}
	position := ""
	if next != uuid.Nil {
		position = next.String()
	}
	if out.NextCursor, err = h.nextCursorAt(c, position, v.Collection.ID, v.At); err != nil {
		return err
	}
	setRevision(c, v.At)
	return reply(c, http.StatusOK, out)
}

// wireDimensions returns the findings of a profile.
func wireDimensions(list []tiers.Dimension) []wire.ProfileDimension {
	out := make([]wire.ProfileDimension, 0, len(list))
	for _, d := range list {
		out = append(out, wire.ProfileDimension{Name: d.Name, Level: wire.ProfileDimensionLevel(d.Level), Evidence: append([]string{}, d.Evidence...)})
	}
	return out
}
