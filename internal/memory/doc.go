// Package memory declares the data of slipbox: notes and links in versions, collections as
// append-only logs of them, views that read a log at a revision, and changesets, the only way to
// write one. It also declares what the core needs from outside: a store, a model, an embedder, a
// clock.
//
// The one idea: a collection is an append-only log of note versions, and a revision is a position in
// that log. The content of a version never changes; only its end is set when a later one replaces
// it. History, optimistic writes, time travel, forks and caches are comparisons of positions in that log.
//
// Everything else in the core imports it: internal/memory/notes holds the use-cases of callers,
// internal/memory/engine runs policies, internal/memory/recall reads, internal/memory/policy decides.
// internal/store implements its stores, internal/llm its models and embedders.
//
// The package starts no goroutines and imports no web framework, database, cache or telemetry SDK.
// Every store method takes a tenant.Scope and refuses the zero Scope.
package memory
