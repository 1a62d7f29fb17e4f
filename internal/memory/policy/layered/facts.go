package layered

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// facts is what a decision changes in the graph: entities and edges as package graph stores them. The confidence of
// an edge is that of its link; its triple repeats it for searches. Sources are the items that state it, and Mentions
// counts them.
type facts struct {
	w *writer

	entities map[string]*memory.Note   // by key
	edges    map[memory.LinkID]*edge   // that were read, or are new
	read     map[uuid.UUID]bool        // entities whose outgoing edges were read
	names    map[uuid.UUID]memory.Note // entities by id
}

// edge is an edge of the graph as the decision leaves it.
type edge struct {
	graph.Edge

	id         memory.LinkID
	confidence float64
	triple     *memory.Note // nil: not read, or none
	changed    bool
}

// entity returns the entity of a name that an item states. It is new if there is none.
func (f *facts) entity(ctx context.Context, name string, source *memory.Note, at time.Time) (*memory.Note, error) {
	key := graph.EntityKey(name)
	if n, ok := f.entities[key]; ok {
		return n, nil
	}
	n, ok, err := f.w.d.ByKey(ctx, memory.KindEntity, key)
	if err != nil {
		return nil, fmt.Errorf("find an entity: %w", err)
	}
	if !ok {
		n = memory.Note{
			ID: f.w.d.NewID(), Kind: memory.KindEntity, Key: key, Content: graph.EntityName(name), Context: memory.DefaultContext,
			Category: memory.DefaultCategory, Importance: memory.DefaultImportance, OccurredAt: at, State: memory.StateEvolved,
			Provenance: memory.Provenance{Sources: []uuid.UUID{source.ID}},
		}
		f.read[n.ID] = true // it has no edges
	}
	f.entities[key] = &n
	f.name(&n)
	return &n, nil
}

func (f *facts) name(n *memory.Note) {
	if f.names == nil {
		f.names = map[uuid.UUID]memory.Note{}
	}
	f.names[n.ID] = *n
}

// readEdges reads the edges that leave entities.
func (f *facts) readEdges(ctx context.Context, subjects ...uuid.UUID) error {
	subjects = slices.DeleteFunc(slices.Clone(subjects), func(id uuid.UUID) bool { return f.read[id] })
	if len(subjects) == 0 {
		return nil
	}
	links, err := f.w.d.Links(ctx, subjects, memory.Outgoing)
	if err != nil {
		return fmt.Errorf("read edges: %w", err)
	}
	for i := range links {
		l := &links[i]
		if e, ok := graph.EdgeOf(l); ok && f.edges[l.LinkID] == nil {
			f.edges[l.LinkID] = &edge{Edge: e, id: l.LinkID, confidence: l.Confidence}
		}
	}
	for _, id := range subjects {
		f.read[id] = true
	}
	return nil
}

// readTriples reads the triples and the ends of valid edges. An edge whose triple a caller has deleted is not valid.
func (f *facts) readTriples(ctx context.Context, edges []*edge) error {
	var ids []uuid.UUID
	for _, e := range edges {
		if e.Valid && e.triple == nil && !e.changed {
			ids = append(ids, e.Triple)
		}
		for _, end := range []uuid.UUID{e.id.Source, e.id.Target} {
			if _, ok := f.names[end]; !ok {
				ids = append(ids, end)
			}
		}
	}
	notes, err := f.w.d.Notes(ctx, slices.DeleteFunc(ids, func(id uuid.UUID) bool { return id == uuid.Nil }))
	if err != nil {
		return fmt.Errorf("read triples: %w", err)
	}
	byID := make(map[uuid.UUID]*memory.Note, len(notes))
	for i := range notes {
		byID[notes[i].ID] = &notes[i]
		if notes[i].Kind == memory.KindEntity {
			f.name(&notes[i])
		}
	}
	for _, e := range edges {
		if e.Valid && e.triple == nil && !e.changed {
			if e.triple = byID[e.Triple]; e.triple == nil {
				e.Valid, e.Sources, e.Mentions = false, nil, 0
			}
		}
	}
	return nil
}

// validOf returns the valid edges of a subject, in the order of their relations and targets, with their triples.
func (f *facts) validOf(ctx context.Context, subject uuid.UUID) ([]*edge, error) {
	if err := f.readEdges(ctx, subject); err != nil {
		return nil, err
	}
	var out []*edge
	for id, e := range f.edges {
		if id.Source == subject {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *edge) int {
		return cmp.Or(cmp.Compare(a.id.Relation, b.id.Relation), memory.CompareIDs(a.id.Target, b.id.Target))
	})
	if err := f.readTriples(ctx, out); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(out, func(e *edge) bool { return !e.Valid }), nil
}

// sameRelation returns the edges of a subject with a relation, in the order of their targets, with their triples.
func (f *facts) sameRelation(ctx context.Context, subject uuid.UUID, relation string) ([]*edge, error) {
	if err := f.readEdges(ctx, subject); err != nil {
		return nil, err
	}
	var out []*edge
	for id, e := range f.edges {
		if id.Source == subject && id.Relation == relation {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *edge) int { return memory.CompareIDs(a.id.Target, b.id.Target) })
	return out, f.readTriples(ctx, out)
}

// assert takes in a statement of an item. A repeat by another item makes its edge surer. A new object of a
// single-valued relation contests the others. When a repeat makes one of the rivals the surest, the others end.
func (f *facts) assert(ctx context.Context, t Triple, source *memory.Note) error {
	at := memory.EventInstant(source.OccurredAt)
	relation := graph.EntityKey(t.Relation)
	if graph.EntityKey(t.Subject) == "" || graph.EntityKey(t.Object) == "" || relation == "" || graph.EntityKey(t.Subject) == graph.EntityKey(t.Object) {
		f.w.out.Dropped++
		return nil
	}
	subject, err := f.entity(ctx, t.Subject, source, at)
	if err != nil {
		return err
	}
	object, err := f.entity(ctx, t.Object, source, at)
	if err != nil {
		return err
	}
	known, err := f.sameRelation(ctx, subject.ID, relation)
	if err != nil {
		return err
	}
	id := memory.LinkID{Source: subject.ID, Target: object.ID, Relation: relation}
	var rivals []*edge
	if singleValued(relation) {
		for _, e := range known {
			if e.Valid && e.id != id {
				rivals = append(rivals, e)
			}
		}
	}
	e := f.edges[id]
	switch {
	case e != nil && e.Valid && slices.Contains(e.Sources, source.ID):
	case e != nil && e.Valid:
		e.confidence = min(e.confidence+confirmation, 1)
		f.support(e, source, at)
		f.resolve(e, rivals, at)
	default:
		if e == nil {
			e = &edge{id: id}
			e.CreatedAt = memory.Instant(f.w.d.Now())
			f.edges[id] = e
		} else if e.ValidFrom.Before(e.InvalidatedAt) {
			e.Earlier = append(e.Earlier, e.Current())
		}
		e.Valid, e.ValidFrom, e.InvalidatedAt, e.Contested = true, at, time.Time{}, false
		// A triple that this decision has ended is still there, and is used again.
		e.Sources, e.Mentions, e.confidence = nil, 0, t.Confidence
		f.support(e, source, at)
		f.contest(e, rivals)
		f.w.learned = append(f.w.learned, memory.Learned{
			Memory: sentence(subject.Content, relation, object.Content), Event: memory.LearnedAdd, Note: f.tripleOf(e).ID,
		})
	}
	n := f.tripleOf(e)
	f.w.out.Stored = append(f.w.out.Stored, Stored{
		Layer: Semantic, Note: n.ID, Importance: source.Importance,
		Triple: &Triple{Subject: subject.Content, Relation: relation, Object: object.Content, Confidence: e.confidence},
	})
	return nil
}

// support adds an item as a source of an edge.
func (f *facts) support(e *edge, source *memory.Note, at time.Time) {
	e.Sources = append(e.Sources, source.ID)
	e.Mentions++
	e.changed = true
	if at.Before(e.ValidFrom) {
		e.ValidFrom = at
	}
	f.w.links = append(f.w.links, memory.Link{LinkID: f.derivedFrom(e, source.ID), Confidence: 1})
}

// derivedFrom returns the id of the link from an edge's triple to an item.
func (f *facts) derivedFrom(e *edge, item uuid.UUID) memory.LinkID {
	return memory.LinkID{Source: f.tripleOf(e).ID, Target: item, Relation: graph.DerivedFrom}
}

// contest marks a new edge and those that it contradicts. Of two the one that was stated about the earlier
// time is the old one, whichever came in first: an item may be remembered late. Its confidence falls, and the other has
// what a new one and its repeats have at most.
func (f *facts) contest(e *edge, rivals []*edge) {
	order := func(r *edge) (older, newer *edge) {
		if e.ValidFrom.Before(r.ValidFrom) {
			return e, r
		}
		return r, e
	}
	for _, r := range rivals {
		older, newer := order(r)
		older.confidence *= contradicted
		newer.confidence = min(newer.confidence, challenger+confirmation*float64(newer.Mentions-1))
		e.Contested, r.Contested, r.changed = true, true, true
	}
	for _, r := range rivals {
		older, newer := order(r)
		f.w.out.Conflicts = append(f.w.out.Conflicts, Conflict{
			Subject: f.nameOf(e.id.Source), Relation: e.id.Relation, Old: f.position(older), New: f.position(newer),
		})
	}
}

// resolve ends the rivals of an edge that a repeat has made the surest.
func (f *facts) resolve(e *edge, rivals []*edge, at time.Time) {
	if len(rivals) == 0 || slices.ContainsFunc(rivals, func(r *edge) bool { return r.confidence >= e.confidence }) {
		return
	}
	for _, r := range rivals {
		f.end(r, at)
	}
	e.Contested = false
}

// end ends an edge.
func (f *facts) end(e *edge, at time.Time) {
	if at.Before(e.ValidFrom) {
		at = e.ValidFrom
	}
	e.Valid, e.InvalidatedAt, e.Contested, e.changed = false, at, false, true
	if e.triple != nil {
		f.w.learned = append(f.w.learned, memory.Learned{Memory: e.triple.Content, Event: memory.LearnedDelete, Note: e.triple.ID})
	}
	f.w.out.Ended++
}

func (f *facts) nameOf(id uuid.UUID) string {
	n := f.names[id]
	return n.Content
}

func (f *facts) position(e *edge) Position {
	return Position{Note: f.tripleOf(e).ID, Object: f.nameOf(e.id.Target), Confidence: e.confidence}
}

// tripleOf returns the triple of an edge; it is new if the edge has none.
func (f *facts) tripleOf(e *edge) *memory.Note {
	if e.triple == nil {
		e.triple = &memory.Note{
			ID: f.w.d.NewID(), Kind: memory.KindKnowledge, Key: f.tripleKey(e), Context: memory.DefaultContext, Category: graph.CategoryTriple,
			Importance: memory.DefaultImportance, State: memory.StateEvolved, Analyst: f.w.out.Analyst,
		}
		e.Triple = e.triple.ID
	}
	return e.triple
}

// tripleKey returns the key of a triple's note; with long names it is a hash.
func (f *facts) tripleKey(e *edge) string {
	subject, object := f.names[e.id.Source], f.names[e.id.Target]
	key := "triple/" + subject.Key + "|" + e.id.Relation + "|" + object.Key
	if len(key) > memory.MaxKeyBytes {
		sum := sha256.Sum256([]byte(key))
		key = "triple/#" + hex.EncodeToString(sum[:])
	}
	return key
}

// keepOnly withdraws what an item stated before and its new text does not.
func (f *facts) keepOnly(ctx context.Context, item uuid.UUID, now []Triple) error {
	stated, err := f.statedBy(ctx, item)
	if err != nil {
		return err
	}
	for _, e := range stated {
		if !f.states(now, e) {
			if err := f.lose(ctx, e, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// statedBy returns the edges that a visible item states.
func (f *facts) statedBy(ctx context.Context, item uuid.UUID) ([]*edge, error) {
	links, err := f.w.d.Links(ctx, []uuid.UUID{item}, memory.Incoming)
	if err != nil {
		return nil, fmt.Errorf("read what an item states: %w", err)
	}
	var ids []uuid.UUID
	for i := range links {
		if links[i].Relation == graph.DerivedFrom {
			ids = append(ids, links[i].Source)
		}
	}
	triples, err := f.w.d.Notes(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read triples: %w", err)
	}
	return f.edgesOf(ctx, triples, item)
}

// edgesOf returns the edges of triples that have an item among their sources.
func (f *facts) edgesOf(ctx context.Context, triples []memory.Note, item uuid.UUID) ([]*edge, error) {
	var ids []memory.LinkID
	var subjects []uuid.UUID
	for i := range triples {
		if id, ok := graph.TripleLink(&triples[i]); ok {
			ids, subjects = append(ids, id), append(subjects, id.Source)
		}
	}
	slices.SortFunc(subjects, memory.CompareIDs)
	if err := f.readEdges(ctx, slices.Compact(subjects)...); err != nil {
		return nil, err
	}
	var out []*edge
	for _, id := range ids {
		if e := f.edges[id]; e != nil && e.Valid && slices.Contains(e.Sources, item) {
			out = append(out, e)
		}
	}
	return out, f.readTriples(ctx, out)
}

// withdraw removes deleted items from the sources of all edges. Their links are gone with them, so the triples are
// looked through. What only deleted triples contradicted is contested no longer.
func (f *facts) withdraw(ctx context.Context, items []uuid.UUID) error {
	found := map[uuid.UUID][]memory.Note{}
	var contested []memory.LinkID
	for n, err := range policy.EachNote(ctx, f.w.d, memory.NoteQuery{Kinds: []memory.Kind{memory.KindKnowledge}}) {
		if err != nil {
			return fmt.Errorf("list triples: %w", err)
		}
		if id, ok := graph.TripleLink(n); ok && n.Attributes[graph.AttrContested] == true {
			contested = append(contested, id)
		}
		for _, id := range items {
			if slices.Contains(n.Provenance.Sources, id) {
				found[id] = append(found[id], *n)
			}
		}
	}
	for _, id := range items {
		edges, err := f.edgesOf(ctx, found[id], id)
		if err != nil {
			return err
		}
		for _, e := range edges {
			if err := f.lose(ctx, e, id); err != nil {
				return err
			}
		}
	}
	for _, id := range contested {
		if err := f.calm(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// lose removes a source of an edge. Without a source left, the edge ends, and a single rival is contested no longer.
func (f *facts) lose(ctx context.Context, e *edge, item uuid.UUID) error {
	e.Sources = slices.DeleteFunc(slices.Clone(e.Sources), func(id uuid.UUID) bool { return id == item })
	e.Mentions, e.changed = max(e.Mentions-1, len(e.Sources)), true
	if len(e.Sources) > 0 {
		e.confidence = max(e.confidence-confirmation, confirmation)
		f.w.unlinks = append(f.w.unlinks, f.derivedFrom(e, item)) // that of a deleted item has ended with it
		return nil
	}
	contested := e.Contested
	f.end(e, memory.Instant(f.w.d.Now()))
	if !contested {
		return nil
	}
	return f.calm(ctx, e.id)
}

// calm ends the contest of the single edge that is left of a subject and a relation.
func (f *facts) calm(ctx context.Context, id memory.LinkID) error {
	others, err := f.sameRelation(ctx, id.Source, id.Relation)
	if err != nil {
		return err
	}
	others = slices.DeleteFunc(others, func(o *edge) bool { return !o.Valid })
	if len(others) == 1 && others[0].Contested {
		others[0].Contested, others[0].changed = false, true
	}
	return nil
}

// write adds the changed edges, their triples and new entities to the decision.
func (f *facts) write() {
	var changed []*edge
	for _, e := range f.edges {
		if e.changed {
			changed = append(changed, e)
		}
	}
	slices.SortFunc(changed, func(a, b *edge) int {
		return cmp.Or(memory.CompareIDs(a.id.Source, b.id.Source), cmp.Compare(a.id.Relation, b.id.Relation), memory.CompareIDs(a.id.Target, b.id.Target))
	})
	used := map[uuid.UUID]bool{}
	for _, e := range changed {
		e.UpdatedAt = memory.Instant(f.w.d.Now())
		used[e.id.Source], used[e.id.Target] = true, true
		switch {
		case e.Valid:
			f.writeTriple(e)
		case e.triple != nil:
			f.w.deletes = append(f.w.deletes, e.triple.ID)
		}
		f.w.links = append(f.w.links, memory.Link{LinkID: e.id, Confidence: e.confidence, Attributes: e.Attributes()})
	}
	for _, key := range slices.Sorted(maps.Keys(f.entities)) {
		if n := f.entities[key]; n.From == 0 && used[n.ID] {
			f.w.put(n)
		}
	}
}

// writeTriple writes the triple of a valid edge.
func (f *facts) writeTriple(e *edge) {
	n := f.w.put(f.tripleOf(e))
	subject, object := f.names[e.id.Source], f.names[e.id.Target]
	n.Content = sentence(subject.Content, e.id.Relation, object.Content)
	if !n.OccurredAt.Equal(e.ValidFrom) { // a link keeps no offset
		n.OccurredAt = e.ValidFrom
	}
	n.Attributes = graph.TripleAttributes(e.id, subject.Content, object.Content)
	n.Attributes[memory.AttrConfidence], n.Attributes[graph.AttrMentions] = e.confidence, float64(e.Mentions)
	if e.Contested {
		n.Attributes[graph.AttrContested] = true
	}
	n.Provenance.Sources, n.Provenance.Stale = e.Sources[max(0, len(e.Sources)-graph.MaxEdgeSources):], false
}

// sentences are how the relations of a user are said, in English and in Chinese. %s is the object.
var sentences = map[string][2]string{
	relationName:     {"name is", "的名字是"},
	relationAddress:  {"wants to be called", "希望被称呼为"},
	relationJob:      {"works as", "的工作是"},
	relationPlace:    {"lives in", "住在"},
	relationLikes:    {"likes", "喜欢"},
	relationDislikes: {"dislikes", "不喜欢"},
	relationSkills:   {"is good at", "擅长"},
	relationGoals:    {"has the goal:", "的目标是"},
}

// sentence returns a triple as a sentence, in Chinese if its object has Chinese characters, such as "Go 和 Python".
func sentence(subject, relation, object string) string {
	said, known := sentences[relation]
	if lang, _ := text.Guess(object); lang != text.Japanese && strings.ContainsFunc(object, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		if subject == SubjectUser {
			subject = "用户"
		}
		if known {
			return subject + said[1] + object
		}
	} else if subject == SubjectUser {
		subject = "The user"
	}
	verb := strings.ReplaceAll(relation, "_", " ")
	switch {
	case known && relation == relationName:
		return subject + "'s " + said[0] + " " + object
	case known:
		verb = said[0]
	}
	return subject + " " + verb + " " + object
}
