package memory_test

import (
	"math/rand/v2"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// What was taken from a note without a model does not change its vector, so that a note is encoded once; what a model or the
// caller has added does.
func TestVectorOfADescribedNote(t *testing.T) {
	t.Parallel()
	added := memory.Note{Content: "The kiln is fixed. Nora is happy.", Context: memory.DefaultContext, Tags: []string{"studio"}}
	quoted := added
	quoted.Context, quoted.Keywords, quoted.Analyst = "The kiln is fixed.", []string{"kiln"}, memory.AnalystHeuristic
	worded := quoted
	worded.Context, worded.Analyst = "The pottery can open again.", memory.AnalystModel
	own := added
	own.Context = "About the studio in Porto."
	item := memory.Note{
		Kind: memory.KindNote, Content: "x := 1", Context: "code start.go: Sets the start.", Analyst: memory.AnalystHeuristic,
		Attributes: map[string]any{memory.AttrItem: map[string]any{"type": "code", "name": "start.go"}},
	}
	for name, c := range map[string]struct {
		note memory.Note
		want string
	}{
		"added":                     {added, "The kiln is fixed. Nora is happy.\ntags: studio"},
		"described without a model": {quoted, "The kiln is fixed. Nora is happy.\ntags: studio"},
		"described by a model":      {worded, "The kiln is fixed. Nora is happy.\ncontext: The pottery can open again.\nkeywords: kiln\ntags: studio"},
		"described by the caller":   {own, "The kiln is fixed. Nora is happy.\ncontext: About the studio in Porto.\ntags: studio"},
		"an item":                   {item, "x := 1\ncontext: code start.go: Sets the start."},
	} {
		if got := memory.VectorText(&c.note); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
		if same := memory.SameToEmbed(&added, &c.note); same != (c.want == memory.VectorText(&added)) {
			t.Errorf("%s: the vector is the same: %v", name, same)
		}
	}
}

// A probe returns the cosines of [memory.Cosine], bit by bit: also of vectors with many zeros, of zero vectors and of those of
// another length, for any number of them.
func TestProbeReturnsCosines(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	drawn := func(size int, share float64) []float32 {
		v := make([]float32, size)
		for i := range v {
			if rng.Float64() < share {
				v[i] = float32(rng.NormFloat64())
			}
		}
		return v
	}
	for _, share := range []float64{0, .02, .25, 1} {
		probed := drawn(384, share)
		var others []memory.Measured
		for i := range 23 {
			size := 384
			if i%7 == 5 {
				size = 100
			}
			others = append(others, memory.Measure(drawn(size, []float64{1, .25, 0}[i%3])))
			got := memory.NewProbe(probed).Cosines(others)
			for j := range others {
				if want, _ := memory.Cosine(probed, others[j].Vector); got[j] != want {
					t.Fatalf("vector %d of %d: %v, want %v", j, len(others), got[j], want)
				}
			}
		}
		if self := memory.NewProbe(probed).Cosines([]memory.Measured{memory.Measure(probed)}); share > 0 && self[0] < .999 {
			t.Errorf("a vector and itself: %v", self)
		}
	}
}

// BenchmarkProbe compares a vector with 2,000 others, as a decision of memoryos does.
func BenchmarkProbe(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, share := range map[string]float64{"hashed": .25, "encoded": 1} {
		others := make([]memory.Measured, 2000)
		for i := range others {
			v := make([]float32, 384)
			for j := range v {
				if rng.Float64() < share {
					v[j] = float32(rng.NormFloat64())
				}
			}
			others[i] = memory.Measure(v)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				memory.NewProbe(others[0].Vector).Cosines(others)
			}
		})
		b.Run(name+"/one by one", func(b *testing.B) {
			for b.Loop() {
				for i := range others {
					memory.Cosine(others[0].Vector, others[i].Vector)
				}
			}
		})
	}
}
