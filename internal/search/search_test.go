package search

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func id(n int) (out ID) {
	binary.BigEndian.PutUint32(out[12:], uint32(n))
	return out
}

func ranker(tb testing.TB, change func(*Config)) *Ranker {
	tb.Helper()
	c := DefaultConfig(General)
	if change != nil {
		change(&c)
	}
	r, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// cand is a candidate with a cosine; lexical 0 is no word.
func cand(n int, vector, lexical float64) Candidate {
	c := dense(n, vector)
	c.ByVector, c.Values[Lexical] = true, lexical
	return c
}

// dense is a candidate with a cosine alone that is not among the best by vector.
func dense(n int, cosine float64) Candidate {
	return Candidate{Note: id(n), Values: Values{Vector: cosine}, Dense: true}
}

// word is a candidate without a vector.
func word(n int, lexical float64) Candidate {
	return Candidate{Note: id(n), Values: Values{Lexical: lexical}}
}

func notes(hits []Hit) []int {
	out := make([]int, 0, len(hits))
	for _, h := range hits {
		out = append(out, int(binary.BigEndian.Uint32(h.Note[12:])))
	}
	return out
}

func TestRank(t *testing.T) {
	t.Parallel()
	half, words := 0.5, word(9, 7)
	for _, c := range []struct {
		name   string
		change func(*Config)
		in     []Candidate
		o      Options
		want   []int
	}{
		{"C040 at most k, best first", nil, []Candidate{cand(1, .1, 0), cand(2, .9, 0), cand(3, .5, 0)}, Options{Mode: ModeVector, K: 2}, []int{2, 3}},
		{"C053 nothing found is an empty list", nil, nil, Options{Mode: ModeHybrid, K: 5}, []int{}},
		{"C051 no word, no lexical hit", nil, []Candidate{cand(1, .9, 0), cand(2, .1, 2)}, Options{Mode: ModeLexical, K: 5}, []int{2}},
		{"C051 neither signal, no hit", nil, []Candidate{{Note: id(1)}, cand(2, .1, 2)}, Options{Mode: ModeHybrid, K: 5}, []int{2}},
		{"a pending vector is no vector hit", nil, []Candidate{words, cand(2, .1, 2)}, Options{Mode: ModeVector, K: 5}, []int{2}},
		{"hybrid joins both sides", nil, []Candidate{cand(1, .9, 0), cand(2, .8, 5), cand(3, .1, 4)}, Options{Mode: ModeHybrid, K: 3}, []int{2, 1, 3}},
		{"C318 words survive k dense hits", nil, []Candidate{cand(1, .9, 1), cand(2, .9, 1), cand(3, .9, 1), cand(4, .9, 1), cand(5, .8, 0), cand(6, .8, 0), word(9, .4)}, Options{Mode: ModeHybrid, K: 5}, []int{1, 2, 3, 4, 9}},
		{"C318 also with a poor cosine of its own", nil, []Candidate{cand(1, .9, 5), cand(2, .9, 5), cand(3, .9, 0), cand(4, .9, 0), cand(5, .8, 0), cand(6, .8, 0), {Note: id(9), Values: Values{Lexical: 5, Vector: .1}, Dense: true}}, Options{Mode: ModeHybrid, K: 5}, []int{1, 2, 3, 4, 9}},
		{"C318 without a dense side", nil, []Candidate{word(1, 3), word(2, 4)}, Options{Mode: ModeHybrid, K: 1}, []int{2}},
		{"ties by note id", nil, []Candidate{cand(3, .5, 1), cand(1, .5, 1), cand(2, .5, 1)}, Options{Mode: ModeHybrid, K: 3}, []int{1, 2, 3}},
		{"min_score cuts", nil, []Candidate{cand(1, .9, 0), cand(2, .5, 0), cand(3, .49, 0)}, Options{Mode: ModeVector, K: 5, MinScore: &half}, []int{1, 2}},
		{"recency counts when weighed", func(c *Config) { c.Weights[Recency] = 5 }, []Candidate{cand(1, .9, 0), {Note: id(2), Values: Values{Vector: .8}, Dense: true, At: day(9)}, cand(3, .1, 0)}, Options{Mode: ModeHybrid, K: 1, Now: day(10)}, []int{2}},
		{"importance counts when weighed", func(c *Config) { c.Weights[Importance] = 5 }, []Candidate{cand(1, .9, 0), {Note: id(2), Values: Values{Vector: .8, Importance: 1}, Dense: true}, cand(3, .1, 0)}, Options{Mode: ModeHybrid, K: 1}, []int{2}},
		{"k 0", nil, []Candidate{cand(1, .9, 0)}, Options{Mode: ModeHybrid}, []int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := notes(ranker(t, c.change).Rank(c.in, c.o).Hits); !slices.Equal(got, c.want) {
				t.Errorf("ranked %v, want %v", got, c.want)
			}
		})
	}
}

func day(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }

// C048, C049: without words, the note that has the rare word but a low cosine is missing. With
// words, it is found and names its source.
func TestC048C049LexicalSideChangesResults(t *testing.T) {
	t.Parallel()
	in := []Candidate{cand(1, .9, 0), cand(2, .8, 0), cand(3, .7, 0), cand(4, .7, 0), cand(5, .7, 0), {Note: id(9), Values: Values{Lexical: 6, Vector: .05}, Dense: true}}
	r := ranker(t, nil)
	hybrid, dense := r.Rank(in, Options{Mode: ModeHybrid, K: 5}).Hits, r.Rank(in, Options{Mode: ModeVector, K: 5}).Hits
	if slices.Contains(notes(dense), 9) || !slices.Contains(notes(hybrid), 9) {
		t.Errorf("hybrid %v, vector %v", notes(hybrid), notes(dense))
	}
	for _, h := range hybrid {
		want := []Source{SourceVector}
		if h.Note == id(9) {
			want = []Source{SourceLexical}
		}
		if !slices.Equal(h.Sources, want) {
			t.Errorf("%v names %v", h.Note, h.Sources)
		}
	}
}

// C050: in every mode a better match has the higher score; a cosine alone is reported as measured.
func TestC050HigherIsBetter(t *testing.T) {
	t.Parallel()
	in := []Candidate{cand(1, .9, 8), cand(2, .3, 2), cand(3, -.5, 1)}
	r := ranker(t, nil)
	for mode, best := range map[Mode]float64{ModeHybrid: 1, ModeVector: .9, ModeLexical: 1} {
		hits := r.Rank(in, Options{Mode: mode, K: 3}).Hits
		if !slices.Equal(notes(hits), []int{1, 2, 3}) || hits[0].Score != best || hits[0].Score <= hits[1].Score || hits[1].Score <= hits[2].Score {
			t.Errorf("%s: %+v", mode, hits)
		}
	}
}

func TestExplainAddsUp(t *testing.T) {
	t.Parallel()
	r := ranker(t, func(c *Config) { c.Weights[Recency], c.Weights[Importance] = .2, .3 })
	res := r.Rank([]Candidate{cand(1, .9, 8), cand(2, .3, 2)}, Options{Mode: ModeHybrid, K: 3, Now: day(1)})
	hits := res.WithLinked([]Linked{{Note: id(3), Via: id(1), Confidence: 1, Hops: 1}}, []Candidate{cand(3, .4, 1)})
	if len(hits) != 3 {
		t.Fatalf("%v", notes(hits))
	}
	for _, h := range hits {
		sum, weights := 0.0, 0.0
		for _, e := range h.Explain {
			sum += e.Weight * e.Normalized
			weights += e.Weight
		}
		if math.Abs(sum-h.Score) > 1e-12 || math.Abs(weights-1) > 1e-12 {
			t.Errorf("%v: parts make %v with weights %v, score is %v", notes([]Hit{h}), sum, weights, h.Score)
		}
	}
}

// graph returns the edges function of Expand for a list of edges.
func graph(edges ...Edge) func([]ID) ([]Edge, error) {
	return func(notes []ID) ([]Edge, error) {
		var out []Edge
		for _, e := range edges {
			if slices.Contains(notes, e.A) || slices.Contains(notes, e.B) {
				out = append(out, e)
			}
		}
		return out, nil
	}
}

func edge(a, b int, confidence float64) Edge { return Edge{id(a), id(b), confidence} }

func TestExpand(t *testing.T) {
	t.Parallel()
	best := []ID{id(1), id(2)}
	for _, c := range []struct {
		name         string
		depth, limit int
		edges        []Edge
		want         []int
	}{
		{"C041 out of a hit", 1, 5, []Edge{edge(1, 7, 0)}, []int{7}},
		{"C322 into a hit", 1, 5, []Edge{edge(7, 1, 0)}, []int{7}},
		{"C044 cycles and repeats", 2, 5, []Edge{edge(1, 7, 0), edge(7, 1, 0), edge(7, 8, 0), edge(8, 1, 0), edge(1, 2, 0), edge(7, 7, 0)}, []int{2, 7, 8, 1, 1, 8, 1, 7}},
		{"better hits first, then confidence, then id", 1, 5, []Edge{edge(2, 3, 1), edge(1, 9, .2), edge(1, 8, .9), edge(6, 1, .2)}, []int{8, 6, 9, 3}},
		{"up to the limit", 2, 2, []Edge{edge(1, 7, 0), edge(1, 8, 0), edge(2, 9, 0)}, []int{7, 8, 1, 1}},
		{"two hops, and the way back", 2, 5, []Edge{edge(1, 7, 0), edge(8, 7, 0), edge(8, 9, 0)}, []int{7, 1, 8}},
		{"one hop", 1, 5, []Edge{edge(1, 7, 0), edge(8, 7, 0)}, []int{7}},
		{"none asked", 0, 5, []Edge{edge(1, 7, 0)}, []int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			linked, err := Expand(best, c.depth, c.limit, graph(c.edges...))
			if err != nil {
				t.Fatal(err)
			}
			got := []int{}
			for _, l := range linked {
				got = append(got, int(binary.BigEndian.Uint32(l.Note[12:])))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("reached %v, want %v", got, c.want)
			}
		})
	}
	broken := errors.New("store")
	if _, err := Expand(best, 1, 5, func([]ID) ([]Edge, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("the error is lost: %v", err)
	}
}

func TestWithLinked(t *testing.T) {
	t.Parallel()
	via := func(n, from int) Linked { return Linked{Note: id(n), Via: id(from), Confidence: 1, Hops: 1} }
	direct := []Candidate{cand(1, .9, 0), cand(2, .4, 0), cand(3, .2, 0)}
	noShare := func(c *Config) { c.LinkShare = 0 }
	for _, c := range []struct {
		name   string
		change func(*Config)
		mode   Mode
		k      int
		linked []Linked
		scored []Candidate
		want   []int
	}{
		{"C045 a more similar linked note takes the place of the k-th", noShare, ModeVector, 3, []Linked{via(7, 1)}, []Candidate{dense(7, .5)}, []int{1, 7, 2}},
		{"C045 a less similar one does not, without a share", noShare, ModeVector, 3, []Linked{via(7, 1)}, []Candidate{dense(7, .1)}, []int{1, 2, 3}},
		{"C046 direct before linked on equal score", noShare, ModeVector, 4, []Linked{via(0, 1)}, []Candidate{dense(0, .4)}, []int{1, 2, 0, 3}},
		{"C046 never longer than k", nil, ModeVector, 3, []Linked{via(7, 1), via(8, 1)}, []Candidate{dense(7, .3), dense(8, .3)}, []int{1, 7, 8}},
		{"C041 reached by a link only", nil, ModeVector, 3, []Linked{via(7, 1)}, []Candidate{dense(7, -.1)}, []int{1, 2, 7}},
		{"C041 in lexical mode, without a word", nil, ModeHybrid, 4, []Linked{via(7, 1)}, []Candidate{{Note: id(7)}}, []int{1, 7, 2, 3}},
		{"C044 a hit does not come twice", nil, ModeVector, 5, []Linked{via(2, 1), via(7, 1), via(7, 2)}, []Candidate{cand(2, .4, 0), dense(7, .1)}, []int{1, 2, 7, 3}},
		{"a hit that is linked moves up, and what it links with it", nil, ModeVector, 5, []Linked{via(3, 1), via(7, 3)}, []Candidate{dense(7, .1)}, []int{1, 3, 2, 7}},
		{"the better of own and path", nil, ModeVector, 5, []Linked{via(1, 3), via(2, 3)}, nil, []int{1, 2, 3}},
		{"the best of several paths", nil, ModeVector, 5, []Linked{{id(7), id(1), .1, 1}, via(7, 2)}, []Candidate{dense(7, .1)}, []int{1, 2, 7, 3}},
		{"not visible", nil, ModeVector, 5, []Linked{via(7, 1)}, nil, []int{1, 2, 3}},
		{"second hop by way of the first", nil, ModeVector, 5, []Linked{via(7, 1), via(8, 7)}, []Candidate{dense(7, .1), dense(8, .1)}, []int{1, 7, 2, 8, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res := ranker(t, c.change).Rank(direct, Options{Mode: c.mode, K: c.k})
			hits := res.WithLinked(c.linked, c.scored)
			if got := notes(hits); !slices.Equal(got, c.want) {
				t.Errorf("ranked %v, want %v", got, c.want)
			}
			for _, h := range hits { // C042
				isDirect := slices.Contains([]int{1, 2, 3}, notes([]Hit{h})[0])
				if h.IsNeighbor == isDirect || slices.Contains(h.Sources, SourceLink) != (h.Via != nil) || h.IsNeighbor && h.Via == nil {
					t.Errorf("C042: %v is_neighbor %v, sources %v", notes([]Hit{h}), h.IsNeighbor, h.Sources)
				}
			}
		})
	}
}

// C318 also holds with linked notes: they do not take the reserved place.
func TestC318WithLinked(t *testing.T) {
	t.Parallel()
	in := []Candidate{cand(1, .9, 5), cand(2, .9, 5), cand(3, .9, 5), cand(4, .9, 5), cand(5, .9, 5), word(9, 1)}
	res := ranker(t, nil).Rank(in, Options{Mode: ModeHybrid, K: 5})
	hits := res.WithLinked([]Linked{{Note: id(7), Via: id(1), Confidence: 1}}, []Candidate{cand(7, .8, 1)})
	if got := notes(hits); !slices.Equal(got, []int{1, 2, 3, 4, 9}) {
		t.Errorf("%v", got)
	}
}

// C054: both stages. A hit at or below the floor never reaches the model.
func TestC054TwoStage(t *testing.T) {
	t.Parallel()
	hits := []Hit{
		{Candidate: cand(1, .9, 0), Score: .9}, {Candidate: cand(2, .71, 0), Score: .71}, {Candidate: cand(3, .8, 0), Score: .6},
		{Candidate: cand(4, .7, 9), Score: .5}, {Candidate: word(5, 9), Score: .4},
	}
	got, err := TwoStage(hits, NoiseFloor, nil, 0)
	if err != nil || !slices.Equal(notes(got), []int{1, 2, 3}) {
		t.Errorf("first stage: %v %v", notes(got), err)
	}
	asked := []int{}
	got, err = TwoStage(hits, NoiseFloor, func(h []Hit) (map[ID]float64, error) {
		asked = notes(h)
		return map[ID]float64{id(1): .2, id(3): .95}, nil
	}, .5)
	if err != nil || !slices.Equal(notes(got), []int{3, 2}) || !slices.Equal(asked, []int{1, 2, 3}) {
		t.Errorf("second stage: %v %v, asked about %v", notes(got), err, asked)
	}
	down := errors.New("model down")
	got, err = TwoStage(hits, NoiseFloor, func([]Hit) (map[ID]float64, error) { return nil, down }, .5)
	if !errors.Is(err, down) || !slices.Equal(notes(got), []int{1, 2, 3}) {
		t.Errorf("a failed model changes the order: %v %v", notes(got), err)
	}
	if got, err := TwoStage(hits[3:], NoiseFloor, func([]Hit) (map[ID]float64, error) { return nil, down }, .5); err != nil || len(got) != 0 {
		t.Errorf("a model is called for an empty list: %v %v", got, err)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	hits := []Hit{{Candidate: cand(3, 0, 0)}, {Candidate: cand(9, 0, 0)}, {Candidate: cand(1, 0, 0)}}
	size := func(h Hit, _ int) int { return notes([]Hit{h})[0] }
	for _, c := range []struct {
		budget, tokens int
		want           []int
	}{{12, 12, []int{3, 9}}, {11, 3, []int{3}}, {2, 0, []int{}}, {0, 13, []int{3, 9, 1}}} {
		kept, tokens := Budget(hits, c.budget, size)
		if !slices.Equal(notes(kept), c.want) || tokens != c.tokens {
			t.Errorf("budget %d keeps %v of %d tokens", c.budget, notes(kept), tokens)
		}
	}
}

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	token := regexp.MustCompile(`[A-Za-z0-9]+|[^\sA-Za-z0-9]`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z0-9 ,.\n'é我\x00]*`)).Draw(t, "s")
		if got, want := EstimateTokens(s), len(token.FindAllString(s, -1)); got != want {
			t.Fatalf("%q: %d, want %d", s, got, want)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"infinite": func(c *Config) { c.Weights[Recency] = math.Inf(1) }, "nan": func(c *Config) { c.Weights[Vector] = math.NaN() },
		"share": func(c *Config) { c.LinkShare = 2 }, "half-life": func(c *Config) { c.HalfLife = 0 },
	} {
		c := DefaultConfig(General)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s accepted", name)
		}
	}
}

// genCandidates draws candidates, some without a vector.
var genCandidates = rapid.Custom(func(t *rapid.T) []Candidate {
	score := rapid.SampledFrom([]float64{0, 0, .1, .25, .5, .9})
	out := make([]Candidate, rapid.IntRange(0, 30).Draw(t, "n"))
	for i := range out {
		c := Candidate{Note: id(i), Dense: rapid.Bool().Draw(t, "dense")}
		c.Values[Lexical] = 10 * score.Draw(t, "lexical")
		if c.Dense {
			c.Values[Vector], c.ByVector = 1.5*score.Draw(t, "vector")-.4, rapid.Bool().Draw(t, "near")
		}
		out[i] = c
	}
	return out
})

// generalRanker has fixed weights.
func generalRanker(t *rapid.T) *Ranker {
	r, err := New(DefaultConfig(General))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRankProperties checks, for any candidates: at most k hits, no repeats; the list for k is the
// head of the list for any greater k; outside the reserved place hits are in order; and C318.
func TestRankProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := generalRanker(t)
		in := genCandidates.Draw(t, "candidates")
		k := rapid.IntRange(1, 12).Draw(t, "k")
		hits := r.Rank(in, Options{Mode: ModeHybrid, K: k}).Hits
		longer := r.Rank(in, Options{Mode: ModeHybrid, K: k + rapid.IntRange(1, 20).Draw(t, "more")}).Hits
		if len(hits) > k || !slices.Equal(notes(hits), notes(longer[:len(hits)])) || len(hits) < min(k, len(longer)) {
			t.Fatalf("k %d: %v, more: %v", k, notes(hits), notes(longer))
		}
		unreserved := slices.Clone(hits)
		if len(unreserved) >= reservedPlace {
			unreserved = slices.Delete(unreserved, reservedPlace-1, reservedPlace)
		}
		if !slices.IsSortedFunc(unreserved, compareHits) {
			t.Fatalf("k %d: %v", k, notes(hits))
		}
		seen := map[ID]bool{}
		for _, h := range hits {
			if seen[h.Note] || h.Score < 0 || h.Score > 1+1e-12 {
				t.Fatalf("repeated, or score %v", h.Score)
			}
			seen[h.Note] = true
		}
		words := func(c Candidate) bool { return c.Values[Lexical] > 0 && !c.Dense }
		if slices.ContainsFunc(in, words) && k >= reservedPlace &&
			!slices.ContainsFunc(hits[:min(reservedPlace, len(hits))], func(h Hit) bool { return h.Values[Lexical] > 0 && !h.ByVector }) {
			t.Fatalf("C318: a note is found by words only, hits %v", notes(hits))
		}
	})
}

// TestLinksForAnyK checks, for any candidates and links: the list for k is the head of the list for any
// greater k, and no note has a lower score with links than without.
func TestLinksForAnyK(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := generalRanker(t)
		in := genCandidates.Draw(t, "candidates")
		edges := make([]Edge, rapid.IntRange(0, 40).Draw(t, "edges"))
		for i := range edges {
			end := rapid.IntRange(0, 40) // some are no candidates
			edges[i] = edge(end.Draw(t, "a"), end.Draw(t, "b"), rapid.SampledFrom([]float64{0, .2, .7, 1}).Draw(t, "confidence"))
		}
		depth := rapid.IntRange(1, 2).Draw(t, "depth")
		k := rapid.IntRange(1, 12).Draw(t, "k")
		all := func(k int) []Hit {
			res := r.Rank(in, Options{Mode: ModeHybrid, K: k})
			linked, err := Expand(res.Best(LinkedFrom), depth, LinkedMost, graph(edges...))
			if err != nil {
				t.Fatal(err)
			}
			var measured []Candidate
			for n := range 41 {
				if n >= len(in) {
					measured = append(measured, dense(n, .01*float64(n)))
				} else {
					measured = append(measured, in[n])
				}
			}
			return res.WithLinked(linked, measured)
		}
		hits, longer := all(k), all(100)
		if len(hits) > k || !slices.Equal(notes(hits), notes(longer[:len(hits)])) || len(hits) < min(k, len(longer)) {
			t.Fatalf("k %d: %v, 100: %v", k, notes(hits), notes(longer))
		}
		own := map[ID]float64{}
		for _, h := range r.Rank(in, Options{Mode: ModeHybrid, K: 100}).Hits {
			own[h.Note] = h.Score
		}
		for _, h := range longer {
			if h.Score < own[h.Note] {
				t.Fatalf("%v has %v with links, %v without", notes([]Hit{h}), h.Score, own[h.Note])
			}
		}
	})
}

// Scores are sums of shares of the weights, and are finite numbers for all weights that a caller
// may set.
func TestScoresAreNumbers(t *testing.T) {
	t.Parallel()
	for _, tiny := range []float64{5e-324, 1e-300, 1e-6, -5e-324} {
		c := DefaultConfig(General)
		set := map[string]float64{}
		for _, name := range signalNames() {
			set[name] = 0
		}
		set["lexical"], set["question"] = tiny, -maxWeight
		if err := c.Weights.Override(set); err != nil {
			t.Fatal(err)
		}
		r, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		asks := cand(2, .5, 1)
		asks.Values[Question] = 1
		for _, h := range r.Rank([]Candidate{cand(1, .5, 1), asks}, Options{Mode: ModeHybrid, K: 5}).Hits {
			if math.IsNaN(h.Score) || math.IsInf(h.Score, 0) {
				t.Errorf("a weight of %g makes a score of %v", tiny, h.Score)
			}
		}
	}
}

// compareHits returns a negative number when a is ordered before b.
func compareHits(a, b Hit) int {
	neighbor := func(h Hit) int {
		if h.IsNeighbor {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(neighbor(a), neighbor(b)), bytes.Compare(a.Note[:], b.Note[:]))
}
