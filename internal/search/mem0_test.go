package search

import (
	"math"
	"slices"
	"testing"
)

func TestLogistic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terms              int
		middle, oneAbove   float64 // the score that maps to one half, and the value for one more
		nothing, threeMore float64
	}{
		{1, 5, 0.66818777, 0.02931223, 0.89090318},
		{3, 5, 0.66818777, 0.02931223, 0.89090318},
		{4, 7, 0.64565631, 0.01477403, 0.85814894},
		{6, 7, 0.64565631, 0.01477403, 0.85814894},
		{7, 9, 0.62245933, 0.01098694, 0.81757448},
		{9, 9, 0.62245933, 0.01098694, 0.81757448},
		{10, 10, 0.62245933, 0.00669285, 0.81757448},
		{15, 10, 0.62245933, 0.00669285, 0.81757448},
		{16, 12, 0.62245933, 0.00247262, 0.81757448},
	} {
		for raw, want := range map[float64]float64{c.middle: 0.5, c.middle + 1: c.oneAbove, 0: c.nothing, c.middle + 3: c.threeMore} {
			if got := logistic(raw, c.terms); math.Abs(got-want) > 1e-8 {
				t.Errorf("%v of a query of %d terms is worth %.8f, want %.8f", raw, c.terms, got, want)
			}
		}
	}
}

func TestEntityBoost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		similarity float64
		linked     int
		want       float64
	}{{1, 1, 1}, {.8, 1, .8}, {1, 0, 1}, {1, 11, 1 / 1.1}, {.5, 101, .5 / 11}} {
		if got := EntityBoost(c.similarity, c.linked); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("similarity %v, %d linked: %v, want %v", c.similarity, c.linked, got, c.want)
		}
	}
}

func TestMem0Depth(t *testing.T) {
	t.Parallel()
	for k, want := range map[int]int{1: 60, 15: 60, 16: 64, 50: 200} {
		if got := Mem0Depth(k); got != want {
			t.Errorf("%d candidates for %d hits, want %d", got, k, want)
		}
	}
}

// linked is a candidate that a link to an entity raises.
func linked(n int, vector, lexical, entity float64) Candidate {
	c := cand(n, vector, lexical)
	c.Values[Entity] = entity
	return c
}

// A score is the sum of what a note has, divided by what it could have: 1, 2, 1.5 or 2.5, by the
// signals that some candidate has.
func TestMem0Score(t *testing.T) {
	t.Parallel()
	r, err := New(DefaultConfig(Mem0))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		in   []Candidate
		want map[int]float64
	}{
		{"meaning alone", []Candidate{cand(1, .8, 0), cand(2, .3, 0)}, map[int]float64{1: .8, 2: .3}},
		{"words", []Candidate{cand(1, .8, 0), cand(2, .3, 5)}, map[int]float64{1: .8 / 2, 2: (.3 + .5) / 2}},
		{"an entity", []Candidate{cand(1, .8, 0), linked(2, .3, 0, .9)}, map[int]float64{1: .8 / 1.5, 2: (.3 + .5*.9) / 1.5}},
		{"both", []Candidate{cand(1, .8, 5), linked(2, .3, 0, 1)}, map[int]float64{1: (.8 + .5) / 2.5, 2: (.3 + .5) / 2.5}},
		{"at the threshold", []Candidate{cand(1, Mem0Threshold, 0)}, map[int]float64{1: .1}},
		{"below the threshold, with any words", []Candidate{cand(1, .8, 0), linked(2, .0999, 50, 1)}, map[int]float64{1: .8}},
		{"far by vector, or without one", []Candidate{cand(1, .8, 0), {Note: id(2), Dense: true, Values: Values{Vector: .7, Lexical: 9}}, word(3, 9)}, map[int]float64{1: .8}},
		{"other signals do not count", []Candidate{{Note: id(1), Dense: true, ByVector: true, Values: Values{Vector: .6, Late: 1, Window: 9, Attribute: 1}}}, map[int]float64{1: .6}},
	} {
		hits := r.Rank(c.in, Options{Mode: ModeHybrid, K: 5, Terms: 2}).Hits
		if len(hits) != len(c.want) {
			t.Errorf("%s: %v", c.name, notes(hits))
		}
		for _, h := range hits {
			n := notes([]Hit{h})[0]
			if math.Abs(h.Score-c.want[n]) > 1e-12 {
				t.Errorf("%s: note %d has the score %v, want %v", c.name, n, h.Score, c.want[n])
			}
		}
	}
	// By words alone the curve orders; no place is reserved in this profile.
	if got := notes(r.Rank([]Candidate{word(1, 3), word(2, 4)}, Options{Mode: ModeLexical, K: 5}).Hits); !slices.Equal(got, []int{2, 1}) {
		t.Errorf("by words %v", got)
	}
	if got := notes(r.Rank([]Candidate{cand(1, .9, 5), cand(2, .9, 5), cand(3, .9, 0), cand(9, .2, 1)}, Options{Mode: ModeHybrid, K: 2}).Hits); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("a place was reserved: %v", got)
	}
}
