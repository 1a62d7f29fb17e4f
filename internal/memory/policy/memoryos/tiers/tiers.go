// Package tiers reads a memory of three tiers, as the policy memoryos keeps it: its sessions with their heat and pages,
// how full each tier is, and why something moved.
package tiers

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what the service requires of a store.
type Store interface {
	ListNotes(ctx context.Context, s tenant.Scope, v memory.View, q memory.NoteQuery) ([]memory.Note, error)
	Notes(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID, o memory.ReadOptions) ([]memory.Note, error)
	Links(ctx context.Context, s tenant.Scope, v memory.View, q memory.LinkQuery) ([]memory.Link, error)
	Usage(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error)
	ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error)
}

// Service reads the tiers. It is safe for concurrent use.
type Service struct {
	Store Store
	Clock func() time.Time
}

// pageSize is how many notes are read in one call.
const pageSize = 500

// Order is the order of sessions.
type Order string

// The orders.
const (
	OrderHeat   Order = "heat"   // hottest first
	OrderRecent Order = "recent" // last visited first
)

// Session is a session of the middle tier.
type Session struct {
	memoryos.SessionState

	Note      memory.Note
	Heat      float64 // now
	Recency   float64 // now, 0..1
	Visits    int64   // searches and contexts that showed it, since its last analysis
	Accesses  int64   // those of all time
	LastVisit time.Time
	Damaged   string // why it cannot be read; the numbers are 0
}

// Page is a pair in the middle tier.
type Page struct {
	memoryos.PageState

	ID             uuid.UUID // of its first message
	Messages       []memory.Note
	Previous, Next uuid.UUID
	Keywords       []string
}

// check returns the settings of the collection. One of another policy has no tiers: Invalid.
func check(s tenant.Scope, v *memory.View) (memoryos.Config, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return memoryos.Config{}, err
	}
	if v.Collection.Policy != memoryos.Name {
		return memoryos.Config{}, fault.InvalidField("collection", "the policy %q has no tiers; use a collection with the policy %q", v.Collection.Policy, memoryos.Name)
	}
	return memoryos.ParseConfig(v.Collection.PolicyConfig)
}

// Sessions returns all sessions. Damaged ones are last.
func (t *Service) Sessions(ctx context.Context, s tenant.Scope, v memory.View, by Order) ([]Session, error) {
	c, err := check(s, &v)
	if err != nil {
		return nil, err
	}
	var out []Session
	for n, err := range memory.EachNote(ctx, t.Store, s, v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindSession}}) {
		if err != nil {
			return nil, err
		}
		out = append(out, Session{Note: *n})
	}
	if err := t.measure(ctx, s, v, &c, out); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b Session) int {
		newest := cmp.Or(b.LastVisit.Compare(a.LastVisit), memory.CompareIDs(b.Note.ID, a.Note.ID))
		switch {
		case (a.Damaged == "") != (b.Damaged == ""):
			return cmp.Compare(len(a.Damaged), len(b.Damaged))
		case by == OrderRecent:
			return newest
		}
		return cmp.Or(cmp.Compare(b.Heat, a.Heat), newest)
	})
	return out, nil
}

// measure sets what the state and the use of sessions say.
func (t *Service) measure(ctx context.Context, s tenant.Scope, v memory.View, c *memoryos.Config, list []Session) error {
	now := t.Clock()
	for batch := range slices.Chunk(list, pageSize) {
		ids := make([]uuid.UUID, len(batch))
		for i := range batch {
			ids[i] = batch[i].Note.ID
		}
		usage, err := t.Store.Usage(ctx, s, v, ids)
		if err != nil {
			return err
		}
		for i := range batch {
			x := &batch[i]
			state, err := memoryos.ReadSession(&x.Note)
			if err != nil {
				x.Damaged = err.Error()
				continue
			}
			u := usage[x.Note.ID]
			x.SessionState, x.Visits, x.Accesses = state, state.Visits(u), u.AccessCount
			x.Heat, x.Recency = state.Heat(c, u, now)
			if at, err := time.Parse(time.RFC3339Nano, state.Visited(u)); err == nil {
				x.LastVisit = at
			}
		}
	}
	return nil
}

// Session returns a session, and its pages after one (uuid.Nil: from the first), at most limit, oldest first. more
// reports whether there are further ones.
func (t *Service) Session(ctx context.Context, s tenant.Scope, v memory.View, id, after uuid.UUID, limit int) (x Session, pages []Page, more bool, err error) {
	c, err := check(s, &v)
	if err != nil {
		return x, nil, false, err
	}
	found, err := t.Store.Notes(ctx, s, v, []uuid.UUID{id}, memory.ReadOptions{})
	if err != nil {
		return x, nil, false, err
	}
	if len(found) == 0 || found[0].Kind != memory.KindSession {
		return x, nil, false, fault.New(fault.NotFound, "there is no session %s", id)
	}
	list := []Session{{Note: found[0]}}
	if err := t.measure(ctx, s, v, &c, list); err != nil {
		return x, nil, false, err
	}
	links, err := t.Store.Links(ctx, s, v, memory.LinkQuery{Notes: []uuid.UUID{id}, Direction: memory.Outgoing, Limit: math.MaxInt32})
	if err != nil {
		return x, nil, false, err
	}
	all, damaged := memoryos.PagesOf(links)
	if len(damaged) > 0 && list[0].Damaged == "" {
		list[0].Damaged = damaged[0].Reason
	}
	all = slices.DeleteFunc(all, func(p memoryos.Page) bool { return memory.CompareIDs(p.First, after) <= 0 })
	more = len(all) > limit
	pages, err = t.pages(ctx, s, v, all[:min(len(all), limit)])
	return list[0], pages, more, err
}

// pages reads the messages and the neighbors of pages.
func (t *Service) pages(ctx context.Context, s tenant.Scope, v memory.View, list []memoryos.Page) ([]Page, error) {
	var ids, firsts []uuid.UUID
	for i := range list {
		firsts = append(firsts, list[i].First)
		ids = append(append(ids, list[i].First), list[i].Others...)
	}
	messages := map[uuid.UUID]memory.Note{}
	for batch := range slices.Chunk(ids, pageSize) {
		notes, err := t.Store.Notes(ctx, s, v, batch, memory.ReadOptions{})
		if err != nil {
			return nil, err
		}
		for i := range notes {
			messages[notes[i].ID] = notes[i]
		}
	}
	previous, next := map[uuid.UUID]uuid.UUID{}, map[uuid.UUID]uuid.UUID{}
	if len(firsts) > 0 {
		links, err := t.Store.Links(ctx, s, v, memory.LinkQuery{Notes: firsts, Direction: memory.Both, Limit: math.MaxInt32})
		if err != nil {
			return nil, err
		}
		for i := range links {
			if l := &links[i]; l.Relation == memoryos.RelNext {
				previous[l.Target], next[l.Source] = l.Source, l.Target
			}
		}
	}
	out := make([]Page, len(list))
	for i := range list {
		p := &list[i]
		out[i] = Page{PageState: p.State, ID: p.First, Previous: previous[p.First], Next: next[p.First]}
		of := append([]uuid.UUID{p.First}, p.Others...)
		slices.SortFunc(of, memory.CompareIDs)
		for _, id := range of {
			if n, ok := messages[id]; ok {
				out[i].Messages = append(out[i].Messages, n)
			}
		}
		out[i].Keywords = memoryos.PageKeywords(out[i].Messages)
	}
	return out, nil
}

// State counts what the tiers hold. The capacity for knowledge is that of quotations where most are; pairs whose job has not ended may
// be more than the capacity.
func (t *Service) State(ctx context.Context, s tenant.Scope, v memory.View) (out wire.Tiers, err error) {
	c, err := check(s, &v)
	if err != nil {
		return out, err
	}
	out.Revision, out.Short.Capacity, out.Mid.Capacity, out.Long.Capacity = int64(v.At), c.ShortCapacity, c.MidCapacity, c.KnowledgeCapacity
	turns, quoted := map[string]bool{}, 0
	count := func(n *memory.Note) {
		switch n.Kind { //nolint:exhaustive // others were not asked for
		case memory.KindMessage:
			turn, _ := n.Attributes[memory.AttrTurn].(string)
			turns[cmp.Or(turn, n.ID.String())] = true
		case memory.KindSession:
			out.Mid.Sessions++
			if state, err := memoryos.ReadSession(n); err == nil {
				out.Mid.Pages += int(state.Pages)
			}
		case memory.KindKnowledge:
			if n.Analyst == memory.AnalystHeuristic {
				quoted++
			}
			if n.Attributes[memoryos.AttrOf] == memoryos.OfAssistant {
				out.Long.Assistant++
			} else {
				out.Long.User++
			}
		case memory.KindProfile:
			out.Long.Profile = out.Long.Profile || n.Key == memoryos.KeyProfile
		}
	}
	for _, q := range []memory.NoteQuery{
		{Kinds: []memory.Kind{memory.KindSession, memory.KindKnowledge, memory.KindProfile}},
		{Kinds: []memory.Kind{memory.KindMessage}, Filter: memoryos.InShortTier()},
	} {
		for n, err := range memory.EachNote(ctx, t.Store, s, v, q) {
			if err != nil {
				return out, err
			}
			count(n)
		}
	}
	out.Short.Pairs = len(turns)
	if 2*quoted > out.Long.User+out.Long.Assistant {
		out.Long.Capacity *= memoryos.QuotedAs
	}
	return out, nil
}

// KnowledgeOf returns the condition for entries about the user or the assistant; "" is both.
func KnowledgeOf(of string) filter.Expr {
	if of == "" {
		return nil
	}
	return filter.AttributeIs(memoryos.AttrOf, of)
}

// Dimensions returns the findings in the profile of a collection. ok is false for one of another policy, or one that
// cannot be read.
func Dimensions(c *memory.Collection, n *memory.Note) (out []wire.ProfileDimension, ok bool) {
	p, err := memoryos.ReadProfileNote(n)
	if c.Policy != memoryos.Name || err != nil {
		return nil, false
	}
	for _, d := range p.Dimensions {
		out = append(out, wire.ProfileDimension{Name: d.Name, Level: wire.ProfileDimensionLevel(d.Level), Evidence: append([]string{}, d.Evidence...)})
	}
	return out, true
}

// Moved is a move and the job that decided it.
type Moved struct {
	memoryos.Move

	Job uuid.UUID
}

// Moves returns why pairs and sessions moved, newest first, of the jobs before one (uuid.Nil: from the newest). At
// least limit are returned if there are so many, those of one job always together. next is the last job; uuid.Nil at
// the end. Moves are kept as long as the results of jobs.
func (t *Service) Moves(ctx context.Context, s tenant.Scope, v memory.View, before uuid.UUID, limit int) (out []Moved, next uuid.UUID, err error) {
	if _, err := check(s, &v); err != nil {
		return nil, uuid.Nil, err
	}
	for j, err := range memory.EachJob(ctx, t.Store, s, memory.JobQuery{Collection: v.Collection.ID, Before: before, Limit: pageSize}) {
		if err != nil {
			return nil, uuid.Nil, err
		}
		for _, m := range slices.Backward(memoryos.MovesOf(j.Result)) {
			out = append(out, Moved{Move: m, Job: j.ID})
		}
		if len(out) >= limit {
			return out, j.ID, nil
		}
	}
	return out, uuid.Nil, nil
}
