// Package postgres is the servers' engine of the store: Postgres 15 or newer with pgvector 0.8 or
// newer, for many concurrent gateways and workers. It embeds store.Base and implements store.Session;
// its neighbor internal/store/sqlite does the same for the embedded engine.
//
// Every statement names the tenant, and every transaction sets it on the server, where row-level
// security limits a serving role to it. It is set for the transaction only, so that a pooler may
// share connections. A read of one statement is one round trip: the setting and the statement are
// sent in one batch, which is a transaction. A write collects the statements whose results it does
// not need, and sends them with the next statement whose result it needs.
//
// Writes to one collection are serialized by the row of its head: the first statement allots the
// revision and locks the row. Writes that wait in this process share a transaction, each behind a
// savepoint.
//
// A layer is contiguous: from the first version of a note or link that it holds, exactly one
// version (perhaps a tombstone) is live at every later bound. The statements rely on it, and Verify
// checks it.
//
// A standby may serve long reads of the past (readingPast), and tenants may be spread over machines (Distribute).
//
// The package imports the core and internal/store, and no other engine. Only internal/app opens it.
package postgres
