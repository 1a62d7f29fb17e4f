// Package recall reads a collection as callers want it read: search in three
// modes with linked notes, filters and explanations, single notes, lists, the
// graph around a note, the nearest neighbours that policies ask for, and the
// counting of what was recalled.
//
// It owns the registry of layer indexes: one index per (layer, embedder) in
// memory, filled from the log, shared by every fork that reads the layer, and
// compared with the view's revisions at every read, so that no answer is older
// than the view.
//
// It imports memory, tenant and leaves. It knows no HTTP and no database.
package recall
