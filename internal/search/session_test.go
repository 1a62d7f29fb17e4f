package search

import (
	"math"
	"slices"
	"testing"
)

// of returns a candidate of a session of some notes.
func of(n int, session int32, notes int, vector float64) Candidate {
	c := cand(n, vector, 0)
	c.Session, c.SessionNotes = session, notes
	c.Values[LateAround] = vector
	return c
}

// TestSessionsAreRanked: where an assistant speaks, the best notes of a session speak for it, and its further hits
// count less. A note without a session is compared as a session of one.
func TestSessionsAreRanked(t *testing.T) {
	t.Parallel()
	r, err := New(DefaultConfig(AssistantTalk))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		in   []Candidate
		want []int
	}{
		{"three good notes outrank a single one that is a little better", []Candidate{of(1, 1, 9, .72), of(2, 2, 9, .7), of(3, 2, 9, .7), of(4, 2, 9, .7)}, []int{2, 3, 4, 1}},
		{"a session of one note loses nothing by it", []Candidate{of(1, 1, 1, .8), of(2, 2, 9, .7), of(3, 2, 9, .7), of(4, 2, 9, .7)}, []int{1, 2, 3, 4}},
		{"nor does a note without a session", []Candidate{of(1, 0, 0, .8), of(2, 2, 9, .7), of(3, 2, 9, .7), of(4, 2, 9, .7)}, []int{1, 2, 3, 4}},
		{"sessions take turns", []Candidate{of(1, 1, 2, .8), of(2, 1, 2, .79), of(3, 2, 2, .77), of(4, 2, 2, .76)}, []int{1, 3, 2, 4}},
		{"notes without sessions do not", []Candidate{of(1, 0, 0, .8), of(2, 0, 0, .79), of(3, 0, 0, .78)}, []int{1, 2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(c.in)
			if got := notes(r.Rank(c.in, Options{Mode: ModeHybrid, K: 9}).Hits); !slices.Equal(got, c.want) {
				t.Errorf("ranked %v, want %v", got, c.want)
			}
			if !slices.Equal(c.in, before) {
				t.Error("ranking changed the candidates")
			}
		})
	}
}

// TestRepeatsOfASession: the factor of a repeat falls up to repeatMost, the parts of a score explain it, and other
// modes and profiles have none.
func TestRepeatsOfASession(t *testing.T) {
	t.Parallel()
	var in []Candidate
	for n := range 8 {
		in = append(in, of(n, 1, 8, .9-.01*float64(n)))
	}
	in = append(in, of(8, 0, 0, .1))
	rank := func(p Profile, m Mode) []Hit {
		r, err := New(DefaultConfig(p))
		if err != nil {
			t.Fatal(err)
		}
		return r.Rank(in, Options{Mode: m, K: 9}).Hits
	}
	for _, h := range rank(AssistantTalk, ModeHybrid) {
		n := notes([]Hit{h})[0]
		want := math.Pow(repeatInSession, float64(min(n, repeatMost)))
		if n == 8 {
			want = 1
		}
		sum := 0.0
		for _, p := range h.Explain {
			sum += p.Normalized * p.Weight
		}
		if math.Abs(h.Repeat-want) > 1e-12 || math.Abs(sum*h.Prior*h.Repeat-h.Score) > 1e-12 {
			t.Errorf("note %d: repeat %v, want %v; parts %v, prior %v, score %v", n, h.Repeat, want, sum, h.Prior, h.Score)
		}
	}
	for _, h := range slices.Concat(rank(General, ModeHybrid), rank(People, ModeHybrid), rank(AssistantTalk, ModeVector)) {
		if h.Repeat != 1 {
			t.Errorf("%v has the factor %v", notes([]Hit{h}), h.Repeat)
		}
	}
}

// TestLinkedNoteOfASession: a linked note is worth what its session is.
func TestLinkedNoteOfASession(t *testing.T) {
	t.Parallel()
	r, err := New(DefaultConfig(AssistantTalk))
	if err != nil {
		t.Fatal(err)
	}
	res := r.Rank([]Candidate{of(1, 1, 9, .8), of(2, 2, 9, .7)}, Options{Mode: ModeHybrid, K: 9})
	link := []Linked{{Note: id(3), Via: id(2), Confidence: .01, Hops: 1}, {Note: id(4), Via: id(2), Confidence: .01, Hops: 1}}
	hits := res.WithLinked(link, []Candidate{of(3, 1, 9, .5), of(4, 7, 9, .5)})
	if got, want := notes(hits), []int{1, 2, 3, 4}; !slices.Equal(got, want) {
		t.Fatalf("ranked %v, want %v", got, want)
	}
	pooled := map[int]float64{}
	for _, h := range hits {
		pooled[notes([]Hit{h})[0]] = h.Values[Pooled]
	}
	if pooled[3] != pooled[1] || pooled[4] <= 0 || pooled[4] >= pooled[3] {
		t.Errorf("pooled: %v", pooled)
	}
}
