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

// write puts what the run has come to into the decision.
func (w *graphUpdate) writeTo(ctx context.Context, dec *memory.Decision) error {
	w.putNodes(dec)
	if err := w.loadEnds(ctx, w.order); err != nil {
		return err
	}
	live, err := w.liveFacts(ctx)
	if err != nil {
		return err
	}
	for _, e := range w.order {
		if err := w.putTriple(ctx, e, live, dec); err != nil {
			return err
		}
		l := e.link
		l.LinkID, l.Attributes = e.id, e.edge.Attributes()
		l.Confidence = w.confidence(e)
		dec.Links = append(dec.Links, l)
		o := EdgeOutcome{Source: e.id.Source, Relation: e.id.Relation, Target: e.id.Target, Effect: e.effect}
		if e.edge.Valid {
			o.Triple = &e.edge.Triple
		}
		w.out.Edges = append(w.out.Edges, o)
	}
	return nil
}

// putNodes puts new entities, and counts the mention of those that are there.
func (w *graphUpdate) putNodes(dec *memory.Decision) {
	var facts []uuid.UUID
	latest := w.d.Now()
	for i := range w.facts {
		facts = append(facts, w.facts[i].ID)
		if i == 0 || w.facts[i].OccurredAt.After(latest) {
			latest = w.facts[i].OccurredAt
		}
	}
	for _, n := range w.named {
		if !n.used {
			continue
		}
		note := n.note
		o := NodeOutcome{Note: note.ID, Effect: EffectReused, Score: n.score}
		attributes := map[string]any{graph.AttrMentions: 1.0}
		if note.From == 0 {
			o.Effect = EffectNew
			note.Context, note.Category, note.Importance = memory.DefaultContext, n.kind, memory.DefaultImportance
			note.OccurredAt, note.State, note.Analyst = memory.Instant(latest), memory.StateEvolved, w.analyst
		} else {
			maps.Copy(attributes, note.Attributes)
			count, _ := note.Attributes[graph.AttrMentions].(float64)
			attributes[graph.AttrMentions] = count + 1
			if note.Category == typeThing { // now it is known what it is
				note.Category = n.kind
			}
		}
		note.Attributes = attributes
		note.Provenance.Sources = mergeSources(note.Provenance.Sources, facts)
		dec.Puts = append(dec.Puts, note)
		w.out.Nodes = append(w.out.Nodes, o)
	}
}

// merged appends the ids that are not there yet and keeps the newest.
func mergeSources(have, more []uuid.UUID) []uuid.UUID {
	out := slices.DeleteFunc(slices.Clone(have), func(id uuid.UUID) bool { return slices.Contains(more, id) })
	out = append(out, more...)
	return out[max(0, len(out)-graph.MaxEdgeSources):]
}

// live tells which of the facts that changing edges come from are there now.
func (w *graphUpdate) liveFacts(ctx context.Context) (map[uuid.UUID]bool, error) {
	out := map[uuid.UUID]bool{}
	var ids []uuid.UUID
	for _, e := range w.order {
		if e.edge.Valid {
			ids = mergeSources(ids, e.edge.Sources)
		}
	}
	for piece := range slices.Chunk(ids, policy.PageSize) {
		notes, err := w.d.Notes(ctx, piece)
		if err != nil {
			return nil, fmt.Errorf("read facts: %w", err)
		}
		for i := range notes {
			out[notes[i].ID] = true
		}
	}
	for i := range w.facts {
		out[w.facts[i].ID] = true
	}
	for i := range w.removed {
		delete(out, w.removed[i].ID)
	}
	return out, nil
}

// putTriple puts the note that says an edge, or takes it away. It is linked
// with the facts that it comes from, so that it can be found from these.
func (w *graphUpdate) putTriple(ctx context.Context, e *graphEdge, live map[uuid.UUID]bool, dec *memory.Decision) error {
	if !e.edge.Valid {
		if e.triple.ID != uuid.Nil {
			dec.Deletes = append(dec.Deletes, e.triple.ID)
		}
		return nil
	}
	subject, object := w.notes[e.id.Source], w.notes[e.id.Target]
	n := e.triple
	if n.ID == uuid.Nil {
		key := tripleNoteKey(&subject, e.id.Relation, &object)
		there, ok, err := w.d.ByKey(ctx, memory.KindKnowledge, key)
		if err != nil {
			return fmt.Errorf("find a triple: %w", err)
		}
		if n = there; !ok {
			n = memory.Note{ID: w.d.NewID(), Kind: memory.KindKnowledge, Key: key}
		}
		n.Context, n.Category, n.Importance = memory.DefaultContext, graph.CategoryTriple, memory.DefaultImportance
		n.State, n.Analyst = memory.StateEvolved, w.analyst
	}
	n.Content = sentence(subject.Content, e.id.Relation, object.Content)
	n.OccurredAt = e.edge.ValidFrom
	n.Attributes = graph.TripleAttributes(e.id, subject.Content, object.Content)
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

// tripleNoteKey is the key of the note that says an edge; of long names a hash.
func tripleNoteKey(subject *memory.Note, relation string, object *memory.Note) string {
	key := "triple/" + subject.Key + "|" + relation + "|" + object.Key
	if len(key) > memory.MaxKeyBytes {
		sum := sha256.Sum256([]byte(key))
		key = "triple/#" + hex.EncodeToString(sum[:])
	}
	return key
}

// What one statement is worth, by who read it. Every further one halves the doubt.
const (
	modelConfidence     = 0.8
	heuristicConfidence = 0.6
)

func (w *graphUpdate) confidence(e *graphEdge) float64 {
	if !e.stated && e.link.From > 0 {
		return e.link.Confidence
	}
	first := modelConfidence
	if w.analyst == memory.AnalystHeuristic {
		first = heuristicConfidence
	}
	sure := 1 - (1-first)*math.Exp2(-float64(max(e.edge.Mentions-1, 0)))
	return max(sure, e.link.Confidence)
}
