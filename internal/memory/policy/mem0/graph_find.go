package mem0

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

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
