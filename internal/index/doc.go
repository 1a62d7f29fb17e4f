// Package index is the in-memory search index: words and vectors of the note
// versions of one collection layer, and views over a stack of layers.
//
// # Layers
//
// A [Layer] holds what the log of one collection says, for one embedder. It
// is fed by [Layer.Apply] in revision order and never rebuilt by a write; it
// is shared by every fork that reads it. Rows are appended, never changed,
// but for two things that become known later: where a version ends, and its
// vector. One writer at a time and any number of readers may use a layer;
// readers hold no lock while they score.
//
// # Views
//
// [Open] stacks layers, nearest first, each read at its own bound. A row is
// live at bound b when From <= b and (To == 0 or To > b). A nearer layer
// hides a note of the farther ones when it holds any version of it with
// From <= b, tombstones included, before any filter is applied. What is left
// is one bitmap of visible rows per layer. The number of notes, document
// frequencies and the average length are counted over the visible rows of all
// layers before filters, so that a fork ranks exactly like its base, and a
// fork with writes exactly like a copy that holds the same rows.
//
// Bitmaps are kept per bound: what is visible at a bound that has been
// reached never changes by later writes, only by erasure and compaction,
// which replace the layer's data as a whole.
//
// # Scores
//
// Words: BM25 (k1 = 1.2, b = 0.75, idf = ln(1 + (N-n+0.5)/(n+0.5)), Robertson
// and Zaragoza 2009 with Lucene's idf) over the terms of package text; a word
// that the query repeats counts each time; a note without a term of the query
// is no hit. Where a view holds several languages, the stems of a query word
// in each are one term (their tf add, their df is that of the union).
//
// Vectors: exact cosine over vectors rounded to IEEE binary16 and scaled to
// unit length; the query's vector is rounded the same way. A row's score is a
// function of the row and the query alone, never of its place in the index.
//
// Scores are higher-is-better; equal scores order by note id.
//
// The package keeps no clock, starts no goroutine, reads no store. It imports
// filter, text and fault.
package index
