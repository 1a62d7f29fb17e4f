// Package mem0 is Mem0 and Mem0g (Chhikara et al., "Mem0: Building Production-Ready AI
// Agents with Scalable Long-Term Memory", arXiv:2504.19413). Mem0 extracts short facts
// from each exchange of a conversation, compares each with the memories most similar to
// it, and adds, merges, replaces or ignores it; it also keeps a summary of all facts.
// Mem0g is Mem0 with a graph of entities and relations. It is the same policy with one
// setting changed, so both are in this package.
//
// The package owns what they decide, their tasks, settings, prompts and schemas, the
// payloads of their calls and the form of their outcomes. In the files:
//
//   - mem0.go dispatches events; config.go has the settings.
//   - extract.go gets facts from an exchange, decide.go decides about each, ledger.go
//     collects the changes, evidence.go and terms.go refuse what nobody said.
//   - summary.go, procedure.go, expire.go and refresh.go are the tasks.
//   - graph*.go is the graph of Mem0g: graph_read.go extracts statements, graph_find.go
//     finds what exists, graph_edges.go changes edges, graph_write.go writes the result.
//
// The package depends on memory, on memory/graph, which defines how a graph is stored,
// on package policy above it, which holds what all policies share, and on leaves; it
// imports no other policy. The engine calls it through [memory.Policy], and
// [memory.Refresher] when a caller deletes or changes a note. Package policies lists it,
// internal/analyst answers its calls when there is no model, recall reads what it writes.
package mem0
