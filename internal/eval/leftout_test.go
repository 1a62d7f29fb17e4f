package eval

import (
	"fmt"
	"strings"
	"testing"
)

// A signal that tells the evidence in two sets and nothing in a third is worth what it is worth on each set, also when
// the weights were chosen on the others. Where it misleads, two sets outvote one.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	var all []Measured
	for _, track := range []string{"one", "two", "three"} {
		for q := range 4 {
			m := Measured{Track: track, Question: q, Gold: []string{"0"}, Found: []string{"5", "0"}}
			for n := range 30 {
				v := map[string]float64{"lexical": float64(n), "late": 0}
				if n == 0 {
					v["late"] = 0.9
				}
				if track == "three" {
					v = map[string]float64{"lexical": float64(30 - n), "late": float64(n) / 10}
				}
				m.Notes = append(m.Notes, MeasuredNote{Turn: fmt.Sprint(n), Prior: 1, Values: v})
			}
			all = append(all, m)
		}
	}
	var out strings.Builder
	if err := LeftOut(&out, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| one | 4 | 1.000 | 1.000 |", "| three | 4 | 1.000 | 0.000 | 0.000 | +0.000 |", "weights of all sets: late "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := LeftOut(&out, all[:4]); err == nil {
		t.Error("one data set is enough")
	}
}
