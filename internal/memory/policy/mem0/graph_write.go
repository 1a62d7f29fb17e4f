package mem0

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// writeTo adds entities, triples and edges to the decision, and records them in the outcome.
func (u *graphUpdate) writeTo(ctx context.Context, dec *memory.Decision) error {
	u.putNodes(dec)
	if err := u.loadEnds(ctx, u.order); err != nil {
		return err
	}
	live, err := u.liveFacts(ctx)
	if err != nil {
		return err
	}
	for _, e := range u.order {
		if err := u.putTriple(ctx, e, live, dec); err != nil {
			return err
		}
		l := e.link
		l.LinkID, l.Attributes = e.id, e.edge.Attributes()
		l.Confidence = u.confidence(e)
		dec.Links = append(dec.Links, l)
		o := EdgeOutcome{Source: e.id.Source, Relation: e.id.Relation, Target: e.id.Target, Effect: e.effect}
		if e.edge.Valid {
			o.Triple = &e.edge.Triple
		}
		u.out.Edges = append(u.out.Edges, o)
	}
	return nil
}

// putNodes writes new entities, and counts the mention of existing ones.
func (u *graphUpdate) putNodes(dec *memory.Decision) {
	var facts []uuid.UUID
	latest := u.d.Now()
	for i := range u.facts {
		facts = append(facts, u.facts[i].ID)
		if i == 0 || u.facts[i].OccurredAt.After(latest) {
			latest = u.facts[i].OccurredAt
		}
	}
	for _, n := range u.named {
		if !n.used {
			continue
		}
		note := n.note
		o := NodeOutcome{Note: note.ID, Effect: effectReused, Score: n.score}
		attributes := map[string]any{graph.AttrMentions: 1.0}
		if note.From == 0 {
			o.Effect = effectNew
			note.Context, note.Category, note.Importance = memory.DefaultContext, n.kind, memory.DefaultImportance
			note.OccurredAt, note.State, note.Analyst = memory.EventInstant(latest), memory.StateEvolved, u.analyst
		} else {
			maps.Copy(attributes, note.Attributes)
			count, _ := note.Attributes[graph.AttrMentions].(float64)
			attributes[graph.AttrMentions] = count + 1
			if note.Category == typeThing { // its type was unknown
				note.Category = n.kind
			}
		}
		note.Attributes = attributes
		note.Provenance.Sources = mergeSources(note.Provenance.Sources, facts)
		dec.Puts = append(dec.Puts, note)
		u.out.Nodes = append(u.out.Nodes, o)
	}
}

// mergeSources moves the ids of more to the end, and keeps the last graph.MaxEdgeSources.
func mergeSources(sources, more []uuid.UUID) []uuid.UUID {
	out := slices.DeleteFunc(slices.Clone(sources), func(id uuid.UUID) bool { return slices.Contains(more, id) })
	out = append(out, more...)
	return out[max(0, len(out)-graph.MaxEdgeSources):]
}

// liveFacts returns which source facts of the changing edges exist after the decision.
func (u *graphUpdate) liveFacts(ctx context.Context) (map[uuid.UUID]bool, error) {
	out := map[uuid.UUID]bool{}
	var ids []uuid.UUID
	for _, e := range u.order {
		if e.edge.Valid {
			ids = mergeSources(ids, e.edge.Sources)
		}
	}
	for piece := range slices.Chunk(ids, policy.PageSize) {
		notes, err := u.d.Notes(ctx, piece)
		if err != nil {
			return nil, fmt.Errorf("read facts: %w", err)
		}
		for i := range notes {
			out[notes[i].ID] = true
		}
	}
	for i := range u.facts {
		out[u.facts[i].ID] = true
	}
	for i := range u.removed {
		delete(out, u.removed[i].ID)
	}
	return out, nil
}

// putTriple writes the triple of a valid edge, or deletes that of an edge that ended. A
// triple is linked to the facts that it comes from, so that it can be found from them.
func (u *graphUpdate) putTriple(ctx context.Context, e *graphEdge, live map[uuid.UUID]bool, dec *memory.Decision) error {
	if !e.edge.Valid {
		if e.triple.ID != uuid.Nil {
			dec.Deletes = append(dec.Deletes, e.triple.ID)
		}
		return nil
	}
	subject, object := u.notes[e.id.Source], u.notes[e.id.Target]
	n := e.triple
	if n.ID == uuid.Nil {
		key := tripleNoteKey(&subject, e.id.Relation, &object)
		existing, ok, err := u.d.ByKey(ctx, memory.KindKnowledge, key)
		if err != nil {
			return fmt.Errorf("find a triple: %w", err)
		}
		if n = existing; !ok {
			n = memory.Note{ID: u.d.NewID(), Kind: memory.KindKnowledge, Key: key}
		}
		n.Context, n.Category, n.Importance = memory.DefaultContext, graph.CategoryTriple, memory.DefaultImportance
		n.State, n.Analyst = memory.StateEvolved, u.analyst
	}
	n.Content = sentence(subject.Content, e.id.Relation, object.Content)
	if !n.OccurredAt.Equal(e.edge.ValidFrom) { // a link keeps no offset
		n.OccurredAt = e.edge.ValidFrom
	}
	n.Attributes = graph.TripleAttributes(e.id, subject.Content, object.Content)
	n.Attributes[memory.AttrConfidence] = u.confidence(e)
	sources := slices.DeleteFunc(slices.Clone(e.edge.Sources), func(id uuid.UUID) bool { return !live[id] })
	sources = sources[max(0, len(sources)-graph.MaxEdgeSources):]
	for _, fact := range sources {
		if !slices.Contains(e.triple.Provenance.Sources, fact) {
			dec.Links = append(dec.Links, memory.Link{LinkID: memory.LinkID{Source: n.ID, Target: fact, Relation: graph.DerivedFrom}, Confidence: 1})
		}
	}
	n.Provenance.Sources, n.Provenance.Stale = sources, false
	e.edge.Triple = n.ID
	dec.Puts = append(dec.Puts, n)
	return nil
}

// tripleNoteKey returns the key of a triple's note; with long names it is a hash.
func tripleNoteKey(subject *memory.Note, relation string, object *memory.Note) string {
	key := "triple/" + subject.Key + "|" + relation + "|" + object.Key
	if len(key) > memory.MaxKeyBytes {
		sum := sha256.Sum256([]byte(key))
		key = "triple/#" + hex.EncodeToString(sum[:])
	}
	return key
}

// confidence returns the confidence of an edge. Every further statement halves the doubt, and none lowers it.
func (u *graphUpdate) confidence(e *graphEdge) float64 {
	if !e.stated && e.link.From > 0 {
		return e.link.Confidence
	}
	first := memory.ConfidenceModel
	if u.analyst == memory.AnalystHeuristic {
		first = memory.ConfidenceHeuristic
	}
	sure := 1 - (1-first)*math.Exp2(-float64(max(e.edge.Mentions-1, 0)))
	return max(sure, e.link.Confidence)
}
