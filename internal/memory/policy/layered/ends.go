package layered

import (
	"context"
	"slices"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
)

// maxKnown is how many triples a model is shown that a message may end: the newest ones.
const maxKnown = 50

// mayEnd returns the valid edges of the speaker that a message may end, oldest first. There are none without a model:
// only a decision that names a triple ends it.
func (w *writer) mayEnd(ctx context.Context, said *memory.Utterance) ([]*edge, error) {
	if !w.c.EndAtOnce || w.d.Analyst() != memory.AnalystModel {
		return nil, nil
	}
	key := graph.EntityKey(w.subjectOf(said))
	speaker, ok := w.facts.entities[key]
	if !ok {
		n, found, err := w.d.ByKey(ctx, memory.KindEntity, key)
		if err != nil || !found {
			return nil, err
		}
		speaker = &n
	}
	w.facts.name(speaker)
	known, err := w.facts.validOf(ctx, speaker.ID)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(known, func(a, b *edge) int { return a.ValidFrom.Compare(b.ValidFrom) })
	return known[max(0, len(known)-maxKnown):], nil
}

// subjectOf returns the subject of what a speaker says of themselves.
func (w *writer) subjectOf(said *memory.Utterance) string {
	if w.c.Persons == personsSeveral && said.Name != "" {
		return said.Name
	}
	return SubjectUser
}

// known returns edges as a prompt shows them.
func (f *facts) known(edges []*edge) []KnownTriple {
	out := make([]KnownTriple, len(edges))
	for i, e := range edges {
		out[i] = KnownTriple{Subject: f.nameOf(e.id.Source), Relation: e.id.Relation, Object: f.nameOf(e.id.Target), Since: e.ValidFrom}
	}
	return out
}

// endStated ends the edges of which an item says that they no longer hold, so that a new value need not be repeated
// until it wins. An item ends nothing that it states itself, nor what was stated about a later time.
func (f *facts) endStated(ctx context.Context, ended []*edge, now []Triple, source *memory.Note) error {
	at := memory.Instant(source.OccurredAt)

	for _, e := range ended {
		if !e.Valid || at.Before(e.ValidFrom) || slices.Contains(e.Sources, source.ID) || f.states(now, e) {
			continue
		}
		contested := e.Contested
		f.end(e, at)
		if contested {
			if err := f.calm(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// states reports whether one of some triples is that of an edge.
func (f *facts) states(triples []Triple, e *edge) bool {
	return slices.ContainsFunc(triples, func(t Triple) bool {
		return graph.EntityKey(t.Relation) == e.id.Relation && graph.EntityKey(t.Subject) == graph.EntityKey(f.nameOf(e.id.Source)) &&
			graph.EntityKey(t.Object) == graph.EntityKey(f.nameOf(e.id.Target))
	})
}
