// Package recall answers reads of a collection: search in three modes with linked notes, filters and
// explanations, contexts for prompts, single notes, lists, the graph around a note, facts, and the
// nearest neighbors that policies ask for. It counts what was recalled.
//
// It is the last of three packages that answer a search. Package index measures how notes and a
// query match, package search weighs the measures into one ranking, and package recall asks the
// store, calls both, and answers with notes. internal/memory/recall/contexts writes the text of a
// context from the notes that a search found.
//
// It owns the registry of layer indexes: one index in memory per layer and embedder, filled from the
// log and shared by every fork that reads the layer. Each read compares the indexes with the view's
// revisions, so no answer is older than the view.
//
// internal/api and internal/memory/chat call it to read; internal/memory/engine to find neighbors,
// through a role that it declares; internal/app builds it, and tells it of writes by other processes
// and of deleted collections. It imports memory, tenant and leaves; it knows no HTTP and no database.
package recall
