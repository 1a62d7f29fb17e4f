// Package notes implements the use-cases over notes, messages, collections, imports and costs. It
// validates input, checks permissions and quotas, and writes through the store contract of package
// memory.
//
// internal/api, internal/memory/chat, internal/memory/policy/memorybank/bank and the job handlers call it. It does
// not decide how memory evolves (policies do, run by internal/memory/engine) and does not search
// (internal/memory/recall does). It starts no goroutines.
package notes
