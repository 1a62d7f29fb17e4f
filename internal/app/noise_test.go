package app

import (
	"bytes"
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/test/must"
)

// C055: the false-hit rate of the two-stage filter is measured on a labeled set. Questions about
// something else must find far less with the filter than without.
func TestNoiseOfTheTwoStageFilter(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	client := &eval.Client{BaseURL: g.url, Key: g.key}
	c := must.Get(eval.Sample())(t)
	loaded := must.Get(eval.Load(t.Context(), client, "sample", "none", &c, nil))(t)
	plain := must.Get(eval.MeasureNoise(t.Context(), client, loaded, c.Questions, eval.SampleForeign(), "none"))(t)
	filtered := must.Get(eval.MeasureNoise(t.Context(), client, loaded, c.Questions, eval.SampleForeign(), "model"))(t)
	t.Logf("without: %+v\nwith: %+v", plain, filtered)
	if plain.FalseHits < 0.5 {
		t.Errorf("without the filter %.0f%% false hits: the questions are no test", 100*plain.FalseHits)
	}
	if filtered.FalseHits > 0.03 {
		t.Errorf("with the filter %.1f%% false hits, want at most 3%%", 100*filtered.FalseHits)
	}
}

// A question that may see only the first turns of a conversation finds none of the others.
func TestQuestionsSeeWhatCameBefore(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	client := &eval.Client{BaseURL: g.url, Key: g.key}
	c := must.Get(eval.Sample())(t)
	c.Turns, c.Questions = c.Turns[:30], c.Questions[:3]
	before := map[string]int{}
	for i := range c.Questions {
		c.Questions[i].Before = 5 + 7*i
		c.Questions[i].Gold = []string{c.Turns[0].ID}
		before[c.Questions[i].Text] = c.Questions[i].Before
	}
	place := map[string]int{}
	for i, turn := range c.Turns {
		place[turn.ID] = i
	}
	d := &eval.Dataset{Name: "before", Budgets: []int{100}, Conversations: []eval.Conversation{c}}
	bench := must.Get(eval.Open(t.Context(), client, d, "before-", "none", t.Logf))(t)
	rows := must.Get(bench.Ask(t.Context(), eval.Variant{Mode: eval.Hybrid}))(t)
	for _, r := range rows {
		n := before[r.Question.Text]
		if len(r.Ranking.Turns) == 0 || len(r.Ranking.Turns) > n {
			t.Errorf("%d turns found among %d", len(r.Ranking.Turns), n)
		}
		for _, id := range r.Ranking.Turns {
			if place[id] >= n {
				t.Errorf("turn %d is found by a question after %d", place[id], n)
			}
		}
	}

	// The measures without signals are those of the same hits, with their scores.
	var written bytes.Buffer
	must.Do(t, bench.WriteMeasures(t.Context(), &written, nil))
	measured, err := eval.ReadMeasures(&written)
	if err != nil || len(measured) != len(rows) {
		t.Fatalf("%d questions are measured: %v", len(measured), err)
	}
	for i, m := range measured {
		for j, n := range m.Notes {
			if n.Turn != rows[i].Ranking.Turns[j] || len(n.Values) == 0 || j > 0 && n.Score > m.Notes[j-1].Score {
				t.Errorf("hit %d of %q is measured as %+v", j+1, m.Text, n)
			}
		}
	}
}
