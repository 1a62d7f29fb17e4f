package search

import "math"

// This file is the ranking of Mem0's public code since its version 2, as a profile: score = (cos +
// b + g) / max. Candidates are the [Mem0Depth] nearest by vector whose cosine is at least
// [Mem0Threshold]; words and entities only raise their scores. b is the BM25 score mapped to 0..1
// by a logistic curve that depends on the query's length. g is half of the link to an entity that
// the query names. max is the largest sum possible: 1, one more when some candidate has a word of
// the query, and half more when some candidate is linked to an entity. This equals the weights 1, 1
// and .5, which count when a signal exists and are scaled to the sum 1.
//
// Unlike in the other profiles, the number of candidates depends on k.

// Constants of Mem0's ranking.
const (
	Mem0Threshold   = 0.1 // least cosine of a candidate
	Mem0Entities    = 8   // most entities that a query names
	Mem0EntityFloor = 0.5 // least cosine of an entity with what the query names
)

// Mem0Depth returns how many of the nearest notes are candidates for k hits.
func Mem0Depth(k int) int { return max(4*k, 60) }

// logistic maps a BM25 score to 0..1: 1 / (1 + exp(-steepness · (raw - middle))). Scores grow with
// the number of terms of a query, so the curve rises later and slower for longer queries.
func logistic(raw float64, terms int) float64 {
	middle, steepness := 12.0, 0.5
	switch {
	case terms <= 3:
		middle, steepness = 5, 0.7
	case terms <= 6:
		middle, steepness = 7, 0.6
	case terms <= 9:
		middle, steepness = 9, 0.5
	case terms <= 15:
		middle, steepness = 10, 0.5
	}
	return 1 / (1 + math.Exp(-steepness*(raw-middle)))
}

// EntityBoost returns the value of a link to an entity that is similar to one of the query and
// linked with a number of notes: similarity / (1 + 0.001 · (linked - 1)²). An entity that is linked
// with everything says little about any of it.
func EntityBoost(similarity float64, linked int) float64 {
	n := float64(max(linked-1, 0))
	return similarity / (1 + 0.001*n*n)
}

// mem0Measure returns a value as Mem0's ranking compares it, 0..1. A note without a word of the
// query has 0, not the value of the curve at 0.
func mem0Measure(s Signal, x float64, terms int) float64 {
	if s == Lexical || s == Window || s == Session {
		if x <= 0 {
			return 0
		}
		return logistic(x, terms)
	}
	return min(max(x, 0), 1)
}
