package search

import (
	"math"
	"slices"
	"time"
)

// TogetherOf is how many of the best hits are compared with each other, for any k, so k never changes an order.
const TogetherOf = 10

// Statement is a hit as it is compared with others.
type Statement struct {
	At     time.Time // of the event
	States bool      // it may say how things are: neither a question nor an answer of an assistant
}

// Together groups the places of hits, best first, in the order in which they are shown: statements about the same thing
// are one group, the newest event first, where the best of them is ranked. So what holds now is before what it
// contradicts, in any language, and nothing is lost. alike reports whether two hits are about the same thing.
func Together(hits []Statement, alike func(a, b int) bool) [][]int {
	var groups [][]int
	for i, h := range hits {
		g := -1
		if h.States {
			// A group is what is like its best member, so that no chain leads from one thing to another.
			g = slices.IndexFunc(groups, func(g []int) bool { return hits[g[0]].States && alike(g[0], i) })
		}
		if g < 0 {
			groups = append(groups, []int{i})
			continue
		}
		groups[g] = append(groups[g], i)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b int) int { return hits[b].At.Compare(hits[a].At) })
	}
	return groups
}

// SharedWords returns a function that says how much of what two texts say is in both, 0..1: the weight of the words
// that they share divided by that of the text with the smaller one. A word weighs more the fewer of the texts have it,
// so a name that all of them have counts little.
func SharedWords(texts [][]string) func(a, b int) float64 {
	in := map[string]int{}
	has := make([]map[string]bool, len(texts))
	for i, words := range texts {
		has[i] = make(map[string]bool, len(words))
		for _, w := range words {
			if !has[i][w] {
				has[i][w] = true
				in[w]++
			}
		}
	}
	weigh := func(w string) float64 { return math.Log1p(float64(len(texts)) / float64(in[w])) }
	whole := make([]float64, len(texts))
	for i, words := range has {
		whole[i] = sumOf(words, weigh)
	}
	return func(a, b int) float64 {
		least := min(whole[a], whole[b])
		if least == 0 {
			return 0
		}
		return sumOf(has[a], func(w string) float64 {
			if has[b][w] {
				return weigh(w)
			}
			return 0
		}) / least
	}
}

// sumOf adds the weights of words up, in an order that makes the sum the same each time.
func sumOf(words map[string]bool, weigh func(string) float64) float64 {
	weights := make([]float64, 0, len(words))
	for w := range words {
		weights = append(weights, weigh(w))
	}
	slices.Sort(weights)
	sum := 0.0
	for _, x := range weights {
		sum += x
	}
	return sum
}
