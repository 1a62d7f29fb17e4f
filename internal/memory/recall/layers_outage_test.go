package recall_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// damagedStore cannot read the notes of some layers.
type damagedStore struct {
	memory.Reader
	unreadable map[uuid.UUID]bool
}

func (d *damagedStore) Versions(ctx context.Context, s tenant.Scope, v memory.View, keys []memory.Version) ([]memory.Note, error) {
	if slices.ContainsFunc(keys, func(k memory.Version) bool { return d.unreadable[k.Note] }) {
		return nil, errors.New("the page is damaged")
	}
	return d.Reader.Versions(ctx, s, v, keys)
}

// C301: a layer that cannot be read is named, and the others answer; none of its items is counted. A layer that is asked
// alone fails, and so does a recall of which every layer fails.
func TestC301DamagedLayer(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, r *fixture) {
		t.Helper()
		c := r.addWithReading("three", memory.Reading{Layers: []memory.LayerReading{
			{Name: "semantic", Kinds: []memory.Kind{memory.KindKnowledge}, Formula: memory.Formula{Cosine: 1}},
			{Name: "episodic", Kinds: []memory.Kind{memory.KindNote}, Formula: memory.Formula{Cosine: 1, Access: 1, AccessCap: 20}},
			{Name: "working", Kinds: []memory.Kind{memory.KindMessage}, Formula: memory.Formula{Overlap: 1, NeedsOverlap: true}},
		}})
		items := map[string]uuid.UUID{}
		for layer, kind := range map[string]memory.Kind{"semantic": memory.KindKnowledge, "episodic": memory.KindNote, "working": memory.KindMessage} {
			items[layer] = r.addAt(c, kind, "2026-03-02 09:30", "The ferry of the "+layer+" layer.", nil)
		}
		damaged := &damagedStore{Reader: r.store, unreadable: map[uuid.UUID]bool{}}
		r.recall = must.Get(recall.New(recall.Deps{Store: damaged, Embedders: r.embedder, Policies: memory.NewPolicySet(policy.NewNone(), configuredPolicy{}), Clock: r.Now}, recall.Config{}))(t)
		t.Cleanup(func() { r.noError(r.recall.Stop(context.Background())) })
		q := recall.LayersQuery{Text: "ferry"}
		for layer, item := range items {
			damaged.unreadable = map[uuid.UUID]bool{item: true}
			apart := must.Get(r.recall.Layers(t.Context(), r.all, r.view(c), q))(t)
			combined, result, err := r.recall.CombinedLayers(t.Context(), r.all, r.view(c), q)
			r.noError(err)
			for _, degraded := range []string{apart.Degraded, result.Degraded} {
				if !strings.Contains(degraded, layer+" failed") {
					t.Errorf("%s: degraded: %q", layer, degraded)
				}
			}
			var want, listed, found []uuid.UUID
			for other, id := range items {
				if other != layer {
					want = append(want, id)
				}
			}
			for i := range apart.Layers {
				if apart.Layers[i].Layer == layer {
					t.Errorf("%s failed, and has a list", layer)
				}
				for j := range apart.Layers[i].Hits {
					listed = append(listed, apart.Layers[i].Hits[j].ID)
				}
			}
			for i := range combined {
				found = append(found, combined[i].ID)
			}
			wantOnly(t, listed, want...)
			wantOnly(t, found, want...)
			if _, err := r.recall.Layers(t.Context(), r.all, r.view(c), recall.LayersQuery{Text: "ferry", Layer: layer}); err == nil {
				t.Errorf("%s alone did not fail", layer)
			}
		}
		damaged.unreadable = map[uuid.UUID]bool{items["semantic"]: true, items["episodic"]: true, items["working"]: true}
		if _, err := r.recall.Layers(t.Context(), r.all, r.view(c), q); err == nil {
			t.Error("all layers failed, and the recall did not")
		}
		damaged.unreadable = nil
		whole := must.Get(r.recall.Layers(t.Context(), r.all, r.view(c), q))(t)
		if len(whole.Layers) != 3 || whole.Degraded != "" {
			t.Errorf("%+v", whole)
		}
		for i := range whole.Layers {
			if n := whole.Layers[i].Hits[0].Note.Usage.AccessCount; n != 4 { // two recalls while each of the others failed
				t.Errorf("%s: %d accesses", whole.Layers[i].Layer, n)
			}
		}
	})
}
