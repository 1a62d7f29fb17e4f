package recall

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// LayersQuery asks for items of the layers of a memory.
type LayersQuery struct {
	Text  string
	Layer string // one of the reading's; "": all
	K     int    // items of one list, 1..200; 0 is the policy's. See [memory.LayerReading] for all layers together
}

// LayerHit is an item that was found in a layer.
type LayerHit struct {
	Hit

	Layer string
	// Layers are all layers that hold the text, of a combined answer.
	Layers []string
}

// LayerHits are the items that one layer has for a query, best first.
type LayerHits struct {
	Layer string
	Hits  []LayerHit
}

// LayersResult is the answer of the layers that were asked, in the order of the reading. A layer that failed is not in
// it; Degraded names it.
type LayersResult struct {
	Layers   []LayerHits
	Aim      memory.Aim
	Degraded string // as in [Result], and which layers failed
}

// Layers answers a query from the layers of a memory, each by its own formula. A layer that fails leaves the others,
// and Degraded says so. It is a single recall: each item that is returned counts once. A policy without layers is
// Invalid.
func (r *Service) Layers(ctx context.Context, s tenant.Scope, v memory.View, q LayersQuery) (LayersResult, error) {
	out, err := r.findLayers(ctx, s, v, q)
	if err != nil {
		return out, err
	}
	var found []uuid.UUID
	for i := range out.Layers {
		found = append(found, hitIDs(out.Layers[i].Hits)...)
	}
	r.countLayers(ctx, s, &v, &out, found)
	return out, nil
}

// CombinedLayers is [Service.Layers] in one list of at most K items, with each text once. Scores are divided by the
// best of their layer, but by no less than half of what its formula can reach, so that a layer without a good match
// does not lead. Where the query aims at a layer, the others count less. Of equal scores the earlier layer of the
// reading is first.
func (r *Service) CombinedLayers(ctx context.Context, s tenant.Scope, v memory.View, q LayersQuery) ([]LayerHit, LayersResult, error) {
	out, err := r.findLayers(ctx, s, v, q)
	if err != nil {
		return nil, out, err
	}
	all := combine(&out, cmp.Or(q.K, r.readingOf(&v.Collection).K, DefaultK))
	r.countLayers(ctx, s, &v, &out, hitIDs(all))
	return all, out, nil
}

func hitIDs(hits []LayerHit) []uuid.UUID {
	ids := make([]uuid.UUID, len(hits))
	for i := range hits {
		ids[i] = hits[i].ID
	}
	return ids
}

// countLayers counts a recall of items, each once, and logs it.
func (r *Service) countLayers(ctx context.Context, s tenant.Scope, v *memory.View, out *LayersResult, found []uuid.UUID) {
	slices.SortFunc(found, memory.CompareIDs)
	found = slices.Compact(found)
	r.counter.add(s, v.Collection.ID, found, memory.Instant(r.clock()))
	counts := make([]any, 0, len(out.Layers)+2)
	counts = append(counts, slog.Any("collection", v.Collection.ID), slog.Int("items", len(found)))
	for i := range out.Layers {
		counts = append(counts, slog.Int(out.Layers[i].Layer, len(out.Layers[i].Hits)))
	}
	r.log.DebugContext(ctx, "layers recalled", counts...)
}

// findLayers searches the layers. Nothing is counted.
func (r *Service) findLayers(ctx context.Context, s tenant.Scope, v memory.View, q LayersQuery) (LayersResult, error) {
	var out LayersResult
	if err := checkRead(s, &v); err != nil {
		return out, err
	}
	rd, err := r.layersOf(&v.Collection)
	if err != nil {
		return out, err
	}
	if q.K < 0 || q.K > MaxK {
		return out, fault.InvalidField("k", "must be between 1 and %d", MaxK)
	}
	if err := checkText("query", q.Text); err != nil {
		return out, err
	}
	layers := rd.Layers
	if q.Layer != "" {
		i := slices.IndexFunc(layers, func(l memory.LayerReading) bool { return l.Name == q.Layer })
		if i < 0 {
			return out, fault.InvalidField("layer", "must be one of %s", wording.Or(layerNames(layers)...))
		}
		layers = layers[i : i+1]
	}
	if p, ok := r.policies.ByName(v.Collection.Policy); ok {
		if a, ok := p.(memory.Aimer); ok {
			out.Aim = a.Aim(q.Text)
		}
	}
	k := cmp.Or(q.K, rd.K, DefaultK)
	var failed []string
	var first error
	for i := range layers {
		l := &layers[i]
		most := k
		if q.Layer == "" {
			most = min(max(k/max(l.Share, 1), l.Least), MaxK)
		}
		found, err := r.Search(ctx, s, v, Query{
			Text: q.Text, K: most, Filter: and(memory.OfKinds(l.Kinds...), l.Filter), Formula: &l.Formula, Aim: out.Aim,
			Explain: true, Internal: true, expiredBy: r.clock(),
		})
		if err != nil {
			if ctx.Err() != nil {
				return out, err
			}
			failed, first = append(failed, l.Name), cmp.Or(first, err)
			r.log.WarnContext(ctx, "a layer could not be recalled; the others answer", slog.String("layer", l.Name),
				slog.Any("collection", v.Collection.ID), slog.Any("error", err))
			continue
		}
		out.Degraded = cmp.Or(out.Degraded, found.Degraded)
		lh := LayerHits{Layer: l.Name, Hits: make([]LayerHit, len(found.Hits))}
		for i := range found.Hits {
			lh.Hits[i] = LayerHit{Hit: found.Hits[i], Layer: l.Name, Layers: []string{l.Name}}
		}
		out.Layers = append(out.Layers, lh)
	}
	if len(out.Layers) == 0 {
		return out, first
	}
	if len(failed) > 0 {
		without := "not every layer answered: " + strings.Join(failed, ", ") + " failed"
		if out.Degraded != "" {
			without = out.Degraded + "; " + without
		}
		out.Degraded = without
	}
	return out, nil
}

// layersOf returns the reading of a policy with layers.
func (r *Service) layersOf(c *memory.Collection) (memory.Reading, error) {
	rd := r.readingOf(c)
	if len(rd.Layers) == 0 {
		return rd, fault.New(fault.Invalid, "the policy %s has no layers", c.Policy)
	}
	return rd, nil
}

func layerNames(layers []memory.LayerReading) []string {
	names := make([]string, len(layers))
	for i := range layers {
		names[i] = layers[i].Name
	}
	return names
}

// otherLayer is what the score of an item counts in a combined answer when the query aims at another layer.
const otherLayer = 0.7

// leastBest is the share of what a formula can reach by which scores are divided at least.
const leastBest = 0.5

// combine returns the items of all layers as one list.
func combine(r *LayersResult, k int) []LayerHit {
	var all []LayerHit
	at := map[string]int{}
	for _, l := range r.Layers {
		best := leastBest
		for i := range l.Hits {
			best = max(best, l.Hits[i].Score)
		}
		if r.Aim.Layer != "" && r.Aim.Layer != l.Layer {
			best /= otherLayer
		}
		for _, h := range l.Hits {
			h.Score /= best
			key := text.Normalize(h.Note.Content)
			i, ok := at[key]
			if !ok {
				at[key] = len(all)
				all = append(all, h)
				continue
			}
			first := &all[i]
			score, held := max(first.Score, h.Score), first.Layers
			if !slices.Contains(held, h.Layer) { // a layer may hold a text in two spellings
				held = slices.Concat(held, h.Layers)
			}
			if h.Layer == r.Aim.Layer {
				*first = h
			}
			first.Score, first.Layers = score, held
		}
	}
	slices.SortStableFunc(all, func(a, b LayerHit) int { return cmp.Compare(b.Score, a.Score) })
	return all[:min(len(all), k)]
}

// LayerState is how full a layer is.
type LayerState struct {
	Layer          string
	Count          int
	Capacity       int       // 0: no bound
	Oldest, Newest time.Time // event times; zero without items
	Contested      int       // items that others contradict
}

// LayerStates returns the state of each layer, in the order of the reading.
func (r *Service) LayerStates(ctx context.Context, s tenant.Scope, v memory.View) ([]LayerState, error) {
	if err := checkRead(s, &v); err != nil {
		return nil, err
	}
	rd, err := r.layersOf(&v.Collection)
	if err != nil {
		return nil, err
	}
	view, err := r.openIndex(ctx, s, v)
	if err != nil {
		return nil, err
	}
	out := make([]LayerState, len(rd.Layers))
	now := r.clock()
	for i, l := range rd.Layers {
		st := &out[i]
		st.Layer, st.Capacity = l.Name, l.Capacity
		wanted := and(memory.OfKinds(l.Kinds...), l.Filter)
		view.SelectFunc(func(_ index.ID, _ int64, rec *filter.Record) bool {
			if !filter.Match(wanted, rec) || isExpired(rec.Attributes, now) {
				return false
			}
			if st.Count == 0 || rec.OccurredAt.Before(st.Oldest) {
				st.Oldest = rec.OccurredAt
			}
			if st.Count == 0 || rec.OccurredAt.After(st.Newest) {
				st.Newest = rec.OccurredAt
			}
			if rec.Attributes[graph.AttrContested] == true {
				st.Contested++
			}
			st.Count++
			return false
		})
	}
	return out, nil
}
