// Package sqlite is the embedded engine of the store: one file, one writer, many readers, and
// nothing else to install. It embeds store.Base and implements store.Session; its neighbor
// internal/store/postgres does the same for servers.
//
// The file is in WAL mode with synchronous=FULL, so a transaction that has returned is on disk.
// Writes take BEGIN IMMEDIATE on a single connection. Reads use a pool of connections and are
// bounded by the revisions of their view, so they need no transaction of their own. Several
// processes may use the file concurrently.
//
// A layer is contiguous: from the first version of a note or link that it holds, exactly one
// version (perhaps a tombstone) is live at every later bound. The statements rely on it, and Verify
// checks it.
//
// The package imports the core and internal/store, and no other engine. Only internal/app opens it,
// and tests that need a store.
package sqlite
