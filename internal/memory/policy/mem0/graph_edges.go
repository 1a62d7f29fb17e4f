package mem0

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
)

// rivals are the statements that an edge can be contradicted by: of the same
// source about the same thing or in the same way, else of the same source,
// else those that have an end with it in common, else all.
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

// end ends an edge that statements contradict, at their time. Statements about
// an earlier time than the edge holds from do not end it: what they say ended
// when it began.
func (w *graphUpdate) endEdge(e *graphEdge, stated []*statement) {
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
	w.markChanged(e, EffectInvalidated)
}

// next is when the edge, which holds now, first began to hold after a time.
func (e *graphEdge) nextStart(at time.Time) time.Time {
	until := e.edge.ValidFrom
	for _, i := range e.edge.Earlier {
		if i.From.After(at) && i.From.Before(until) {
			until = i.From
		}
	}
	return until
}

// assert takes a statement into its edge.
func (w *graphUpdate) assertStatement(s *statement) {
	now := memory.Instant(w.d.Now())
	id := w.linkOf(s)
	e := w.edges[id]
	if e == nil {
		e = &graphEdge{id: id, stated: true, edge: graph.Edge{Valid: true, ValidFrom: s.at, CreatedAt: now}}
		w.edges[id] = e
		w.markChanged(e, EffectNew)
		if !s.ended.IsZero() {
			e.edge.Valid, e.edge.InvalidatedAt = false, s.ended
			e.effect = EffectPast
		}
	} else {
		w.reassert(e, s)
	}
	e.newSources = append(e.newSources, s.facts...)
	e.edge.Mentions++
	for _, f := range s.facts {
		e.edge.Sources = append(slices.DeleteFunc(e.edge.Sources, func(id uuid.UUID) bool { return id == f }), f)
	}
	e.edge.UpdatedAt = now
}

// again takes a statement into an edge that is there.
func (w *graphUpdate) reassert(e *graphEdge, s *statement) {
	x := &e.edge
	switch {
	case x.Valid && !e.hadTriple:
		// Nobody shows it any more: what it rested on was deleted by hand.
		x.ValidFrom, x.Sources, x.Mentions = s.at, nil, 0
		w.markChanged(e, EffectRevived)
		if !s.ended.IsZero() {
			x.Valid, x.InvalidatedAt = false, s.ended
		}
	case !s.ended.IsZero():
		w.addPastInterval(e, graph.Interval{From: s.at, To: s.ended})
	case x.Valid:
		held := func(i graph.Interval) bool { return i.To.After(s.at) }
		if s.at.Before(x.ValidFrom) && !slices.ContainsFunc(x.Earlier, held) {
			x.ValidFrom = s.at
		}
		w.markChanged(e, EffectMentioned)
	case s.at.Before(x.InvalidatedAt):
		// Older than what ended it.
		w.addPastInterval(e, graph.Interval{From: s.at, To: x.InvalidatedAt})
	default:
		if x.ValidFrom.Before(x.InvalidatedAt) {
			x.Earlier = append(x.Earlier, x.Current())
		}
		x.Valid, x.ValidFrom, x.InvalidatedAt = true, s.at, time.Time{}
		w.markChanged(e, EffectRevived)
	}
}

// past notes that an edge held for a while before what is known of it.
func (w *graphUpdate) addPastInterval(e *graphEdge, i graph.Interval) {
	x := &e.edge
	w.markChanged(e, EffectMentioned)
	if _, held := x.At(i.From); held {
		return
	}
	// Up to what is known of a later time.
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

// lose takes sources from edges. One that has none left ends, unless the facts
// state it: when the latest of them was said, or now.
func (w *graphUpdate) removeLostSources() {
	at := time.Time{}
	for i := range w.facts {
		if t := w.facts[i].OccurredAt; t.After(at) {
			at = t
		}
	}
	at = memory.Instant(cmp.Or(at, w.d.Now()))
	var edges []*graphEdge
	for _, e := range w.edges {
		if len(e.lostSources) > 0 {
			edges = append(edges, e)
		}
	}
	slices.SortFunc(edges, func(a, b *graphEdge) int { return compareLinkIDs(a.id, b.id) })
	for _, e := range edges {
		left := slices.DeleteFunc(slices.Clone(e.edge.Sources), func(id uuid.UUID) bool {
			return slices.Contains(e.lostSources, id) && !slices.Contains(e.newSources, id)
		})
		w.markChanged(e, EffectSource)
		if len(left) > 0 {
			e.edge.Sources = left // an edge that ends keeps the names of what it came from
			continue
		}
		if e.edge.Valid {
			e.edge.Valid, e.edge.InvalidatedAt = false, laterTime(at, e.edge.ValidFrom)
			w.markChanged(e, EffectInvalidated)
		}
	}
}

func laterTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func compareLinkIDs(a, b memory.LinkID) int {
	return cmp.Or(bytes.Compare(a.Source[:], b.Source[:]), cmp.Compare(a.Relation, b.Relation), bytes.Compare(a.Target[:], b.Target[:]))
}
