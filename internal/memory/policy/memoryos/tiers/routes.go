package tiers

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Routes returns the operations that show the tiers.
func (t *Service) Routes() route.Set {
	return route.Set{Handlers: map[string]route.Handler{
		"listSessions": t.listSessions, "getSession": t.getSession, "listKnowledge": listKnowledge, "getTiers": t.getTiers, "listMoves": t.listMoves,
	}}
}

func wireSession(s *Session) wire.SessionState {
	return wire.SessionState{
		ID: s.Note.ID, Theme: wire.Optional(s.Theme), Summary: s.Note.Content, Keywords: append([]string{}, s.Note.Keywords...), Heat: s.Heat,
		Visits: int(s.Visits), Accesses: int(s.Accesses), Interaction: int(s.Interaction), Recency: s.Recency, Fresh: int(s.Fresh), Pages: int(s.Pages),
		Damaged: wire.Optional(s.Damaged), CreatedAt: wire.Time(s.Note.CreatedAt), LastVisit: wire.OptionalTime(s.LastVisit),
	}
}

// listSessions pages through the sessions of the middle tier. They are sorted as a whole: heat is computed now.
func (t *Service) listSessions(ctx context.Context, r *route.Request) (route.Reply, error) {
	p, err := r.Collection.Page()
	if err != nil {
		return route.Reply{}, err
	}
	order := OrderHeat
	if Order(r.Query.Get("order")) == OrderRecent {
		order = OrderRecent
	}
	list, err := t.Sessions(ctx, r.Scope, p.View, order)
	if err != nil {
		return route.Reply{}, err
	}
	if p.After != uuid.Nil {
		list = list[slices.IndexFunc(list, func(s Session) bool { return s.Note.ID == p.After })+1:]
	}
	out, last := wire.SessionList{Items: []wire.SessionState{}, Revision: int64(p.View.At)}, uuid.Nil
	if len(list) > p.Limit {
		list, last = list[:p.Limit], list[p.Limit-1].Note.ID
	}
	for i := range list {
		out.Items = append(out.Items, wireSession(&list[i]))
	}
	out.NextCursor, err = p.Cursor(last)
	return route.Reply{Body: out, Revision: new(p.View.At)}, err
}

// sessionDetail is wire.SessionDetail: a session with its pages in place of their number.
type sessionDetail struct {
	wire.SessionState

	Pages      []wire.SessionPage `json:"pages"`
	NextCursor *string            `json:"next_cursor,omitempty"`
	Revision   wire.Revision      `json:"revision"`
}

// getSession answers a session and its pages.
func (t *Service) getSession(ctx context.Context, r *route.Request) (route.Reply, error) {
	id, err := r.ID("session")
	if err != nil {
		return route.Reply{}, err
	}
	p, err := r.Collection.Page()
	if err != nil {
		return route.Reply{}, err
	}
	s, pages, more, err := t.Session(ctx, r.Scope, p.View, id, p.After, p.Limit)
	if err != nil {
		return route.Reply{}, err
	}
	out, last := sessionDetail{SessionState: wireSession(&s), Pages: make([]wire.SessionPage, len(pages)), Revision: int64(p.View.At)}, uuid.Nil
	for i := range pages {
		out.Pages[i] = wirePage(&pages[i])
	}
	if more {
		last = pages[len(pages)-1].ID
	}
	out.NextCursor, err = p.Cursor(last)
	return route.Reply{Body: out, Revision: new(p.View.At)}, err
}

func wirePage(p *Page) wire.SessionPage {
	out := wire.SessionPage{
		ID: p.ID, Meta: p.Meta, Previous: wire.Optional(p.Previous), Next: wire.Optional(p.Next), Analyzed: p.Analyzed, Preloaded: p.Preloaded,
		Keywords: append([]string{}, p.Keywords...), Messages: []uuid.UUID{}, Reason: p.Reason,
	}
	var user, assistant []string
	for i := range p.Messages {
		n := &p.Messages[i]
		if i == 0 {
			out.At = wire.Time(n.OccurredAt)
		}
		out.Messages = append(out.Messages, n.ID)
		if memory.UtteranceOf(n).Role == memory.RoleUser {
			user = append(user, n.Content)
		} else {
			assistant = append(assistant, n.Content)
		}
	}
	out.User, out.Assistant = wire.Optional(strings.Join(user, "\n")), wire.Optional(strings.Join(assistant, "\n"))
	return out
}

// listKnowledge pages through what is known of the user and of the assistant.
func listKnowledge(_ context.Context, r *route.Request) (route.Reply, error) {
	return r.Collection.Notes([]memory.Kind{memory.KindKnowledge}, KnowledgeOf(r.Query.Get("of")))
}

// getTiers answers how full the tiers are.
func (t *Service) getTiers(ctx context.Context, r *route.Request) (route.Reply, error) {
	v, err := r.Collection.View()
	if err != nil {
		return route.Reply{}, err
	}
	out, err := t.State(ctx, r.Scope, v)
	return route.Reply{Body: out, Revision: new(v.At)}, err
}

// listMoves answers why something moved between the tiers.
func (t *Service) listMoves(ctx context.Context, r *route.Request) (route.Reply, error) {
	p, err := r.Collection.Page()
	if err != nil {
		return route.Reply{}, err
	}
	moves, next, err := t.Moves(ctx, r.Scope, p.View, p.After, p.Limit)
	if err != nil {
		return route.Reply{}, err
	}
	out := wire.MoveList{Items: make([]wire.Move, 0, len(moves)), Revision: int64(p.View.At)}
	for i := range moves {
		m := &moves[i]
		out.Items = append(out.Items, wire.Move{
			At: wire.Time(m.At), From: wire.TierName(m.From), To: wire.TierName(m.To), Note: m.Note, Session: m.Session, Reason: m.Reason, Heat: m.Heat,
			Job: wire.Optional(m.Job),
		})
	}
	out.NextCursor, err = p.Cursor(next)
	return route.Reply{Body: out, Revision: new(p.View.At)}, err
}
