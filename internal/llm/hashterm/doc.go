// Package hashterm is the analyser that the vectors of the hashed embedder are
// defined by. It is a copy of an early one and frozen: a vector that is stored
// under an embedder's name is compared with those made years later, so neither
// a better stemmer nor one more stop word may come in here. What is to be
// searched by words goes through package text, which goes on improving.
package hashterm
