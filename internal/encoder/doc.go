// Package encoder turns texts into vectors inside the process: all-MiniLM-L6-v2 (Apache-2.0,
// a six-layer BERT of 384 dimensions, mean pooling, unit length), with no server, no key and
// no cgo. It owns the reading of the weights, the WordPiece tokenizer, the forward pass and
// its kernels. It knows nothing of notes, searches or tenants, and fetches nothing: somebody
// else puts the two files where Open finds them.
//
// Arithmetic is float32 throughout. The kernels are chosen once, at start, by what the
// processor can do; they agree with one another to 1e-5, and on one of them the result for a
// text is the same bits whatever batch the text is in.
//
// Sources: J. Devlin et al., BERT, NAACL 2019; W. Wang et al., MiniLM, NeurIPS 2020;
// N. Reimers and I. Gurevych, Sentence-BERT, EMNLP 2019; for the token codes O. Khattab and
// M. Zaharia, ColBERT, SIGIR 2020.
package encoder
