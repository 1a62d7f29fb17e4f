package search

import "testing"

// TestLeading: those that score clearly above the rest are kept, however high all scores are.
func TestLeading(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		scores []float64
		want   int
	}{
		"none":             {nil, 0},
		"one":              {[]float64{.2}, 1},
		"one of many":      {[]float64{.9, .5, .48, .47, .46, .45, .44, .43, .42, .41}, 1},
		"several":          {[]float64{.9, .85, .8, .5, .48, .47, .46, .45, .44, .43}, 3},
		"all alike":        {[]float64{.5, .5, .5}, 3},
		"a slope":          {[]float64{1, .9, .8, .7, .6, .5, .4, .3, .2, .1}, 6}, // the background is .15, so the bound is .405
		"below zero":       {[]float64{-.1, -.5, -.6, -.6, -.6}, 1},
		"a higher scale":   {[]float64{9, 8.5, 8, 5, 4.8, 4.7, 4.6, 4.5, 4.4, 4.3}, 3},
		"two of two apart": {[]float64{.9, .1}, 1},
	} {
		hits := make([]Hit, len(tt.scores))
		for i, s := range tt.scores {
			hits[i].Score = s
		}
		if got := Leading(hits); got != tt.want {
			t.Errorf("%s: %d of %v, want %d", name, got, tt.scores, tt.want)
		}
	}
}
