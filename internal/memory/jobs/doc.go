// Package jobs is what callers do with jobs: wait for the end of one, watch it change, and start
// upkeep over a whole collection (consolidation, a change of embedder).
//
// It is called by internal/api. internal/worker runs the jobs and internal/queue decides when;
// internal/app passes the jobs that commits change on to [Waiters.Notify]. It starts no goroutines.
package jobs
