// Package engine runs policies: it gives a policy an event and a desk to read
// from, and applies the decision in one transaction if nothing in the
// decision's read set has changed.
//
// It owns the handling of note, exchange, policy, adopt, consolidate and reembed
// jobs, read sets and the conflict rule, the budget of model calls, the
// re-embedding of changed notes, reviews, and the undo of evolutions. It starts
// no goroutines, leases no jobs (internal/queue does) and makes no scopes.
//
// Every effect of a job is committed by the transaction that ends the job or
// moves it to its next stage, under its lease: killed at any instant and run
// again, a job has its effect once.
//
// internal/worker calls it for jobs, internal/api for tasks, reviews and undo.
// It imports memory, tenant and leaves, and declares what it needs of an index
// as small roles, which internal/memory/recall implements.
package engine
