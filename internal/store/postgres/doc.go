// Package postgres is the servers' engine of the store: Postgres 15 or newer
// with pgvector 0.8 or newer, for many gateways and workers at once.
//
// Every statement carries the tenant, and every transaction names it to the
// server, where row-level security holds a serving role to it. The name is set
// for the transaction alone, so a pooler between may hand connections around.
// A read of one statement is one round trip: the setting and the statement go
// in one batch, which is a transaction. A write gathers the statements whose
// results it does not need and sends them with the next one that it does.
//
// Writes of one collection are serialized by its head's row: the first
// statement allots the revision and takes the lock. Writes that wait in this
// process share a transaction, each behind a savepoint.
//
// A layer is contiguous: from the first version that it holds of a note or link
// on, exactly one version (perhaps a tombstone) is live at every later bound.
// The statements rely on it, Verify checks it.
//
// The package depends on the core and on no other engine.
package postgres
