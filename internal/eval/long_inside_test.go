//go:build !race

package eval

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/test/must"
)

// In two sets the gold has the meaning, in questions that name somebody; in a third it has the words, in questions that
// do not. A table of weights that depend on that finds all, and what is learned from sets of one kind does not carry over.
func TestFit(t *testing.T) {
	t.Parallel()
	var all []Measured
	for _, track := range []string{"one", "two", "three", "four"} {
		names, right, wrong := 1.0, "late", "lexical"
		if track == "three" || track == "four" {
			names, right, wrong = 0, "lexical", "late"
		}
		for q := range 8 {
			m := Measured{
				Track: track, Conversation: "c-1", Question: q, Gold: []string{"0"}, Found: []string{"5", "0"},
				Features: map[string]float64{"always": 1, "names_one": names},
			}
			for n := range 30 {
				v := map[string]float64{right: 0.1, wrong: 0.5 + float64(n)/100}
				if n == 0 {
					v = map[string]float64{right: 0.9, wrong: 0.1}
				}
				m.Notes = append(m.Notes, MeasuredNote{Turn: fmt.Sprint(n), Values: v})
			}
			all = append(all, m)
		}
	}
	none := func(*Measured) string { return "" }
	f := must.Get(NewFitting(all, none, []string{"lexical", "late"}))(t)
	table := f.Table()
	var out strings.Builder
	must.Do(t, f.LeftOut(&out, &table))
	for _, want := range []string{"| one | 8 | 1.000 | 1.000 | 1.000 |", "| three | 8 | 1.000 | 1.000 | 1.000 |", "| mean, each once | | 1.000 | 1.000 | 1.000 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	named, unnamed := search.FeaturesOf(map[string]float64{"always": 1, "names_one": 1}), search.FeaturesOf(map[string]float64{"always": 1})
	if n, u := table.Weights(&named), table.Weights(&unnamed); n[search.Late]-n[search.Lexical] <= u[search.Late]-u[search.Lexical] {
		t.Errorf("names do not count: %v, %v", n, u)
	}
	again, err := search.ParseTable(table.String())
	if err != nil || again.String() != table.String() {
		t.Errorf("the table does not come back: %v\n%s", err, again.String())
	}
	if _, err := NewFitting(all[:8], none, []string{"late"}); err == nil {
		t.Error("one data set is enough")
	}
	if _, err := NewFitting(all, none, []string{"nothing"}); err == nil {
		t.Error("a signal without a name is taken")
	}
}

// A result is read as it was written, and a metric that fell is reported.
func TestResults(t *testing.T) {
	t.Parallel()
	d := must.Get(SampleTalk())(t)
	rows := must.Get(References()[0].Ask(d))(t)
	r := Summarize(d, rows, metrics(d.Budgets))
	r.Variant, r.Embedder = "bm25", "none"
	if r.Overall.N != 18 || r.Groups["adversarial"].N != 2 || r.AUROC == nil {
		t.Fatalf("%d questions, %+v apart", r.Overall.N, r.Groups["adversarial"])
	}
	dir := t.TempDir()
	if fell, err := RegressionsSince(dir, r); err != nil || len(fell) > 0 {
		t.Fatalf("without an earlier result: %v, %v", fell, err)
	}
	file, err := r.Write(dir)
	if err != nil || filepath.Base(file) != "sample-talk-bm25-none.json" {
		t.Fatalf("written to %s: %v", file, err)
	}
	if fell, err := RegressionsSince(dir, r); err != nil || len(fell) > 0 {
		t.Errorf("against itself: %v, %v", fell, err)
	}
	g := r.Groups["temporal"]
	was := g.Metrics["recall@10"]
	g.Metrics["recall@10"] = Interval{Mean: was.Mean - 0.02}
	g.Metrics["cost@10"] = Interval{}
	fell, err := RegressionsSince(dir, r)
	if err != nil || len(fell) != 1 || !strings.Contains(fell[0], "recall@10 of temporal") {
		t.Errorf("after a fall: %v, %v", fell, err)
	}
	r.Data = map[string]string{"conversation.json": "other"}
	if _, err := RegressionsSince(dir, r); err == nil {
		t.Error("results over other data are compared")
	}
	var b strings.Builder
	if err := PrintTables(&b, []*Result{r}); err != nil || !strings.Contains(b.String(), "| bm25 | overall | 18 |") {
		t.Errorf("table: %v\n%s", err, &b)
	}
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	var values []float64
	for i := range 400 {
		values = append(values, float64(count(i%4 == 0)))
	}
	got := bootstrap(append(values, math.NaN()))
	// The normal approximation of a share of 0.25 over 400: 0.25 ± 1.96·0.02165.
	if got.Mean != 0.25 || math.Abs(got.Low-0.2076) > 0.006 || math.Abs(got.High-0.2924) > 0.006 {
		t.Errorf("interval %+v, want 0.25 from about 0.208 to 0.292", got)
	}
	if again := bootstrap(values); again != got {
		t.Errorf("again %+v, want %+v", again, got)
	}
	if got := bootstrap(nil); got != (Interval{}) {
		t.Errorf("of nothing %+v", got)
	}
	if got := bootstrap([]float64{0.3, 0.3, 0.3}); math.Abs(got.Low-0.3) > 1e-12 || math.Abs(got.High-0.3) > 1e-12 {
		t.Errorf("of equal values %+v", got)
	}
}
