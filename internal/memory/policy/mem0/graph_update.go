package mem0

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/text"
)

// graphUpdate is one update of the graph from the facts that changed.
type graphUpdate struct {
	g       *graphPart
	d       memory.Desk
	c       *Config
	facts   []memory.Note // new and changed
	removed []memory.Note
	// deletedBy is that of [factChange].
	deletedBy map[uuid.UUID]string
	user      string // name of the speaker, whom facts call "I" or "user"
	out       *GraphOutcome
	analyst   memory.Analyst // who answered last

	nodes map[string]*graphNode // by key, and by the keys of other spellings
	named []*graphNode          // in the order in which they were found
	notes map[uuid.UUID]memory.Note
	edges map[memory.LinkID]*graphEdge
	order []*graphEdge // the edges that change, in order
}

// graphNode is an entity that the facts name.
type graphNode struct {
	key, name, kind string
	note            memory.Note // its note; zero ID: not resolved yet
	score           float64     // similarity to that note, if the note has another name
	mentioned       bool        // by the facts themselves
	used            bool        // its note is written
	candidates      []uuid.UUID // entities with similar names, itself included
}

// displayName returns the name that calls see.
func (n *graphNode) displayName() string {
	if n.note.ID != uuid.Nil {
		return n.note.Content
	}
	return n.name
}

// graphEdge is an edge that exists or is created.
type graphEdge struct {
	id          memory.LinkID
	link        memory.Link // before the update; zero for a new edge
	edge        graph.Edge  // after the update
	hadTriple   bool        // it was valid before, and its triple exists
	triple      memory.Note // zero ID: none
	stated      bool        // the facts state it
	newSources  []uuid.UUID // facts that state it now
	lostSources []uuid.UUID // facts that no longer state it
	effect      string      // "": it does not change
}

// addEdge adds the edge of a link and returns it; nil for a link that is not an edge.
func (u *graphUpdate) addEdge(l *memory.Link) *graphEdge {
	if e := u.edges[l.LinkID]; e != nil {
		return e
	}
	e, ok := graph.EdgeOf(l)
	if !ok {
		return nil
	}
	u.edges[l.LinkID] = &graphEdge{id: l.LinkID, link: *l, edge: e}
	return u.edges[l.LinkID]
}

// markChanged records that an edge is written, with the effect for the outcome. A later
// effect replaces effectSource only.
func (u *graphUpdate) markChanged(e *graphEdge, effect string) {
	if e.effect == "" {
		u.order = append(u.order, e)
	}
	if e.effect == "" || e.effect == effectSource {
		e.effect = effect
	}
}

// retract finds the edges that lose a source: a fact that is deleted, or that no longer
// names what the edge connects. A fact that contradicts another deletes only what it is
// about: an edge of which it names neither the relation nor the object stays. The edges of
// a fact are found by the links from their triples to the fact.
func (u *graphUpdate) retract(ctx context.Context) error {
	var ids []uuid.UUID
	changed := map[uuid.UUID]string{} // texts of facts that are not deleted
	for i := range u.removed {
		ids = append(ids, u.removed[i].ID)
	}
	for i := range u.facts {
		if n := &u.facts[i]; n.From > 0 {
			ids, changed[n.ID] = append(ids, n.ID), n.Content
		}
	}
	if len(ids) == 0 {
		return nil
	}
	links, err := u.d.Links(ctx, ids, memory.Incoming)
	if err != nil {
		return fmt.Errorf("read links to facts: %w", err)
	}
	sources := map[uuid.UUID][]uuid.UUID{} // changed and removed facts by triple
	var triples []uuid.UUID
	for i := range links {
		if l := &links[i]; l.Relation == graph.DerivedFrom {
			if sources[l.Source] == nil {
				triples = append(triples, l.Source)
			}
			sources[l.Source] = append(sources[l.Source], l.Target)
		}
	}
	notes, err := u.d.Notes(ctx, triples)
	if err != nil {
		return fmt.Errorf("read triples: %w", err)
	}
	edges, err := u.edgesOf(ctx, notes)
	if err != nil {
		return err
	}
	for i, e := range edges {
		if e == nil || !e.edge.Valid {
			continue
		}
		subject, _ := notes[i].Attributes[graph.AttrSubject].(string)
		object, _ := notes[i].Attributes[graph.AttrObject].(string)
		keeps := func(fact uuid.UUID) bool {
			content, exists := changed[fact]
			if exists {
				return u.isNamedIn(content, subject) && u.isNamedIn(content, object)
			}
			by := u.deletedBy[fact]
			return by != "" && !u.isAbout(by, subject, e.id.Relation, object)
		}
		e.lostSources = append(e.lostSources, slices.DeleteFunc(sources[notes[i].ID], keeps)...)
	}
	return nil
}

// edgesOf returns the edge of each triple, nil for a note that is not a triple or whose edge
// does not exist. It reads the links of all of them in one call.
func (u *graphUpdate) edgesOf(ctx context.Context, triples []memory.Note) ([]*graphEdge, error) {
	ids := make([]memory.LinkID, len(triples))
	var subjects []uuid.UUID
	for i := range triples {
		if id, ok := graph.TripleLink(&triples[i]); ok {
			ids[i] = id
			subjects = append(subjects, id.Source)
		}
	}
	if len(subjects) == 0 {
		return nil, nil
	}
	links, err := u.d.Links(ctx, memory.AppendNew(nil, subjects...), memory.Outgoing)
	if err != nil {
		return nil, fmt.Errorf("read edges: %w", err)
	}
	byID := make(map[memory.LinkID]*memory.Link, len(links))
	for i := range links {
		byID[links[i].LinkID] = &links[i]
	}
	edges := make([]*graphEdge, len(triples))
	for i, id := range ids {
		if l := byID[id]; l != nil {
			edges[i] = u.addEdge(l)
		}
	}
	return edges, nil
}

// isNamedIn reports whether a text names an entity. The speaker is named in every text.
func (u *graphUpdate) isNamedIn(content, name string) bool {
	return u.entityKey(name) == graph.EntityKey(u.user) || mentionsName(content, name)
}

// isAbout reports whether a fact names the object of an edge or its relation. Where the
// object is the person that the fact is about ("Clara is a sister of Tom"), the other end
// counts instead.
func (u *graphUpdate) isAbout(fact, subject, relation, object string) bool {
	if u.entityKey(object) == graph.EntityKey(u.user) || strings.HasPrefix(text.Fold(fact), text.Fold(object)) {
		object = subject
	}
	said := termsOf(fact)
	named := termsOf(object + " " + strings.TrimPrefix(strings.ReplaceAll(relation, "_", " "), "not "))
	for t := range termsOf(subject).terms {
		if !termsOf(object).terms[t] {
			delete(named.terms, t)
		}
	}
	return inOtherLanguage(&said, &named) || said.countShared(named.terms) > 0
}

// applyStatements brings the statements into the graph: it finds their entities and edges,
// asks which edges they contradict, and changes the edges.
func (u *graphUpdate) applyStatements(ctx context.Context, stated []*statement) error {
	if err := u.resolveEntities(ctx); err != nil {
		return err
	}
	near, err := u.edgesNearEntities(ctx)
	if err != nil {
		return err
	}
	for _, s := range stated {
		if e := u.edges[linkOf(s)]; e != nil {
			e.stated = true
		}
	}
	var ended []*graphEdge
	if shown := u.selectEdges(near); u.c.GraphConflicts && len(stated) > 0 && len(shown) > 0 {
		if err := u.loadEnds(ctx, shown); err != nil {
			return err
		}
		if ended, err = u.askContradicted(ctx, stated, shown); err != nil {
			return err
		}
	}
	if err := u.loadTriples(ctx, ended); err != nil {
		return err
	}
	for _, e := range ended {
		u.endEdge(e, stated)
	}
	for _, s := range stated {
		if !u.onlyEnds(s) {
			u.assertStatement(s)
		}
	}
	u.removeLostSources()
	return nil
}

// onlyEnds reports whether a negated statement says only that an edge has ended. Such a
// statement gets no edge of its own.
func (u *graphUpdate) onlyEnds(s *statement) bool {
	positive, isNegated := strings.CutPrefix(s.relation, negationPrefix)
	if !isNegated {
		return false
	}
	id := linkOf(s)
	id.Relation = positive
	e := u.edges[id]
	return e != nil && !e.edge.Valid && !e.edge.InvalidatedAt.After(s.at)
}

// linkOf returns the link of a statement whose entities are resolved.
func linkOf(s *statement) memory.LinkID {
	return memory.LinkID{Source: s.source.note.ID, Target: s.target.note.ID, Relation: s.relation}
}
