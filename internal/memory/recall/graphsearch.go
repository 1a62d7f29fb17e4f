package recall

import (
	"bytes"
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
	graphEntities = 8    // that a query names, at most
	graphSimilar  = 0.7  // cosine from which a phrase of the query names an entity
	graphEdges    = 100  // in and out of them that are ranked on, per hop
	graphFetched  = 1000 // of one entity that are read
	graphFound    = 5    // triples that are found
	graphOnward   = 20   // entities from which a second hop goes on
	graphVia      = 0.5  // share of the first hop's words in what a path says
)

// path is a triple that is reached from an entity of the query.
type path struct {
	triple uuid.UUID
	link   memory.Link
	via    *path // the triple before it; nil at the first hop
	from   uuid.UUID
	words  float64 // BM25 of it and of what leads to it
	cosine float64
}

// around finds the triples near the entities that the query names: those of
// their own edges, and of the edges of what these lead to. Those that share
// most words with the query, by BM25, join the hits on the scale of these.
// What the filter hides stays hidden.
func (f *finding) around(ctx context.Context) ([]search.Linked, error) {
	if !f.q.graph || f.mode == Vector || f.words == "" || f.index.Len() == 0 {
		return nil, nil
	}
	entities, err := f.namedEntities(ctx)
	if err != nil || len(entities) == 0 {
		return nil, err
	}
	first, err := f.hop(ctx, entities, nil)
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
	second, err := f.hop(ctx, onward, reached)
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
	return f.linkedPaths(all[:min(len(all), graphFound)]), nil
}

func comparePaths(a, b *path) int {
	return cmp.Or(cmp.Compare(b.words, a.words), cmp.Compare(b.cosine, a.cosine), bytes.Compare(a.triple[:], b.triple[:]))
}

// linkedPaths gives triples as notes that links led to, each after what leads to it.
func (f *finding) linkedPaths(paths []*path) []search.Linked {
	if f.linked == nil {
		f.linked = map[uuid.UUID]search.Linked{}
	}
	f.graph = map[uuid.UUID]bool{}
	var out []search.Linked
	add := func(p *path, via uuid.UUID, hops int) {
		if f.graph[p.triple] {
			return
		}
		l := search.Linked{Note: p.triple, Via: via, Confidence: p.link.Confidence, Hops: hops}
		f.graph[p.triple], f.linked[p.triple] = true, l
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

// hop gives the triples of the edges that hold into and out of entities, best
// first. led says which triple led to an entity; nil for those that the query names.
func (f *finding) hop(ctx context.Context, entities []uuid.UUID, led map[uuid.UUID]*path) ([]*path, error) {
	paths := map[uuid.UUID]*path{}
	for _, entity := range entities { // each by itself: the many edges of one leave room for those of another
		links, err := f.r.store.Links(ctx, f.scope, f.view, memory.LinkQuery{Notes: []uuid.UUID{entity}, Direction: memory.Both, Limit: graphFetched})
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
	for _, s := range f.asked.SignalsOf(ids) {
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

// selfWords are what people call themselves.
var selfWords = []string{"i", "me", "my", "mine", "myself", "user", "我", "我的", "用户"}

// userKey is the key of the entity that stands for a user without a name.
const userKey = "user"

// namedEntities gives the entities that the query names: whose whole name
// stands in it, the best by words first, then those that a phrase of it is
// similar to, and the user where somebody speaks of himself: the one without a
// name, and the one whose name the facts carry where that is one only.
func (f *finding) namedEntities(ctx context.Context) ([]uuid.UUID, error) {
	some := false
	speakers := map[string]bool{}
	selected := f.index.SelectFunc(func(_ index.ID, _ int64, r *filter.Record) bool {
		if r.Kind == string(memory.KindFact) {
			if key := speakerKey(r); key != "" {
				speakers[key] = true
			}
		}
		entity := r.Kind == string(memory.KindEntity)
		some = some || entity
		return entity
	})
	if !some {
		return nil, nil
	}
	out, err := f.spelledEntities(ctx, selected)
	if err != nil {
		return nil, err
	}
	add := func(id uuid.UUID) {
		if len(out) < graphEntities && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	words := text.Words(f.words)
	if slices.ContainsFunc(selfWords, func(w string) bool { return slices.Contains(words, w) || !isASCII(w) && strings.Contains(f.words, w) }) {
		keys := []string{userKey}
		if len(speakers) == 1 {
			keys = slices.AppendSeq(keys, maps.Keys(speakers))
		}
		for _, key := range keys {
			user, err := f.r.store.NoteByKey(ctx, f.scope, f.view, memory.KindEntity, key)
			switch {
			case err == nil:
				add(user.ID)
			case !fault.Is(err, fault.NotFound):
				return nil, err
			}
		}
	}
	if phrases := text.Keyphrases(f.words, search.Mem0Entities); len(phrases) > 0 && f.mode == Hybrid {
		similar, err := f.similarEntities(ctx, selected, phrases)
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(similar, func(_ uuid.UUID, score float64) bool { return score < graphSimilar })
		for _, id := range slices.SortedFunc(maps.Keys(similar), func(a, b uuid.UUID) int {
			return cmp.Or(cmp.Compare(similar[b], similar[a]), bytes.Compare(a[:], b[:]))
		}) {
			add(id)
		}
	}
	return out, nil
}

// speakerKey is the key of the entity of the person who said a fact; "" where
// an assistant did, or nobody with a name.
func speakerKey(r *filter.Record) string {
	name, _ := r.Attributes[memory.AttrName].(string)
	if role, ok := r.Attributes[memory.AttrRole].(string); ok && role != string(memory.RoleUser) {
		return ""
	}
	return graph.EntityKey(name)
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 }) }

// spelledEntities gives the entities whose whole name stands in the query: all
// its words, or the name itself where words are not told apart by spaces.
func (f *finding) spelledEntities(ctx context.Context, selected *index.Selection) ([]uuid.UUID, error) {
	found := f.asked.Signals(selected, entityDepth)
	found = slices.DeleteFunc(found, func(s index.Signals) bool { return s.Words == 0 })
	slices.SortFunc(found, func(a, b index.Signals) int {
		return cmp.Or(cmp.Compare(b.Words, a.Words), bytes.Compare(a.Note[:], b.Note[:]))
	})
	found = found[:min(len(found), entityDepth)]
	ids := make([]uuid.UUID, len(found))
	for i := range found {
		ids[i] = found[i].Note
	}
	if len(ids) == 0 {
		return nil, nil
	}
	notes, err := f.r.store.Notes(ctx, f.scope, f.view, ids, memory.ReadOptions{})
	if err != nil {
		return nil, err
	}
	said := text.Terms(f.words)
	var out []uuid.UUID
	for i := range notes {
		name := text.Terms(notes[i].Content)
		whole := len(name) > 0 && !slices.ContainsFunc(name, func(t string) bool { return !slices.Contains(said, t) })
		if (whole || strings.Contains(text.Fold(f.words), text.Fold(notes[i].Content))) && len(out) < graphEntities {
			out = append(out, notes[i].ID)
		}
	}
	return out, nil
}

// marked says of hits that the graph led to them.
func (f *finding) marked(hits []search.Hit) {
	for i := range hits {
		h := &hits[i]
		if !f.graph[h.Note] {
			continue
		}
		h.IsNeighbor = false
		h.Sources = slices.DeleteFunc(slices.Clone(h.Sources), func(s search.Source) bool { return s == search.SourceLink })
		h.Sources = append(h.Sources, search.SourceGraph)
	}
}
