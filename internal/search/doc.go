// Package search ranks: it fuses what the index measured of notes, brings in
// linked notes, cuts to what was asked, and counts tokens. All of it is pure
// functions of their arguments: no store, no index, no clock, no model.
//
// The order of a search is: candidates (the best [Depth] of words, windows and
// vectors, each measured by every signal) → [Ranker.Best], whose notes are
// measured by late interaction → [Ranker.Rank] → [Expand] →
// [Result.WithLinked] → optional [TwoStage] → [Budget].
//
// Scores are higher-is-better everywhere. Equal scores order direct hits
// before linked ones, then by note id.
//
// # Score
//
// score = prior · Σ weight · measure, over the signals that some candidate of
// the search has; their positive weights are scaled to the sum 1. The table of
// signals in signal.go is the one place of their names, weights in each
// profile, and the way they become comparable: BM25 and cosine are divided by
// the largest of the candidates, negatives are 0; the others are what they are.
// [DefaultPrior] holds the constants of the prior. docs/recall.md says how all
// of them were chosen and what each is worth.
//
// A search by vector alone is not fused: its score is the cosine. The profile
// mem0 ranks as Mem0's code does, with other candidates and measures: mem0.go.
//
// # Other constants
//
//	name             default  meaning
//	SpellingVector   see it   weight of Vector where the embedder matches spellings, not meanings
//	Config.HalfLife  720h     age at which recency is one half
//	Config.LinkShare 0.5      how far a linked note moves towards the hit that links it
//	MinDepth         200      candidates per signal; no k asks for more, so k never changes an order
//	LateDepth        200      candidates that late interaction measures
//	ReservedLexical  1        places among the first k (k > 1) for notes found only by words
//	NoiseFloor       0.7      cosine at or below which the two-stage filter drops a hit; embedders may know their own
package search
