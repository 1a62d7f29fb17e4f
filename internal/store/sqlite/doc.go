// Package sqlite is the embedded engine of the store: one file, one writer,
// many readers, nothing else installed.
//
// The file runs in WAL mode with synchronous=FULL, so a transaction that
// returned is on disk. Writes take BEGIN IMMEDIATE on a single connection; reads use
// a pool of connections and are bounded by the revisions of their view, so
// they need no transaction of their own. Several processes may use the file at
// once.
//
// A layer is contiguous: from the first version that it holds of a note or link
// on, exactly one version (perhaps a tombstone) is live at every later bound.
// The statements rely on it, Verify checks it.
//
// The package depends on the core and on no other engine.
package sqlite
