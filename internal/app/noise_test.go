package app

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
)

// C055: the false-hit rate of the two-stage filter is measured on a labeled set. Questions about
// something else must find far less with the filter than without.
func TestNoiseOfTheTwoStageFilter(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	client := &eval.Client{BaseURL: g.url, Key: g.key}
	c, err := eval.Sample()
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := eval.Load(t.Context(), client, "sample", "none", c.Turns, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := eval.MeasureNoise(t.Context(), client, loaded, c.Questions, eval.SampleForeign(), "none")
	if err != nil {
		t.Fatal(err)
	}
	filtered, err := eval.MeasureNoise(t.Context(), client, loaded, c.Questions, eval.SampleForeign(), "model")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("without: %+v\nwith: %+v", plain, filtered)
	if plain.FalseHits < 0.5 {
		t.Errorf("without the filter %.0f%% false hits: the questions are no test", 100*plain.FalseHits)
	}
	if filtered.FalseHits > 0.03 {
		t.Errorf("with the filter %.1f%% false hits, want at most 3%%", 100*filtered.FalseHits)
	}
}
