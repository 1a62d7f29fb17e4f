// Package encoder computes vectors of texts inside the process: all-MiniLM-L6-v2 (Apache-2.0, a
// six-layer BERT of 384 dimensions, mean pooling, unit length), without a server, a key or cgo. It
// owns reading the weights, the WordPiece tokenizer, the forward pass and its kernels. It does not
// know notes, searches or tenants, and downloads nothing: package encoder/weights installs the two
// files that Open reads. Package llm calls it as the local embedder.
//
// Arithmetic is float32 throughout. The kernels are chosen once, at start, by the features of the
// processor. Different kernels agree to 1e-5. On one kernel the result for a text has the same bits
// in every batch.
//
// Sources: J. Devlin et al., BERT, NAACL 2019; W. Wang et al., MiniLM, NeurIPS 2020; N. Reimers and
// I. Gurevych, Sentence-BERT, EMNLP 2019; for the token codes O. Khattab and M. Zaharia, ColBERT,
// SIGIR 2020.
package encoder
