package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Nearest gives up to k visible notes most similar to a vector by cosine, best
// first, of those that the filter lets pass. It is an internal look-up: it
// counts no access and asks no permission but the view's.
func (r *Service) Nearest(ctx context.Context, s tenant.Scope, v memory.View, vector []float32, k int, only filter.Expr) ([]Near, error) {
	if err := v.Check(s); err != nil {
		return nil, err
	}
	ix, err := r.indexes.view(ctx, s, v)
	if err != nil {
		return nil, err
	}
	q, err := ix.Query("", vector)
	if err != nil {
		return nil, err
	}
	hits := q.Vector(ix.Select(only), max(k, 0))
	out := make([]Near, len(hits))
	for i, h := range hits {
		out[i] = Near{Note: h.Note, Score: h.Score}
	}
	return out, nil
}

// Related gives the notes that a query finds, each with up to k notes linked
// from or to it. It counts no access.
func (r *Service) Related(ctx context.Context, s tenant.Scope, v memory.View, query string, k int) ([]Related, error) {
	if k == 0 {
		k = DefaultK
	}
	found, err := r.Search(ctx, s, v, Query{Text: query, K: k, Internal: true})
	if err != nil || len(found.Hits) == 0 {
		return nil, err
	}
	ids := make([]uuid.UUID, len(found.Hits))
	for i := range found.Hits {
		ids[i] = found.Hits[i].ID
	}
	links, err := r.store.Links(ctx, s, v, memory.LinkQuery{Notes: ids, Direction: memory.Both})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(links, func(a, b memory.Link) int { return cmp.Compare(b.Confidence, a.Confidence) })
	per := make(map[uuid.UUID][]uuid.UUID, len(ids))
	var wanted []uuid.UUID
	for _, l := range links {
		for _, ends := range [][2]uuid.UUID{{l.Source, l.Target}, {l.Target, l.Source}} {
			hit, other := ends[0], ends[1]
			if !slices.Contains(ids, hit) || slices.Contains(per[hit], other) || len(per[hit]) == k {
				continue
			}
			per[hit] = append(per[hit], other)
			if !slices.Contains(wanted, other) {
				wanted = append(wanted, other)
			}
		}
	}
	notes, err := r.store.Notes(ctx, s, v, wanted, memory.ReadOptions{})
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]memory.Note, len(notes))
	for i := range notes {
		byID[notes[i].ID] = notes[i]
	}
	out := make([]Related, len(found.Hits))
	for i, h := range found.Hits {
		out[i] = Related{Note: h.Note.Note, Score: h.Score}
		for _, id := range per[h.ID] {
			if n, ok := byID[id]; ok {
				out[i].Linked = append(out[i].Linked, n)
			}
		}
	}
	return out, nil
}

// Text renders related notes as a model reads them: time, content, context,
// keywords and tags of each hit, and of its linked notes below it.
func Text(related []Related) string {
	var b strings.Builder
	for i := range related {
		writeNote(&b, "", &related[i].Note)
		for j := range related[i].Linked {
			writeNote(&b, "  linked ", &related[i].Linked[j])
		}
	}
	return b.String()
}

func writeNote(b *strings.Builder, prefix string, n *memory.Note) {
	fmt.Fprintf(b, "%smemory time: %s content: %s context: %s keywords: %s tags: %s\n", prefix,
		n.OccurredAt.UTC().Format(time.RFC3339), n.Content, n.Context, strings.Join(n.Keywords, ", "), strings.Join(n.Tags, ", "))
}
