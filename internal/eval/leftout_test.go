package eval

import (
	"fmt"
	"strings"
	"testing"
)

// Two sets need that meaning counts at least as much as words, and a third that words count at least as much: equal weights
// serve all three. Without the third, the others choose more of meaning, and it loses by that.
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
					v = map[string]float64{"lexical": 10, "late": 0.5}
					if n == 0 {
						v = map[string]float64{"lexical": 30}
					}
				}
				m.Notes = append(m.Notes, MeasuredNote{Turn: fmt.Sprint(n), Prior: 1, Values: v})
			}
			all = append(all, m)
		}
	}
	// A dialogue is of the data that its last message is of, so it does not choose for it.
	dialogue := all[8]
	dialogue.Dialogue = true
	var out strings.Builder
	if err := LeftOut(&out, append(all, dialogue)); err == nil || !strings.HasSuffix(err.Error(), ": three, three by dialogue") {
		t.Errorf("the loss is no failure: %v", err)
	}
	for _, want := range []string{
		"| one | 4 | 1.000 | 1.000 | 1.000 | +0.000 |", "| three | 4 | 1.000 | 1.000 | 0.000 | -1.000 |",
		"| three by dialogue | 1 | 1.000 | 1.000 | 0.000 | -1.000 |", "weights of all sets: words ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := LeftOut(&out, all[:8]); err != nil {
		t.Errorf("two sets that agree: %v", err)
	}
	if err := LeftOut(&out, all[:4]); err == nil {
		t.Error("one data set is enough")
	}
}
