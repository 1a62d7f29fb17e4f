package recall

import (
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// C283: scores of layers are made comparable, a text occurs once, and of equal scores the semantic layer comes first, then
// episodes. C284: the layer that a query aims at counts more. A layer without a good match does not lead.
func TestCombine(t *testing.T) {
	t.Parallel()
	hits := func(layer string, found map[string]float64, order ...string) LayerHits {
		out := LayerHits{Layer: layer}
		for _, said := range order {
			h := LayerHit{Layer: layer, Layers: []string{layer}}
			h.Note = &NoteView{Note: memory.Note{ID: uuid.New(), Content: said}}
			h.Score = found[said]
			out.Hits = append(out.Hits, h)
		}
		return out
	}
	layers := []LayerHits{
		hits("semantic", map[string]float64{"fact": .8, "vague": .4}, "fact", "vague"),
		hits("episodic", map[string]float64{"event": .9, "Same text!": .45}, "event", "Same text!"),
		hits("working", map[string]float64{"remark": .6, "same text": .6}, "remark", "same text"),
	}
	for aim, want := range map[string][]string{
		"":         {"fact", "event", "Same text!", "remark", "vague"},
		"episodic": {"event", "fact", "Same text!", "remark", "vague"},
		"working":  {"same text", "remark", "fact", "event", "vague"},
	} {
		got := combine(&LayersResult{Layers: layers, Aim: memory.Aim{Layer: aim}}, 10)
		for i := range want {
			if i >= len(got) || got[i].Note.Content != want[i] {
				t.Fatalf("aim %q: %d is %+v, want %s", aim, i, got, want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("aim %q: %d items, want %d", aim, len(got), len(want))
		}
	}
	weak := []LayerHits{hits("semantic", map[string]float64{"weak": .2}, "weak"), hits("episodic", map[string]float64{"good": .9}, "good")}
	if got := combine(&LayersResult{Layers: weak}, 1); len(got) != 1 || got[0].Note.Content != "good" {
		t.Errorf("%+v", got)
	}
}

// C283: a text that a layer holds in two spellings names the layer once.
func TestCombineSpellings(t *testing.T) {
	t.Parallel()
	working := LayerHits{Layer: "working"}
	for _, said := range []string{"hello world", "Hello, world!"} {
		working.Hits = append(working.Hits, LayerHit{Layer: "working", Layers: []string{"working"}, Hit: Hit{Note: &NoteView{Note: memory.Note{Content: said}}}})
	}
	if got := combine(&LayersResult{Layers: []LayerHits{working}}, 10); len(got) != 1 || len(got[0].Layers) != 1 {
		t.Errorf("%+v", got)
	}
}
