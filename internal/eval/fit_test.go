package eval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/search"
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
	none := func(*Measured) bool { return false }
	f, err := NewFitting(all, none, []string{"lexical", "late"})
	if err != nil {
		t.Fatal(err)
	}
	table := f.Table()
	var out strings.Builder
	if err := f.LeftOut(&out, &table); err != nil {
		t.Fatal(err)
	}
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
