package tiers

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Routes returns the operations that show the tiers.
func (t *Service) Routes() route.Set {
	return route.Set{Handlers: map[string]route.Handler{
		"listSessions": t.listSessions, "getSession": t.getSession, "listKnowledge": listKnowledge, "getTiers": t.getTiers, "listMoves": t.listMoves,
	}}
}

// sessionState is a session as callers see it. As in all answers, the names are in alphabetical order.
type sessionState struct {
	Accesses    int64     `json:"accesses"`
	CreatedAt   time.Time `json:"created_at"`
	Damaged     string    `json:"damaged,omitempty"`
	Fresh       int64     `json:"fresh"`
	Heat        float64   `json:"heat"`
	ID          uuid.UUID `json:"id"`
	Interaction int64     `json:"interaction"`
	Keywords    []string  `json:"keywords"`
	LastVisit   time.Time `json:"last_visit,omitzero"`
	Pages       int64     `json:"pages"`
	Recency     float64   `json:"recency"`
	Summary     string    `json:"summary"`
	Theme       string    `json:"theme,omitempty"`
	Visits      int64     `json:"visits"`
}

func stateOf(s *Session) sessionState {
	return sessionState{
		ID: s.Note.ID, Theme: s.Theme, Summary: s.Note.Content, Keywords: append([]string{}, s.Note.Keywords...), Heat: s.Heat,
		Visits: s.Visits, Accesses: s.Accesses, Interaction: s.Interact, Recency: s.Recency, Fresh: s.Fresh, Pages: s.Pages,
		Damaged: s.Damaged, CreatedAt: memory.Instant(s.Note.CreatedAt), LastVisit: memory.Instant(s.LastVisit),
	}
}

// listed is a page of a list.
type listed[T any] struct {
	Items      []T             `json:"items"`
	NextCursor *string         `json:"next_cursor,omitempty"`
	Revision   memory.Revision `json:"revision"`
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
	out, last := listed[sessionState]{Items: []sessionState{}, Revision: p.View.At}, uuid.Nil
	if len(list) > p.Limit {
		list, last = list[:p.Limit], list[p.Limit-1].Note.ID
	}
	for i := range list {
		out.Items = append(out.Items, stateOf(&list[i]))
	}
	out.NextCursor, err = p.Cursor(last)
	return route.Reply{Body: out, Revision: new(p.View.At)}, err
}

// sessionDetail is a session with its pages in place of their number.
type sessionDetail struct {
	sessionState

	Pages      []sessionPage   `json:"pages"`
	NextCursor *string         `json:"next_cursor,omitempty"`
	Revision   memory.Revision `json:"revision"`
}

// sessionPage is a page as callers see it.
type sessionPage struct {
	ID        uuid.UUID   `json:"id"`
	User      string      `json:"user,omitempty"`
	Assistant string      `json:"assistant,omitempty"`
	At        time.Time   `json:"at"`
	Meta      string      `json:"meta"`
	Previous  uuid.UUID   `json:"previous,omitzero"`
	Next      uuid.UUID   `json:"next,omitzero"`
	Analyzed  bool        `json:"analyzed"`
	Preloaded bool        `json:"preloaded"`
	Keywords  []string    `json:"keywords"`
	Messages  []uuid.UUID `json:"messages"`
	Reason    string      `json:"reason"`
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
	out, last := sessionDetail{sessionState: stateOf(&s), Pages: make([]sessionPage, len(pages)), Revision: p.View.At}, uuid.Nil
	for i := range pages {
		out.Pages[i] = shownPage(&pages[i])
	}
	if more {
		last = pages[len(pages)-1].ID
	}
	out.NextCursor, err = p.Cursor(last)
	return route.Reply{Body: out, Revision: new(p.View.At)}, err
}

func shownPage(p *Page) sessionPage {
	out := sessionPage{
		ID: p.ID, Meta: p.Meta, Previous: p.Previous, Next: p.Next, Analyzed: p.Analyzed, Preloaded: p.Preloaded,
		Keywords: append([]string{}, p.Keywords...), Messages: []uuid.UUID{}, Reason: p.Reason,
	}
	var user, assistant []string
	for i := range p.Messages {
		n := &p.Messages[i]
		if i == 0 {
			out.At = memory.Instant(n.OccurredAt)
		}
		out.Messages = append(out.Messages, n.ID)
		if memory.UtteranceOf(n).Role == memory.RoleUser {
			user = append(user, n.Content)
		} else {
			assistant = append(assistant, n.Content)
		}
	}
	out.User, out.Assistant = strings.Join(user, "\n"), strings.Join(assistant, "\n")
	return out
}

// listKnowledge pages through what is known of the user and of the assistant.
func listKnowledge(_ context.Context, r *route.Request) (route.Reply, error) {
	return r.Collection.Notes([]memory.Kind{memory.KindKnowledge}, KnowledgeOf(r.Query.Get("of")))
}

// tierStates is how full the tiers are, as callers see it.
type tierStates struct {
	Short struct {
		Pairs    int `json:"pairs"`
		Capacity int `json:"capacity"`
	} `json:"short"`
	Mid struct {
		Sessions int `json:"sessions"`
		Pages    int `json:"pages"`
		Capacity int `json:"capacity"`
	} `json:"mid"`
	Long struct {
		User      int  `json:"user"`
		Assistant int  `json:"assistant"`
		Profile   bool `json:"profile"`
		Capacity  int  `json:"capacity"`
	} `json:"long"`
	Revision memory.Revision `json:"revision"`
}

// getTiers answers how full the tiers are.
func (t *Service) getTiers(ctx context.Context, r *route.Request) (route.Reply, error) {
	v, err := r.Collection.View()
	if err != nil {
		return route.Reply{}, err
	}
	s, err := t.State(ctx, r.Scope, v)
	if err != nil {
		return route.Reply{}, err
	}
	out := tierStates{Revision: v.At}
	out.Short.Pairs, out.Short.Capacity = s.Pairs, s.ShortCapacity
	out.Mid.Sessions, out.Mid.Pages, out.Mid.Capacity = s.Sessions, s.Pages, s.MidCapacity
	out.Long.User, out.Long.Assistant, out.Long.Profile, out.Long.Capacity = s.User, s.Assistant, s.Profile, s.KnowledgeCapacity
	return route.Reply{Body: out, Revision: new(v.At)}, nil
}

// shownMove is a move as callers see it.
type shownMove struct {
	At      time.Time  `json:"at"`
	From    string     `json:"from"`
	Heat    float64    `json:"heat"`
	Job     uuid.UUID  `json:"job,omitzero"`
	Note    uuid.UUID  `json:"note"`
	Reason  string     `json:"reason"`
	Session *uuid.UUID `json:"session,omitempty"`
	To      string     `json:"to"`
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
	out := listed[shownMove]{Items: []shownMove{}, Revision: p.View.At}
	for i := range moves {
		m := &moves[i]
		out.Items = append(out.Items, shownMove{memory.Instant(m.At), m.From, m.Heat, m.Job, m.Note, m.Reason, m.Session, m.To})
	}
	out.NextCursor, err = p.Cursor(next)
	return route.Reply{Body: out, Revision: new(p.View.At)}, err
}
