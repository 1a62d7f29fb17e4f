// Package notes implements the use-cases over notes, messages, collections,
// imports and costs: it checks what a caller sends, enforces quotas and
// permissions, and writes through the store contract of package memory.
//
// It is called by internal/api, internal/memory/chat and internal/memory/bank.
// It decides nothing about evolution (policies do, run by
// internal/memory/engine) and finds nothing by meaning
// (internal/memory/recall does). It starts no goroutines.
package notes
