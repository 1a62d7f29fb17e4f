package mem0

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
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

// resolve finds the notes that stand for the names: that of the same name, or
// one with a similar vector, the same type and nearly the same spelling.
func (w *graphUpdate) resolveEntities(ctx context.Context) error {
	var queries []memory.SimilarQuery
	var asked []*graphNode
	for _, n := range w.named {
		if !n.mentioned {
			continue
		}
		queries = append(queries, memory.SimilarQuery{Text: n.name, Kinds: []memory.Kind{memory.KindEntity}, K: nearEntities, MinScore: w.c.NodeSimilarity})
		asked = append(asked, n)
	}
	if len(queries) == 0 {
		return nil
	}
	near, err := w.d.Similar(ctx, queries)
	if err != nil {
		return fmt.Errorf("find similar entities: %w", err)
	}
	taken := map[uuid.UUID]*graphNode{}
	for i, n := range asked {
		note, ok, err := w.d.ByKey(ctx, memory.KindEntity, n.key)
		if err != nil {
			return fmt.Errorf("find an entity: %w", err)
		}
		if ok {
			n.note, taken[note.ID] = note, n
			n.candidates = append(n.candidates, note.ID)
		}
		for _, nb := range near[i] {
			w.notes[nb.Note.ID] = nb.Note
			if !slices.Contains(n.candidates, nb.Note.ID) {
				n.candidates = append(n.candidates, nb.Note.ID)
			}
		}
	}
	for i, n := range asked {
		for _, nb := range near[i] {
			same := nb.Note.Category == n.kind && isSameName(nb.Note.Content, n.name, n.kind) && n.key != graph.EntityKey(w.user)
			if n.note.ID == uuid.Nil && same && taken[nb.Note.ID] == nil {
				n.note, n.score, taken[nb.Note.ID] = nb.Note, nb.Score, n
			}
		}
		n.used = true
		if n.note.ID == uuid.Nil {
			n.note = memory.Note{ID: w.d.NewID(), Kind: memory.KindEntity, Key: n.key, Content: n.name}
		}
		w.notes[n.note.ID] = n.note
	}
	return nil
}

// nearEntities is how many similar entities are looked at for one name.
const nearEntities = 10

func (w *graphUpdate) linkOf(s *statement) memory.LinkID {
	return memory.LinkID{Source: s.source.note.ID, Target: s.target.note.ID, Relation: s.relation}
}

// around reads the edges of the entities and of those with similar names; of
// each by itself, so that the many of one leave room for those of another.
func (w *graphUpdate) edgesNearEntities(ctx context.Context) (map[uuid.UUID][]*graphEdge, error) {
	out := map[uuid.UUID][]*graphEdge{}
	for _, n := range w.named {
		for _, id := range n.candidates {
			if _, done := out[id]; done {
				continue
			}
			links, err := w.d.Links(ctx, []uuid.UUID{id}, memory.Both)
			if err != nil {
				return nil, fmt.Errorf("read edges: %w", err)
			}
			out[id] = nil
			for i := range links {
				if e := w.addEdge(&links[i]); e != nil {
					out[id] = append(out[id], e)
				}
			}
		}
	}
	return out, nil
}

// shownEdges bounds what the question for contradictions shows in all.
const shownEdges = 300

// show chooses the edges that could be contradicted: of each entity the
// latest that hold and that the facts do not state themselves.
func (w *graphUpdate) selectEdges(touching map[uuid.UUID][]*graphEdge) []*graphEdge {
	var out []*graphEdge
	seen := map[*graphEdge]bool{}
	for _, n := range w.named {
		for _, id := range n.candidates {
			all := slices.DeleteFunc(touching[id], func(e *graphEdge) bool { return !e.edge.Valid || e.stated })
			slices.SortStableFunc(all, func(a, b *graphEdge) int { return b.edge.UpdatedAt.Compare(a.edge.UpdatedAt) })
			for _, e := range all[:min(len(all), w.c.EdgesPerNode)] {
				if !seen[e] && len(out) < shownEdges {
					seen[e], out = true, append(out, e)
				}
			}
		}
	}
	return out
}

// load reads the ends of edges.
func (w *graphUpdate) loadEnds(ctx context.Context, edges []*graphEdge) error {
	var ids []uuid.UUID
	for _, e := range edges {
		for _, id := range []uuid.UUID{e.id.Source, e.id.Target} {
			if _, ok := w.notes[id]; !ok && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	notes, err := w.d.Notes(ctx, ids)
	if err != nil {
		return fmt.Errorf("read entities: %w", err)
	}
	for i := range notes {
		w.notes[notes[i].ID] = notes[i]
	}
	return nil
}

// triples reads the notes that say the edges which change.
func (w *graphUpdate) loadTriples(ctx context.Context, ended []*graphEdge) error {
	by := map[uuid.UUID]*graphEdge{}
	var ids []uuid.UUID
	for _, e := range w.edges {
		changes := e.stated || len(e.lostSources) > 0 || slices.Contains(ended, e)
		if changes && e.edge.Valid && e.edge.Triple != uuid.Nil {
			by[e.edge.Triple], ids = e, append(ids, e.edge.Triple)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for piece := range slices.Chunk(ids, policy.PageSize) {
		notes, err := w.d.Notes(ctx, piece)
		if err != nil {
			return fmt.Errorf("read triples: %w", err)
		}
		for i := range notes {
			e := by[notes[i].ID]
			e.triple, e.hadTriple = notes[i], true
		}
	}
	return nil
}

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
