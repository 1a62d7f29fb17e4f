// Package encoder computes vectors of texts inside the process, without a server, a key or cgo, with one
// of two sentence encoders of 384 dimensions, mean pooling and unit length: all-MiniLM-L6-v2 (Apache-2.0,
// six layers of BERT, English, WordPiece) and multilingual-e5-small (MIT, twelve layers, about a hundred
// languages, pieces of a unigram model, weights of four bits). It owns reading the weights, the
// tokenizers, the forward pass and its kernels. It does not know notes, searches or tenants, and
// downloads nothing: package encoder/weights installs the files that Open reads. Package llm calls it as
// the local embedders. An orthogonal matrix can turn the output of the second model into the space of the first
// (E5AsMiniLM), so that texts in all languages compare.
//
// Linear layers multiply integers of 16 bits, to which rows of activations and of weights are rounded, each in a
// step of its own; their sums are exact. The rest is float32 (docs/decisions/0065). The kernels are chosen once, at
// start, by the features of the processor. Vectors agree with those of the reference implementation, and on
// different kernels with one another, to a cosine of 1 - 3e-6. On one kernel the result for a text has the same
// bits in every batch.
//
// Sources: J. Devlin et al., BERT, NAACL 2019; W. Wang et al., MiniLM, NeurIPS 2020; N. Reimers and
// I. Gurevych, Sentence-BERT, EMNLP 2019; T. Kudo, Subword Regularization, ACL 2018; L. Wang et al.,
// Multilingual E5 Text Embeddings, 2024; for the token codes O. Khattab and M. Zaharia, ColBERT, SIGIR 2020.
package encoder
