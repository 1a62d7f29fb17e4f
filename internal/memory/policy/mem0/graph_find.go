package mem0

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// nearEntities is how many similar entities are considered for one name.
const nearEntities = 10

// resolveEntities finds the notes of the named entities: the note with the same key, or
// one with a similar vector, the same type and nearly the same spelling. An entity
// without a note gets a new one.
func (u *graphUpdate) resolveEntities(ctx context.Context) error {
	var queries []memory.SimilarQuery
	var asked []*graphNode
	for _, n := range u.named {
		if !n.mentioned {
			continue
		}
		queries = append(queries, memory.SimilarQuery{Text: n.name, Kinds: []memory.Kind{memory.KindEntity}, K: nearEntities, MinScore: u.c.NodeSimilarity})
		asked = append(asked, n)
	}
	if len(queries) == 0 {
		return nil
	}
	near, err := u.d.Similar(ctx, queries)
	if err != nil {
		return fmt.Errorf("find similar entities: %w", err)
	}
	taken := map[uuid.UUID]*graphNode{}
	for i, n := range asked {
		note, ok, err := u.d.ByKey(ctx, memory.KindEntity, n.key)
		if err != nil {
			return fmt.Errorf("find an entity: %w", err)
		}
		if ok {
			n.note, taken[note.ID] = note, n
			n.candidates = append(n.candidates, note.ID)
		}
		for _, nb := range near[i] {
			u.notes[nb.Note.ID] = nb.Note
			if !slices.Contains(n.candidates, nb.Note.ID) {
				n.candidates = append(n.candidates, nb.Note.ID)
			}
		}
	}
	for i, n := range asked {
		for _, nb := range near[i] {
			same := nb.Note.Category == n.kind && isSameName(nb.Note.Content, n.name, n.kind) && n.key != graph.EntityKey(u.user)
			if n.note.ID == uuid.Nil && same && taken[nb.Note.ID] == nil {
				n.note, n.score, taken[nb.Note.ID] = nb.Note, nb.Score, n
			}
		}
		n.used = true
		if n.note.ID == uuid.Nil {
			n.note = memory.Note{ID: u.d.NewID(), Kind: memory.KindEntity, Key: n.key, Content: n.name}
		}
		u.notes[n.note.ID] = n.note
	}
	return nil
}

// edgesNearEntities returns the edges of the named entities and of those with similar
// names, by entity. It reads the links of all of them in one call.
func (u *graphUpdate) edgesNearEntities(ctx context.Context) (map[uuid.UUID][]*graphEdge, error) {
	var ids []uuid.UUID
	for _, n := range u.named {
		ids = append(ids, n.candidates...)
	}
	near := map[uuid.UUID][]*graphEdge{}
	if len(ids) == 0 {
		return near, nil
	}
	ids = memory.AppendNew(nil, ids...)
	for _, id := range ids {
		near[id] = nil
	}
	links, err := u.d.Links(ctx, ids, memory.Both)
	if err != nil {
		return nil, fmt.Errorf("read edges: %w", err)
	}
	for i := range links {
		e := u.addEdge(&links[i])
		if e == nil {
			continue
		}
		for _, id := range memory.AppendNew(nil, e.id.Source, e.id.Target) {
			if _, asked := near[id]; asked {
				near[id] = append(near[id], e)
			}
		}
	}
	return near, nil
}

// shownEdges bounds the edges that the call "conflicts" shows.
const shownEdges = 300

// selectEdges returns the edges that the statements could contradict: of each entity
// the valid edges that were updated last, without those that the facts state.
func (u *graphUpdate) selectEdges(near map[uuid.UUID][]*graphEdge) []*graphEdge {
	var out []*graphEdge
	seen := map[*graphEdge]bool{}
	for _, n := range u.named {
		for _, id := range n.candidates {
			var open []*graphEdge
			for _, e := range near[id] {
				if e.edge.Valid && !e.stated {
					open = append(open, e)
				}
			}
			slices.SortStableFunc(open, func(a, b *graphEdge) int { return b.edge.UpdatedAt.Compare(a.edge.UpdatedAt) })
			for _, e := range open[:min(len(open), u.c.EdgesPerNode)] {
				if !seen[e] && len(out) < shownEdges {
					seen[e], out = true, append(out, e)
				}
			}
		}
	}
	return out
}

// loadEnds reads the entities of edges.
func (u *graphUpdate) loadEnds(ctx context.Context, edges []*graphEdge) error {
	var ids []uuid.UUID
	for _, e := range edges {
		for _, id := range []uuid.UUID{e.id.Source, e.id.Target} {
			if _, ok := u.notes[id]; !ok && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	notes, err := u.d.Notes(ctx, ids)
	if err != nil {
		return fmt.Errorf("read entities: %w", err)
	}
	for i := range notes {
		u.notes[notes[i].ID] = notes[i]
	}
	return nil
}

// loadTriples reads the triples of the edges that change.
func (u *graphUpdate) loadTriples(ctx context.Context, ended []*graphEdge) error {
	byTriple := map[uuid.UUID]*graphEdge{}
	var ids []uuid.UUID
	for _, e := range u.edges {
		changes := e.stated || len(e.lostSources) > 0 || slices.Contains(ended, e)
		if changes && e.edge.Valid && e.edge.Triple != uuid.Nil {
			byTriple[e.edge.Triple], ids = e, append(ids, e.edge.Triple)
		}
	}
	slices.SortFunc(ids, memory.CompareIDs)
	for piece := range slices.Chunk(ids, policy.PageSize) {
		notes, err := u.d.Notes(ctx, piece)
		if err != nil {
			return fmt.Errorf("read triples: %w", err)
		}
		for i := range notes {
			e := byTriple[notes[i].ID]
			e.triple, e.hadTriple = notes[i], true
		}
	}
	return nil
}
