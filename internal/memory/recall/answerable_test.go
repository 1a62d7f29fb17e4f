package recall

import (
	"math"
	"testing"

	"github.com/slipboxhq/slipbox/internal/search"
)

func TestEstimateOfAnswerable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		words         string
		late, cosine  float64 // of the best hit
		nearest       float64 // the highest cosine of another note
		score, wanted float64
	}{
		{"late interaction and the best hit's cosine", "Who plays the cello?", 0.6, 0.4, 0, 0.5, (2*0.5 + 0.5) / 3},
		{"the nearest note is another one", "Who plays the cello?", 0.6, 0.4, 0.8, 0.5, (2*0.7 + 0.5) / 3},
		{"without tokens the cosine alone", "Who plays the cello?", 0, 0.4, 0, 0.5, (2*0.4 + 0.5) / 3},
		{"Chinese notes are near each other", "谁会拉大提琴？", 0.9, 0.4, 0, 0.5, (2*0.45 + 0.5) / 3},
		{"Chinese notes about something else", "谁会拉大提琴？", 0.78, 0.1, 0, 0.5, (2*0.05 + 0.5) / 3},
		{"an English note for a Chinese question", "谁会拉大提琴？", 0.4, 0.4, 0, 0.5, (2*0.4 + 0.5) / 3},
		{"nothing is asked", " ?!… –", 0.6, 0.4, 0, 0.5, 0},
		{"an emoji says something", "🎂?", 0, 0.4, 0, 0.5, (2*0.4 + 0.5) / 3},
		{"signs that nothing is found by", "€ → °", 0, 0.4, 0, 0.5, 0},
		{"no more than 1", "Who plays the cello?", 1, 1, 0, 3, 1},
	} {
		sr := &searchRun{words: c.words}
		best := search.Hit{Candidate: search.Candidate{Dense: true}, Score: c.score}
		best.Values[search.Late], best.Values[search.Vector] = c.late, c.cosine
		other := search.Candidate{Dense: true}
		other.Values[search.Vector] = c.nearest
		got := sr.estimateAnswerable([]search.Hit{best}, []search.Candidate{best.Candidate, other})
		if got == nil || math.Abs(*got-c.wanted) > 1e-9 {
			t.Errorf("%s: answerable is %v, want %v", c.name, got, c.wanted)
		}
	}
	for words, want := range map[string]bool{
		"asdfghjkl": true, "qwxzvk hjwq": true, "xkqjzwv": true, "ыщфзжк": true, "🍕": true, "שדגכעיחל": true, "zzzzzz": true,
		"Which pets?": false, "Krankenversicherung": false, "المدينة": false, "гараж": false, "σπίτι": false, "猫叫什么": false, "tiramisu": false,
	} {
		if got := areBroken(words); got != want {
			t.Errorf("%q is not a word of a language: %v", words, got)
		}
		hit := search.Hit{Candidate: search.Candidate{Dense: true}, Score: 1}
		hit.Values[search.Vector] = 0.4
		got := (&searchRun{words: words, unmatched: true}).estimateAnswerable([]search.Hit{hit}, []search.Candidate{hit.Candidate})
		if (*got == 0) != want {
			t.Errorf("%q, which no note has, is answerable with %v", words, *got)
		}
	}
	if got := (&searchRun{words: "cello"}).estimateAnswerable([]search.Hit{{Score: 1}}, nil); got != nil {
		t.Errorf("words alone give %v, want nothing", *got)
	}
}
