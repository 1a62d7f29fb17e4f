// Package search ranks: it fuses what the index found by words and by
// vectors, brings in linked notes, and cuts to what was asked. All of it is
// pure functions of their arguments: no store, no index, no clock, no model.
//
// The order of a search is: candidates (the best [Depth] of each signal, each
// with its scores in all signals) → [Ranker.Rank] → [Expand] →
// [Result.WithLinked] → optional [TwoStage] → [Budget].
//
// Scores are higher-is-better everywhere. Equal scores order direct hits
// before linked ones, then by note id.
//
// # Constants
//
//	name                default  meaning
//	Config.Fusion       minmax   weighted mean of normalized signals; rrf: reciprocal ranks
//	Config.Vector       0.5      weight of cosine
//	Config.Lexical      0.5      weight of BM25
//	SpellingVector      0.2      Config.Vector where the embedder matches spellings, not meanings: hashed n-grams
//	                             repeat what BM25 says (LoCoMo, recall and nDCG at 10: words alone .626/.489,
//	                             with this weight .621/.485, with 0.5 .597/.461)
//	Config.Recency      0        weight of exp(-ln 2 · age / HalfLife)
//	Config.Importance   0        weight of the note's importance, 0..1
//	Config.HalfLife     720h     age at which recency is one half
//	Config.RankConstant 60       k of reciprocal-rank fusion (Cormack et al. 2009)
//	Config.LinkShare    0.5      how far a linked note moves towards the hit that links it
//	MinDepth            200      candidates per signal; no k asks for more, so k never changes an order
//	ReservedLexical     1        places among the first k (k > 1) for notes found only by words
//	NoiseFloor          0.7      cosine at or below which the two-stage filter drops a hit
//
// # Normalization
//
// BM25 is divided by the best BM25 of the candidates: its minimum over a
// collection is 0, the score of a note without a word of the query. Cosine
// goes from the lowest to the highest of the candidates; where they are equal
// it is 1. Linked notes are measured on the scale of the direct ones, cut to
// 0..1. Recency and importance are 0..1 as they are. The score is the mean by
// weight over the signals that the query has; a signal that one note lacks
// counts 0 for it. A search by one signal alone is not fused: its score is
// the raw cosine, or the raw BM25.
package search
