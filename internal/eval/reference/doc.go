// Package reference holds plain scorers to measure others against: BM25 and TF-IDF over
// two simple analyzers, windows of neighboring turns, and a blend of them. They exist so
// that a harness can prove itself (their figures over published data are known) and so
// that a search engine has something to be better than. Nothing of the product uses them.
package reference
