// Package queue runs the jobs of an outbox in this process.
//
// It owns when a job runs and for how long: claiming, leases and heartbeats,
// bounds on what runs at once, deadlines, waking and polling, draining at a
// stop. What a job is, what it does, and how its end is recorded are said by
// the [Source] and the [Handler]; the package knows no store, no tenant and no
// memory, and imports leaves only.
//
// Jobs are grouped by collection. Jobs of the parallel stages run side by
// side; of the ordered stage one runs at a time per collection, which the
// source's Claim ensures across processes. A job that is claimed is either
// ended by its handler or settled with an error; killed in between, its lease
// runs out and it is claimed again.
package queue
