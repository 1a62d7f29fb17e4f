package search_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/search"
)

// Hits 0, 2 and 3 are about the same thing; 1 is not, and 4 asks about it.
func TestTogether(t *testing.T) {
	t.Parallel()
	day := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC) }
	hits := []search.Statement{{day(2), true}, {day(1), true}, {day(3), true}, {day(1), true}, {day(9), false}}
	same := []int{0, 2, 3, 4}
	got := search.Together(hits, func(a, b int) bool { return slices.Contains(same, a) && slices.Contains(same, b) })
	if want := []int{2, 0, 3, 1, 4}; !slices.Equal(slices.Concat(got...), want) {
		t.Errorf("%v, want %v", got, want)
	}
	// No chain: 2 is like 1 alone, and 1 like 0 alone.
	got = search.Together(hits[:3], func(a, b int) bool { return b == a+1 })
	if len(got) != 2 || !slices.Equal(got[0], []int{0, 1}) {
		t.Errorf("a chain became %v", got)
	}
}

// A name that every text has says little of what two of them share.
func TestSharedWords(t *testing.T) {
	t.Parallel()
	shared := search.SharedWords([][]string{{"nora", "chinese", "food", "love"}, {"nora", "chinese", "food", "hate"}, {"nora", "cat"}, nil})
	if same, other := shared(0, 1), shared(0, 2); same < .5 || other > .4 || shared(0, 3) != 0 || same != shared(1, 0) {
		t.Errorf("the same thing has %.2f, another one %.2f", same, other)
	}
}

// Words are counted once for each text, and the sum is that of their weights, the lightest first, to the last bit.
func TestSharedWordsAreExact(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		texts, in := make([][]string, 2+rng.IntN(9)), map[string]int{}
		for i := range texts {
			for range rng.IntN(40) {
				texts[i] = append(texts[i], strconv.Itoa(int(30*rng.Float64()*rng.Float64())))
			}
			for _, w := range slices.Compact(slices.Sorted(slices.Values(texts[i]))) {
				in[w]++
			}
		}
		sum := func(a, b []string) (sum float64) {
			var weights []float64
			for _, w := range slices.Compact(slices.Sorted(slices.Values(a))) {
				if slices.Contains(b, w) {
					weights = append(weights, math.Log1p(float64(len(texts))/float64(in[w])))
				}
			}
			for _, x := range slices.Sorted(slices.Values(weights)) {
				sum += x
			}
			return sum
		}
		shared := search.SharedWords(texts)
		for a := range texts {
			for b := range texts {
				want, least := 0.0, min(sum(texts[a], texts[a]), sum(texts[b], texts[b]))
				if least > 0 {
					want = sum(texts[a], texts[b]) / least
				}
				if got := shared(a, b); got != want {
					t.Errorf("%v and %v share %v, want %v", texts[a], texts[b], got, want)
				}
			}
		}
	}
}
