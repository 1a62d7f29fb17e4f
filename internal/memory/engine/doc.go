// Package engine runs policies: it reads what a policy may see, calls it, and
// applies what it decides in one transaction, if nothing that was read has
// moved meanwhile.
//
// It owns the handling of note, adopt and consolidate jobs, read sets and the
// conflict rule, the budget of model calls, the re-embedding of changed notes,
// reviews, and the undoing of evolutions. It starts no goroutines, leases no
// jobs (the runner does) and makes no scopes.
//
// Every effect of a job is committed by the transaction that ends the job or
// moves it to its next stage, under its lease: killed at any instant and run
// again, a job has its effect once.
//
// It imports memory, tenant and leaves; what it needs of an index it declares
// as small roles.
package engine
