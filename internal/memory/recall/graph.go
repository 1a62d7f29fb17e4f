package recall

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds of a graph.
const (
	maxDepth      = 5
	defaultDepth  = 2
	maxGraphNodes = 1_000
	defaultNodes  = 200
	maxGraphLinks = 20_000 // of all nodes together
)

// Graph reads notes and the links between them: the notes around a center, following links in both
// directions, or without a center the collection's notes, oldest first.
func (r *Service) Graph(ctx context.Context, s tenant.Scope, v memory.View, q GraphQuery) (Graph, error) {
	if err := checkRead(s, &v); err != nil {
		return Graph{}, err
	}
	if q.Depth == -1 {
		q.Depth = defaultDepth
	}
	if q.Limit == 0 {
		q.Limit = defaultNodes
	}
	switch {
	case q.Depth < 0 || q.Depth > maxDepth:
		return Graph{}, fault.InvalidField("depth", "must be between 0 and %d", maxDepth)
	case q.Limit < 1 || q.Limit > maxGraphNodes:
		return Graph{}, fault.InvalidField("limit", "must be between 1 and %d", maxGraphNodes)
	}
	var g Graph
	var err error
	if q.Center == uuid.Nil {
		err = r.addAllNotes(ctx, s, v, q, &g)
	} else {
		err = r.addNeighborhood(ctx, s, v, q, &g)
	}
	if err != nil {
		return Graph{}, err
	}
	if err := r.addLinks(ctx, s, v, &g); err != nil {
		return Graph{}, err
	}
	return g, nil
}

// addAllNotes adds the collection's notes, oldest first.
func (r *Service) addAllNotes(ctx context.Context, s tenant.Scope, v memory.View, q GraphQuery, g *Graph) error {
	notes, err := r.store.ListNotes(ctx, s, v, memory.NoteQuery{Limit: q.Limit + 1})
	if err != nil {
		return err
	}
	if len(notes) > q.Limit {
		notes, g.Truncated = notes[:q.Limit], true
	}
	for i := range notes {
		g.Nodes = append(g.Nodes, Node{Note: notes[i]})
	}
	return nil
}

// addNeighborhood adds the notes around the center, nearest first, and at one distance in the order
// of links.
func (r *Service) addNeighborhood(ctx context.Context, s tenant.Scope, v memory.View, q GraphQuery, g *Graph) error {
	distance := map[uuid.UUID]int{q.Center: 0}
	order := []uuid.UUID{q.Center}
	frontier := order
	for d := 1; d <= q.Depth && len(frontier) > 0 && !g.Truncated; d++ {
		links, err := r.store.Links(ctx, s, v, memory.LinkQuery{Notes: frontier, Direction: memory.Both})
		if err != nil {
			return err
		}
		g.Truncated = len(links) >= memory.DefaultLinks
		var next []uuid.UUID
		for _, l := range links {
			for _, end := range []uuid.UUID{l.Target, l.Source} {
				if _, known := distance[end]; known {
					continue
				}
				if len(order) == q.Limit {
					g.Truncated = true
					break
				}
				distance[end] = d
				order, next = append(order, end), append(next, end)
			}
		}
		frontier = next
	}
	notes, err := r.store.Notes(ctx, s, v, order, memory.ReadOptions{})
	if err != nil {
		return err
	}
	if len(notes) == 0 || notes[0].ID != q.Center {
		return fault.Missing("note")
	}
	for i := range notes {
		g.Nodes = append(g.Nodes, Node{Note: notes[i], Distance: new(distance[notes[i].ID])})
	}
	return nil
}

// addLinks adds the links between the nodes.
func (r *Service) addLinks(ctx context.Context, s tenant.Scope, v memory.View, g *Graph) error {
	if len(g.Nodes) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(g.Nodes))
	in := make(map[uuid.UUID]bool, len(g.Nodes))
	for i := range g.Nodes {
		ids[i] = g.Nodes[i].Note.ID
		in[ids[i]] = true
	}
	links, err := r.store.Links(ctx, s, v, memory.LinkQuery{Notes: ids, Direction: memory.Outgoing, Limit: maxGraphLinks})
	if err != nil {
		return err
	}
	g.Truncated = g.Truncated || len(links) == maxGraphLinks
	for _, l := range links {
		if in[l.Target] {
			g.Links = append(g.Links, l)
		}
	}
	return nil
}
