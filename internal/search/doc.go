// Package search ranks notes: it combines what the index measured of them, adds linked notes, cuts
// to what was asked, and counts tokens. All functions depend on their arguments alone: no store, no
// index, no clock, no model.
//
// It is the second of three packages that answer a search. Package index measures how notes and a
// query match, package search weighs the measures into one ranking, and package recall asks the
// store, calls both, and answers with notes. Only recall ranks with this package; config, api and
// chat use its token counts.
//
// The steps of a search are: candidates (the best [Depth] of words, windows and vectors, each
// measured by every signal) → [Ranker.Best], whose notes are measured by late interaction →
// [Ranker.Rank] → [Expand] → [Result.WithLinked] → optional [TwoStage] → [Budget].
//
// Higher scores are better everywhere. Of equal scores, notes that owe their place to a link come
// last, then note ids decide. The list for k is the head of the list for any larger k, except in the
// profile mem0, whose candidates depend on k.
//
// # Score
//
// score = Σ weight · measure, over the signals that some candidate of the search has; their
// positive weights are scaled to the sum 1. The table of signals in signal.go is the only place
// that defines their names, their weights in each fixed profile, and how they become comparable: BM25 and
// cosine are divided by the largest of the candidates, with negatives as 0; the others are used as
// they are. internal/eval/reviews/ranking.md describes how they were chosen.
//
// In the profile auto, hybrid mode with late interaction, a weight is a sum over features of the query and the view, whose
// numbers were learned: see weigh.go and weights.tsv.
//
// A search by vector alone is not fused: its score is the cosine. The profile mem0 ranks as Mem0's
// code does, with other candidates and measures: see mem0.go.
//
// # Other constants
//
//	name             default  meaning
//	SpellingVector   0.1      weight of Vector when the embedder compares spellings, not meanings
//	Config.HalfLife  720h     age at which recency is one half
//	Config.LinkShare 0.5      how far a linked note moves towards the score of the hit that links it
//	minDepth         200      candidates per signal; no k asks for more, so k never changes an order
//	LateDepth        200      candidates that late interaction measures
//	reservedPlace    5        place of the best of the notes that only words found, at the latest
//	LinkedFrom       20       best notes whose links are followed, for any k
//	LinkedMost       200      notes that these links lead to at most
//	NoiseFloor       0.7      cosine at or below which the two-stage filter drops a hit; embedders may define their own
package search
