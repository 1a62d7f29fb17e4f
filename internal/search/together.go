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
	has, in := numbered(texts)
	weight := make([]float64, len(texts)+1) // of a word, by how many texts have it
	for n := 1; n < len(weight); n++ {
		weight[n] = math.Log1p(float64(len(texts)) / float64(n))
	}
	count := make([]int, len(weight))
	sum := func(words []int) (sum float64) { // the lightest first, so that it is the same each time
		clear(count)
		for _, w := range words {
			count[in[w]]++
		}
		for n := len(weight) - 1; n > 0; n-- {
			for range count[n] {
				sum += weight[n]
			}
		}
		return sum
	}
	whole := make([]float64, len(texts))
	for i := range has {
		whole[i] = sum(has[i])
	}
	var both []int
	return func(a, b int) float64 {
		least := min(whole[a], whole[b])
		if least == 0 {
			return 0
		}
		both = both[:0]
		for _, w := range has[a] {
			if _, ok := slices.BinarySearch(has[b], w); ok {
				both = append(both, w)
			}
		}
		return sum(both) / least
	}
}

// numbered returns the words of each text as numbers, ascending and without repeats, and how many texts have each number.
func numbered(texts [][]string) (has [][]int, in []int) {
	total := 0
	for _, words := range texts {
		total += len(words)
	}
	number := make(map[string]int, total)
	last := make([]int, 0, total) // the last text that has a word
	in, has = make([]int, 0, total), make([][]int, len(texts))
	for i, words := range texts {
		has[i] = make([]int, 0, len(words))
		for _, w := range words {
			n, known := number[w]
			if !known {
				n = len(in)
				number[w], in, last = n, append(in, 0), append(last, -1)
			}
			if last[n] != i {
				in[n], last[n], has[i] = in[n]+1, i, append(has[i], n)
			}
		}
		slices.Sort(has[i])
	}
	return has, in
}
