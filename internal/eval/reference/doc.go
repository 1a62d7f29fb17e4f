// Package reference has simple scorers to compare with: BM25 and TF-IDF over two simple analyzers,
// windows of neighboring turns, and a blend of them. Their figures over published data are known,
// which checks the harness, and they are a baseline for the search of the product. Only eval uses
// them.
package reference
