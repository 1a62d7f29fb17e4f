package recall

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Constants of the search around entities (Mem0g, arXiv:2504.19413 §2.2).
const (
	graphEntities = 8    // entities that a query names, at most
	graphSimilar  = 0.7  // cosine from which a phrase of the query names an entity
	graphEdges    = 100  // edges that are ranked, per hop
	graphFetched  = 1000 // edges of one entity that are read
	graphFound    = 5    // triples that are found
	graphOnward   = 20   // entities that a second hop starts from
	graphVia      = 0.5  // share of the first triple's score in that of the second
)

// path is a triple that was reached from an entity of the query.
type path struct {
	triple uuid.UUID
	link   memory.Link
	via    *path // the triple before it; nil at the first hop
	from   uuid.UUID
	words  float64 // BM25 of it, and a share of that of via
	cosine float64
}

// findTriples finds the triples near the entities that the query names: the triples of their own
// edges, and of the edges of the entities at the other ends. Those with the best BM25 join the hits,
// on the same scale. What the filter hides stays hidden.
func (sr *searchRun) findTriples(ctx context.Context) ([]search.Linked, error) {
	if !sr.q.useGraph || sr.mode == Vector || sr.words == "" || sr.index.Len() == 0 {
		return nil, nil
	}
	entities, err := sr.namedEntities(ctx)
	if err != nil || len(entities) == 0 {
		return nil, err
	}
	first, err := sr.hop(ctx, entities, nil)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	var onward []uuid.UUID
	reached := map[uuid.UUID]*path{}
	for _, p := range first {
		end := p.link.Target
		if end == p.from {
			end = p.link.Source
		}
		if len(onward) < graphOnward && reached[end] == nil && !slices.Contains(entities, end) {
			onward, reached[end] = append(onward, end), p
		}
	}
	second, err := sr.hop(ctx, onward, reached)
	if err != nil {
		return nil, err
	}
	known := map[uuid.UUID]bool{}
	for _, p := range first {
		known[p.triple] = true
	}
	second = slices.DeleteFunc(second, func(p *path) bool { return known[p.triple] })
	all := slices.Concat(first, second)
	slices.SortFunc(all, comparePaths)
	return sr.linkedPaths(all[:min(len(all), graphFound)]), nil
}

func comparePaths(a, b *path) int {
	return cmp.Or(cmp.Compare(b.words, a.words), cmp.Compare(b.cosine, a.cosine), memory.CompareIDs(a.triple, b.triple))
}

// linkedPaths returns triples as linked notes, each after the triple that leads to it.
func (sr *searchRun) linkedPaths(paths []*path) []search.Linked {
	sr.triplePaths = map[uuid.UUID]search.Linked{}
	var out []search.Linked
	add := func(p *path, via uuid.UUID, hops int) {
		if sr.isTriple(p.triple) {
			return
		}
		l := search.Linked{Note: p.triple, Via: via, Confidence: p.link.Confidence, Hops: hops}
		sr.triplePaths[p.triple] = l
		out = append(out, l)
	}
	for _, p := range paths {
		if p.via == nil {
			add(p, p.from, 1)
			continue
		}
		add(p.via, p.via.from, 1)
		add(p, p.via.triple, 2)
	}
	return out
}

// hop returns the triples of the valid edges into and out of entities, best first. led holds the
// triple that led to an entity, and is nil for entities that the query names.
func (sr *searchRun) hop(ctx context.Context, entities []uuid.UUID, led map[uuid.UUID]*path) ([]*path, error) {
	paths := map[uuid.UUID]*path{}
	for _, entity := range entities { // one by one, so that an entity with many edges does not displace the others
		links, err := sr.links(ctx, memory.LinkQuery{Notes: []uuid.UUID{entity}, Direction: memory.Both, Limit: graphFetched})
		if err != nil {
			return nil, err
		}
		for i := range links {
			e, ok := graph.EdgeOf(&links[i])
			if ok && e.Valid && e.Triple != uuid.Nil && paths[e.Triple] == nil {
				paths[e.Triple] = &path{triple: e.Triple, link: links[i], via: led[entity], from: entity}
			}
		}
	}
	ids := make([]index.ID, 0, len(paths))
	for id := range paths {
		ids = append(ids, id)
	}
	out := make([]*path, 0, len(paths))
	for _, s := range sr.indexQuery.SignalsOf(ids) {
		p := paths[s.Note]
		p.words, p.cosine = s.Words, s.Vector
		if p.via != nil {
			p.words += graphVia * p.via.words
		}
		out = append(out, p)
	}
	slices.SortFunc(out, comparePaths)
	return out[:min(len(out), graphEdges)], nil
}

// userKey is the key of the entity of a user without a name.
const userKey = "user"

// namedEntities returns the entities that the query names: first those whose whole name is in it,
// the best by words first, then those that are similar to a phrase of it. A query without such a name
// is about the user, in each language: the entity of the user without a name, and that of the only
// speaker, if the facts have one speaker only.
func (sr *searchRun) namedEntities(ctx context.Context) ([]uuid.UUID, error) {
	selected := sr.service.counted(sr.index.Select(memory.OfKinds(memory.KindEntity)))
	if selected.IsEmpty() {
		return nil, nil
	}
	out, err := sr.spelledEntities(ctx, selected)
	if err != nil {
		return nil, err
	}
	add := func(id uuid.UUID) {
		if len(out) < graphEntities && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	if len(out) == 0 {
		if out, err = sr.ownEntities(ctx); err != nil {
			return nil, err
		}
	}
	if phrases := text.Keyphrases(sr.words, search.Mem0Entities); len(phrases) > 0 && sr.mode == Hybrid {
		similar, err := sr.similarEntities(ctx, selected, phrases)
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(similar, func(_ uuid.UUID, score float64) bool { return score < graphSimilar })
		for _, id := range slices.SortedFunc(maps.Keys(similar), func(a, b uuid.UUID) int {
			return cmp.Or(cmp.Compare(similar[b], similar[a]), memory.CompareIDs(a, b))
		}) {
			add(id)
		}
	}
	return out, nil
}

// ownEntities returns the entities of the user.
func (sr *searchRun) ownEntities(ctx context.Context) (own []uuid.UUID, err error) {
	keys := []string{userKey}
	if key := sr.onlySpeaker(); key != "" {
		keys = append(keys, key)
	}
	for _, key := range keys {
		for _, v := range sr.view.Each() {
			user, err := sr.service.store.NoteByKey(ctx, sr.scope, v, memory.KindEntity, key)
			switch {
			case err == nil:
				own = append(own, user.ID)
			case !fault.Is(err, fault.NotFound):
				return nil, err
			}
		}
	}
	return own, nil
}

// maxSpellings is how many names a person may have among the facts: "Ana" and "ana" are one.
const maxSpellings = 8

// onlySpeaker returns the key of the entity of the person who stated all facts; "" if several did, or none with a name. Facts of
// assistants do not count.
func (sr *searchRun) onlySpeaker() (only string) {
	role, name := &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrRole}, Op: filter.Exists, Want: true},
		&filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrName}, Op: filter.Exists, Want: true}
	rest := filter.And{
		memory.OfKinds(memory.KindFact), name, filter.Or{filter.Not{Term: role}, filter.AttributeIs(memory.AttrRole, string(memory.RoleUser))},
	}
	for range maxSpellings {
		next, ok := sr.anyName(rest)
		if !ok {
			return only
		}
		if key := graph.EntityKey(next); key != "" {
			if only != "" && only != key {
				return ""
			}
			only = key
		}
		rest = append(rest, filter.Not{Term: filter.AttributeIs(memory.AttrName, next)})
	}
	return ""
}

// anyName returns the name that some note of a selection has. Conditions that were asked before are looked up.
func (sr *searchRun) anyName(e filter.Expr) (name string, ok bool) {
	for _, r := range sr.index.Each(sr.service.counted(sr.index.Select(e))) {
		name, _ = r.Attributes[memory.AttrName].(string)
		return name, true
	}
	return "", false
}

// spelledEntities returns the entities whose whole name is in the query: all its words or, in
// scripts without spaces between words, the name as a string.
func (sr *searchRun) spelledEntities(ctx context.Context, selected *index.Selection) ([]uuid.UUID, error) {
	found := sr.indexQuery.Lexical(selected, entityDepth)
	ids := make([]uuid.UUID, len(found))
	for i := range found {
		ids[i] = found[i].Note
	}
	if len(ids) == 0 {
		return nil, nil
	}
	notes, err := sr.notes(ctx, ids, memory.ReadOptions{})
	if err != nil {
		return nil, err
	}
	said := text.TermSet(sr.words)
	folded := text.Fold(sr.words)
	var out []uuid.UUID
	for i := range notes {
		name := text.Terms(notes[i].Content)
		whole := len(name) > 0 && !slices.ContainsFunc(name, func(t string) bool { return !said[t] })
		if (whole || strings.Contains(folded, text.Fold(notes[i].Content))) && len(out) < graphEntities {
			out = append(out, notes[i].ID)
		}
	}
	return out, nil
}

// markTriples sets the source of triples among the hits to the graph.
func (sr *searchRun) markTriples(hits []search.Hit) {
	for i := range hits {
		h := &hits[i]
		if !sr.isTriple(h.Note) {
			continue
		}
		h.IsNeighbor = false
		h.Sources = slices.DeleteFunc(slices.Clone(h.Sources), func(s search.Source) bool { return s == search.SourceLink })
		h.Sources = append(h.Sources, search.SourceGraph)
	}
}

// isTriple reports whether a note is a triple near entities that the query names.
func (sr *searchRun) isTriple(note uuid.UUID) bool {
	_, ok := sr.triplePaths[note]
	return ok
}
