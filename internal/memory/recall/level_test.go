package recall

import (
	"math"
	"testing"

	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/search"
)

// Notes of both encoders have the same late interaction where they are as near and differ as much from their like, if the second one
// has read the question. Otherwise, and where nearly all notes are of one encoder, nothing changes.
func TestLateOfTwoEncoders(t *testing.T) {
	t.Parallel()
	const (
		tokensApart, tokensNear = .3, .8 // of the first encoder, of the second
		floor                   = .7     // of late interaction with notes that the second has read
	)
	measure := func(second bool, ofFirst, ofSecond int) (first, others []*search.Candidate) {
		sr := &searchRun{embedded: embedded{second: second}}
		var all []*search.Candidate
		var measured []index.Late
		add := func(n int, alike float64, value func(x float64) float64) (out []*search.Candidate) {
			for i := range n {
				x := float64(i) / float64(n)
				y := value(x + .1*float64(i%2))
				c := &search.Candidate{Dense: true, Values: search.Values{search.Vector: x}}
				out, all, measured = append(out, c), append(all, c), append(measured, index.Late{Own: y, Lead: y, Around: y, Alike: alike})
			}
			return out
		}
		first = add(ofFirst, tokensApart, func(x float64) float64 { return x / 2 })
		others = add(ofSecond, tokensNear, func(x float64) float64 { return floor + x/5 })
		sr.setLate(all, measured)
		return first, others
	}
	for _, tt := range []struct {
		name            string
		second          bool
		ofFirst, others int
		leveled         bool
	}{
		{"both", true, 10, 10, true},
		{"a question in English", false, 10, 10, false},
		{"few of the first", true, leastLeveled - 1, 10, false},
		{"few of the second", true, 10, leastLeveled - 1, false},
	} {
		first, others := measure(tt.second, tt.ofFirst, tt.others)
		for i := range min(len(first), len(others)) {
			for _, s := range lateSignals {
				x := float64(i) / float64(len(first))
				want := (x + .1*float64(i%2)) / 2
				if tt.leveled {
					want = others[i].Values[s]
				}
				if got := first[i].Values[s]; math.Abs(got-want) > 1e-9 {
					t.Errorf("%s: %s of note %d is %.3f, want %.3f", tt.name, s, i, got, want)
				}
			}
			if x := float64(i) / float64(len(others)); math.Abs(others[i].Values[search.Late]-(floor+(x+.1*float64(i%2))/5)) > 1e-9 {
				t.Errorf("%s: note %d of the second encoder has changed", tt.name, i)
			}
		}
	}
}
