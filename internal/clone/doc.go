// Package clone forks and copies collections. A fork is one row that reads its
// parent's log up to a revision. A copy is filled by a job in steps. The package also
// runs the jobs that remove the rows of deleted collections, and deletes expired
// collections. Diff, merge, rollback and blame read what the logs of two views do not share, and
// write one changeset.
//
// It imports memory, merge and tenant; the store reads and writes the rows. Package api
// calls Clone, package worker the methods that run jobs.
package clone
