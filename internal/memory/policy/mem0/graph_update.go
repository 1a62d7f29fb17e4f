package mem0

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
)

// weaving is one run of the graph over the facts of an exchange.
type graphUpdate struct {
	g       *graphPart
	d       memory.Desk
	c       *Config
	facts   []memory.Note // new and changed
	removed []memory.Note
	user    string // name of who "I" and "user" are
	out     *GraphOutcome
	analyst memory.Analyst // who answered last

	nodes map[string]*graphNode // by key, and by the keys of other spellings
	named []*graphNode          // in the order in which they were found
	notes map[uuid.UUID]memory.Note
	edges map[memory.LinkID]*graphEdge
	order []*graphEdge // those that change, in order
}

// graphNode is an entity that the facts name.
type graphNode struct {
	key, name, kind string
	note            memory.Note // that stands for it; zero ID: a new one
	score           float64     // similarity to a note of another name
	mentioned       bool        // by the facts themselves
	used            bool        // it is part of the graph from now on
	candidates      []uuid.UUID // entities with similar names, itself included
}

// shown is the name that calls see.
func (n *graphNode) displayName() string {
	if n.note.ID != uuid.Nil {
		return n.note.Content
	}
	return n.name
}

// graphEdge is an edge that is there or comes to be.
type graphEdge struct {
	id          memory.LinkID
	link        memory.Link // as it was; zero for a new one
	edge        graph.Edge  // as it is to be
	hadTriple   bool        // it held before, and a note said it
	triple      memory.Note // that says it; zero ID: none
	stated      bool        // the facts state it
	newSources  []uuid.UUID // facts that state it now
	lostSources []uuid.UUID // sources that it has no more
	effect      string      // "": nothing changes
}

// known takes a link as an edge; nil when it is none.
func (w *graphUpdate) addEdge(l *memory.Link) *graphEdge {
	if e := w.edges[l.LinkID]; e != nil {
		return e
	}
	e, ok := graph.EdgeOf(l)
	if !ok {
		return nil
	}
	w.edges[l.LinkID] = &graphEdge{id: l.LinkID, link: *l, edge: e}
	return w.edges[l.LinkID]
}

func (w *graphUpdate) markChanged(e *graphEdge, effect string) {
	if e.effect == "" {
		w.order = append(w.order, e)
	}
	if e.effect == "" || e.effect == EffectSource {
		e.effect = effect
	}
}

// retract finds what rests on facts that are deleted, or that no longer name
// what an edge connects. The notes that say edges are linked with the facts
// that they come from.
func (w *graphUpdate) retract(ctx context.Context) error {
	var ids []uuid.UUID
	texts := map[uuid.UUID]string{} // of those that only changed
	for i := range w.removed {
		ids = append(ids, w.removed[i].ID)
	}
	for i := range w.facts {
		if n := &w.facts[i]; n.From > 0 {
			ids, texts[n.ID] = append(ids, n.ID), n.Content
		}
	}
	if len(ids) == 0 {
		return nil
	}
	links, err := w.d.Links(ctx, ids, memory.Incoming)
	if err != nil {
		return fmt.Errorf("read what rests on facts: %w", err)
	}
	rests := map[uuid.UUID][]uuid.UUID{}
	var triples []uuid.UUID
	for i := range links {
		if l := &links[i]; l.Relation == graph.DerivedFrom {
			if rests[l.Source] == nil {
				triples = append(triples, l.Source)
			}
			rests[l.Source] = append(rests[l.Source], l.Target)
		}
	}
	said, err := w.d.Notes(ctx, triples)
	if err != nil {
		return fmt.Errorf("read triples: %w", err)
	}
	for i := range said {
		n := &said[i]
		id, ok := graph.TripleLink(n)
		if !ok {
			continue
		}
		links, err := w.d.Links(ctx, []uuid.UUID{id.Source}, memory.Outgoing)
		if err != nil {
			return fmt.Errorf("read edges: %w", err)
		}
		at := slices.IndexFunc(links, func(l memory.Link) bool { return l.LinkID == id })
		if at < 0 {
			continue
		}
		e := w.addEdge(&links[at])
		if e == nil || !e.edge.Valid {
			continue
		}
		for _, fact := range rests[n.ID] {
			subject, _ := n.Attributes[graph.AttrSubject].(string)
			object, _ := n.Attributes[graph.AttrObject].(string)
			now, changed := texts[fact]
			if changed && w.isNamedIn(now, subject) && w.isNamedIn(now, object) {
				continue
			}
			e.lostSources = append(e.lostSources, fact)
		}
	}
	return nil
}

// names tells whether a text names an entity; it always names who says it.
func (w *graphUpdate) isNamedIn(said, name string) bool {
	return w.entityKey(name) == graph.EntityKey(w.user) || mentionsName(said, name)
}

// state brings the statements into the graph as it stands: which entities
// they are about, which edges are there, which of these end.
func (w *graphUpdate) applyStatements(ctx context.Context, stated []*statement) error {
	if err := w.resolveEntities(ctx); err != nil {
		return err
	}
	touching, err := w.edgesNearEntities(ctx)
	if err != nil {
		return err
	}
	for _, s := range stated {
		if e := w.edges[w.linkOf(s)]; e != nil {
			e.stated = true
		}
	}
	var ended []*graphEdge
	if shown := w.selectEdges(touching); w.c.GraphConflicts && len(stated) > 0 && len(shown) > 0 {
		if err := w.loadEnds(ctx, shown); err != nil {
			return err
		}
		if ended, err = w.askContradicted(ctx, stated, shown); err != nil {
			return err
		}
	}
	if err := w.loadTriples(ctx, ended); err != nil {
		return err
	}
	for _, e := range ended {
		w.endEdge(e, stated)
	}
	for _, s := range stated {
		if !w.onlyEnds(s) {
			w.assertStatement(s)
		}
	}
	w.removeLostSources()
	return nil
}

// onlyEnds tells of a statement of what is not so that all it says is that an
// edge has ended.
func (w *graphUpdate) onlyEnds(s *statement) bool {
	positive, not := strings.CutPrefix(s.relation, negationPrefix)
	if !not {
		return false
	}
	id := w.linkOf(s)
	id.Relation = positive
	e := w.edges[id]
	return e != nil && !e.edge.Valid && !e.edge.InvalidatedAt.After(s.at)
}

func (w *graphUpdate) linkOf(s *statement) memory.LinkID {
	return memory.LinkID{Source: s.source.note.ID, Target: s.target.note.ID, Relation: s.relation}
}
