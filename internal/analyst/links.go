package analyst

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/text"
)

// This file decides whether two notes are about the same thing: by a logistic regression over what they share. Its features
// hold in every language. TestLinkWeights learns its weights from judged pairs of notes.

// linkFeatures are the features of two notes, each from 0 to 1, with their weights.
var linkFeatures = [...]struct {
	name   string
	weight float64
}{
	{"time", 2.83},    // 1 at the same time, 1/2 a day apart
	{"nearest", 0.26}, // no neighbor is more similar
	{"keys", 0.62},    // how many terms are in the keywords of both, of manyKeys
	{"weight", 1.18},  // of the terms that are in the keywords of one and in the text of the other, of manyWeight
	{"agree", 0.78},   // nearest × keys × weight: what links notes that are far apart in time
}

const (
	linkBias = -1.21
	// minLinked is the least probability with which notes are linked: chosen for nine right links of ten in sets of
	// conversations that the weights were not learned from.
	minLinked  = 0.71
	manyKeys   = 4
	manyWeight = 6
	maxLinks   = 3 // per note
)

// linkedPair is what the new note and a neighbor have in common.
type linkedPair struct {
	shared   int     // terms of the keywords of one that the other has
	rarity   float64 // of the rarest of them; 1: no other neighbor has it
	features [len(linkFeatures)]float64
}

// probability returns how likely both notes are about the same thing.
func (p *linkedPair) probability() float64 {
	sum := linkBias
	for i, x := range p.features {
		sum += linkFeatures[i].weight * x
	}
	return logistic(sum)
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// noteTerms are the terms of a note: true for those of its keywords.
func noteTerms(n *memory.Described) map[string]bool {
	terms := map[string]bool{}
	for _, t := range text.Terms(n.Content) {
		terms[t] = false
	}
	lang, _ := text.Guess(n.Content)
	for _, k := range n.Keywords {
		for _, t := range text.TermsIn(k, lang) {
			terms[t] = true
		}
	}
	return terms
}

// linkedPairs compares the new note with every neighbor.
func linkedPairs(in amem.EvolveInput) []linkedPair {
	own := noteTerms(&in.New)
	notesWith := map[string]int{}
	others := make([]map[string]bool, len(in.Neighbors))
	top := 0.0
	for i := range in.Neighbors {
		others[i] = noteTerms(&in.Neighbors[i])
		for t := range others[i] {
			notesWith[t]++
		}
		top = max(top, in.Neighbors[i].Score)
	}
	pairs := make([]linkedPair, len(others))
	for i := range pairs {
		pairs[i] = comparePair(own, others[i], notesWith)
		n := &in.Neighbors[i]
		pairs[i].features[0] = 1 / (1 + in.New.Time.Sub(n.Time).Abs().Hours()/24)
		if n.Score == top {
			pairs[i].features[1] = 1
		}
		f := &pairs[i].features
		f[4] = f[1] * f[2] * f[3]
	}
	return pairs
}

// comparePair compares the terms of two notes. notesWith counts the neighbors that have a term.
func comparePair(own, other map[string]bool, notesWith map[string]int) linkedPair {
	var p linkedPair
	keys, weight := 0, 0.0
	for t, isKey := range other {
		ownKey, ok := own[t]
		if !ok || !isKey && !ownKey {
			continue
		}
		w := termWeight(t)
		if isKey && ownKey {
			keys++
			w *= 2
		}
		p.shared++
		weight += w
		p.rarity = max(p.rarity, 1/float64(notesWith[t]))
	}
	p.features[2] = float64(min(keys, manyKeys)) / manyKeys
	p.features[3] = min(1, weight/manyWeight)
	return p
}

// termWeight says how much a shared term tells: a longer word is rarer. In a script without spaces a term is a pair of
// characters, and a word has two or more.
func termWeight(t string) float64 {
	const long = 7 // letters
	first, _ := utf8.DecodeRuneInString(t)
	if first >= 0x0e00 { // Thai, and all behind it that has no spaces
		return 0.5
	}
	return float64(min(long, utf8.RuneCountInString(t))-1) / (long - 1)
}

// evolve links the new note to at most three neighbors that share a keyword with it, those with rare shared terms first.
// It never changes a neighbor: that takes a model.
func evolve(in amem.EvolveInput) amem.Evolution {
	out := amem.Evolution{Actions: []string{}, SuggestedConnections: []int{}}
	pairs := linkedPairs(in)
	order := make([]int, 0, len(pairs))
	best := 0.0
	for i := range pairs {
		if pairs[i].shared > 0 && pairs[i].probability() >= minLinked {
			order = append(order, i)
			best = max(best, pairs[i].probability())
		}
	}
	if len(order) == 0 {
		return out
	}
	slices.SortStableFunc(order, func(a, b int) int {
		// Rounded, since some seconds between notes do not matter.
		likelier := cmp.Compare(roundScore(pairs[b].probability()), roundScore(pairs[a].probability()))
		return cmp.Or(cmp.Compare(pairs[b].rarity, pairs[a].rarity), likelier)
	})
	limit := maxLinks
	if in.MaxLinks > 0 {
		limit = min(limit, in.MaxLinks)
	}
	for _, i := range order[:min(limit, len(order))] {
		out.SuggestedConnections = append(out.SuggestedConnections, in.Neighbors[i].Handle)
	}
	out.ShouldEvolve, out.Actions = true, append(out.Actions, "strengthen")
	confidence := roundScore(best)
	out.Confidence = &confidence
	return out
}

// roundScore rounds to three decimals, so that answers are short.
func roundScore(x float64) float64 { return math.Round(x*1000) / 1000 }
