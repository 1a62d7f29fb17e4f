package mem0

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
)

// opposingStatements returns the statements that may contradict an edge: those with the
// same source and the same relation or target, else those with the same source, else
// those that share an end with it, else all.
func opposingStatements(e *graphEdge, stated []*statement) []*statement {
	id := func(n *graphNode) uuid.UUID { return n.note.ID }
	for _, near := range []func(*statement) bool{
		func(s *statement) bool {
			return id(s.source) == e.id.Source && (s.relation == e.id.Relation || id(s.target) == e.id.Target)
		},
		func(s *statement) bool { return id(s.source) == e.id.Source },
		func(s *statement) bool {
			return slices.Contains([]uuid.UUID{id(s.source), id(s.target)}, e.id.Source) || slices.Contains([]uuid.UUID{id(s.source), id(s.target)}, e.id.Target)
		},
	} {
		var out []*statement
		for _, s := range stated {
			if near(s) {
				out = append(out, s)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return stated
}

// endEdge ends an edge that statements contradict, at the time of the latest. When that
// is before the edge became valid, the edge stays, and what the statements say ended when
// the edge began.
func (u *graphUpdate) endEdge(e *graphEdge, stated []*statement) {
	against := opposingStatements(e, stated)
	at := slices.MaxFunc(against, func(a, b *statement) int { return a.at.Compare(b.at) }).at
	if at.Before(e.edge.ValidFrom) {
		for _, s := range against {
			if until := e.nextStart(s.at); s.ended.IsZero() || until.Before(s.ended) {
				s.ended = until
			}
		}
		return
	}
	e.edge.Valid, e.edge.InvalidatedAt = false, at
	u.markChanged(e, effectInvalidated)
}

// nextStart returns when an edge that is valid now first became valid after a time.
func (e *graphEdge) nextStart(at time.Time) time.Time {
	until := e.edge.ValidFrom
	for _, i := range e.edge.Earlier {
		if i.From.After(at) && i.From.Before(until) {
			until = i.From
		}
	}
	return until
}

// assertStatement changes the edge of a statement, or creates it.
func (u *graphUpdate) assertStatement(s *statement) {
	now := memory.Instant(u.d.Now())
	id := linkOf(s)
	e := u.edges[id]
	if e == nil {
		e = &graphEdge{id: id, stated: true, edge: graph.Edge{Valid: true, ValidFrom: s.at, CreatedAt: now}}
		u.edges[id] = e
		u.markChanged(e, effectNew)
		if !s.ended.IsZero() {
			e.edge.Valid, e.edge.InvalidatedAt = false, s.ended
			e.effect = effectPast
		}
	} else {
		u.reassert(e, s)
	}
	e.newSources = append(e.newSources, s.facts...)
	e.edge.Mentions++
	for _, f := range s.facts {
		e.edge.Sources = append(slices.DeleteFunc(e.edge.Sources, func(id uuid.UUID) bool { return id == f }), f)
	}
	e.edge.UpdatedAt = now
}

// reassert changes an existing edge by a statement.
func (u *graphUpdate) reassert(e *graphEdge, s *statement) {
	x := &e.edge
	switch {
	case x.Valid && !e.hadTriple:
		// Its triple was deleted by a caller, so its old sources do not count.
		x.ValidFrom, x.Sources, x.Mentions = s.at, nil, 0
		u.markChanged(e, effectRevived)
		if !s.ended.IsZero() {
			x.Valid, x.InvalidatedAt = false, s.ended
		}
	case !s.ended.IsZero():
		u.addPastInterval(e, graph.Interval{From: s.at, To: s.ended})
	case x.Valid:
		endsLater := func(i graph.Interval) bool { return i.To.After(s.at) }
		if s.at.Before(x.ValidFrom) && !slices.ContainsFunc(x.Earlier, endsLater) {
			x.ValidFrom = s.at
		}
		u.markChanged(e, effectMentioned)
	case s.at.Before(x.InvalidatedAt):
		// The statement is older than the end of the edge.
		u.addPastInterval(e, graph.Interval{From: s.at, To: x.InvalidatedAt})
	default:
		if x.ValidFrom.Before(x.InvalidatedAt) {
			x.Earlier = append(x.Earlier, x.Current())
		}
		x.Valid, x.ValidFrom, x.InvalidatedAt = true, s.at, time.Time{}
		u.markChanged(e, effectRevived)
	}
}

// addPastInterval adds an interval in which an edge was valid before. It ends at the next
// known interval.
func (u *graphUpdate) addPastInterval(e *graphEdge, i graph.Interval) {
	x := &e.edge
	u.markChanged(e, effectMentioned)
	if _, isKnown := x.At(i.From); isKnown {
		return
	}
	for _, known := range append(slices.Clone(x.Earlier), x.Current()) {
		if known.From.After(i.From) && known.From.Before(i.To) {
			i.To = known.From
		}
	}
	if !i.From.Before(i.To) {
		return
	}
	x.Earlier = append(x.Earlier, i)
	slices.SortStableFunc(x.Earlier, func(a, b graph.Interval) int { return a.From.Compare(b.From) })
}

// removeLostSources removes the lost sources from edges. An edge without a source left
// ends, at the time of the latest fact or now.
func (u *graphUpdate) removeLostSources() {
	at := time.Time{}
	for i := range u.facts {
		if t := u.facts[i].OccurredAt; t.After(at) {
			at = t
		}
	}
	at = memory.Instant(cmp.Or(at, u.d.Now()))
	var edges []*graphEdge
	for _, e := range u.edges {
		if len(e.lostSources) > 0 {
			edges = append(edges, e)
		}
	}
	slices.SortFunc(edges, func(a, b *graphEdge) int { return memory.CompareLinkIDs(a.id, b.id) })
	for _, e := range edges {
		left := slices.DeleteFunc(slices.Clone(e.edge.Sources), func(id uuid.UUID) bool {
			return slices.Contains(e.lostSources, id) && !slices.Contains(e.newSources, id)
		})
		u.markChanged(e, effectSource)
		if len(left) > 0 {
			e.edge.Sources = left // an edge that ends keeps its sources
			continue
		}
		if e.edge.Valid {
			e.edge.Valid, e.edge.InvalidatedAt = false, memory.Later(at, e.edge.ValidFrom)
			u.markChanged(e, effectInvalidated)
		}
	}
}
