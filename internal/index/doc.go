// Package index is the in-memory search index: words and vectors of the note versions of one
// collection layer, and views over a stack of layers.
//
// It is the first of three packages that answer a search. Package index measures how notes and a
// query match: BM25, cosines, sessions, marks. Package search weighs these measures into one
// ranking. Package recall asks the store for the log, keeps the layers up to date, calls both, and
// answers with notes. Only recall opens layers and views; the stores call [Round].
//
// # Layers
//
// A [Layer] holds the log of one collection, for one embedder. [Layer.Apply] feeds it in revision
// order; a write never rebuilds it, and every fork that reads it shares it. Rows are appended and
// never changed, except for two things that become known later: where a version ends, and its
// vector. One writer at a time and any number of readers may use a layer; readers hold no lock
// while they score.
//
// # Views
//
// [Open] stacks layers, nearest first, each read at its own bound. A row is live at bound b when
// From <= b and (To == 0 or To > b). A nearer layer hides a note of the farther ones when it holds
// any version of it with From <= b, tombstones included, before any filter is applied. The rest is
// one bitmap of visible rows per layer. The number of notes, document frequencies and the average
// length are counted over the visible rows of all layers before filters, so a fork ranks exactly
// like its base, and a fork with writes exactly like a copy that holds the same rows.
//
// Bitmaps are kept per bound. Later writes never change what is visible at a bound that was
// reached; only compaction does, and it replaces the layer's data as a whole. Visibility
// at a new bound is computed from the nearest lower one and the rows that began and ended since, so
// an append costs what it changes and a copy of some flat arrays.
//
// A [Selection] is the part of a view that a filter matches. A layer keeps which of its rows match a condition that comes
// again, so that a policy's conditions are compared once with each row.
//
// # Words
//
// A note is cut into passages of up to 100 tokens ([text.Passages]). Context, keywords and tags
// belong to the first passage, the date on which the note occurred belongs to each. Words score a
// passage by BM25 (k1 = 1.2, b = 0.75, idf = ln(1 + (N-n+0.5)/(n+0.5)), Robertson and Zaragoza 2009
// with Lucene's idf) over the terms of package text. N, n and the average length count visible
// passages. The score of a note is that of its best passage. A word that the query repeats counts
// each time, a weak one ([text.Weak]) 0.3 times. A note without a term of the query is not a hit.
// Where a view holds several languages, the stems of a query word in each are one term (their
// counts add up, n is that of their union).
//
// # Sessions
//
// attributes.session, a string or a number, names the session of a note. Notes of a session are
// ordered by when they occurred, then by id. A fork's notes continue the sessions of its base. A
// view knows the neighbors of each visible note over all its layers: for windows of words around
// it, for the words of its session, and for late interaction with adjacent notes.
//
// # Vectors
//
// A row keeps its vector rounded to 12 bits a component, as the stores do: whole numbers times one
// power of two. Their upper eight bits are the codes, which a search scans, and the lower four are
// apart: it computes the cosines of a shortlist from both. The sums are exact integers, so every
// kernel returns the same bits, and the score of a row depends on the row and the query alone,
// never on its place in the index. The module in gen generates the kernels for AVX2; elsewhere it
// is plain Go.
//
// Higher scores are better; equal scores are ordered by note id.
//
// # Cost
//
// Words are processed heaviest first. Once the remaining words cannot bring a note without a score
// into the best k, only notes that have a score are updated. All other signals are measured for the
// candidates only. The sums do not depend on this: every sum adds the words in that order.
//
// A large batch is analyzed, and a large view scanned, on several processors; the scan runs while
// words are counted, and a [Batch] is analyzed while the log is read. The package has no clock and reads no store.
// It imports filter, text, when, fault and cpus.
package index
