// Package queue runs the jobs of the outbox in this process.
//
// It owns when a job runs and for how long: claims, leases and heartbeats, how many jobs run at
// once, deadlines, waking and polling, and draining at a stop. What a job does and how its end is
// recorded is up to the [Handler]; where jobs are stored is up to the [Source]. The package
// imports the types of internal/memory and knows no store. internal/worker implements both
// contracts and is the only caller; internal/redis carries wake-ups to the runners of other processes.
//
// Jobs are grouped by collection. Jobs of the parallel stages run side by side. Of the decide
// stage one job runs at a time per collection, which Claim ensures across processes. A claimed
// job is either ended by its handler or settled with an error. After a crash its lease expires
// and it is claimed again.
package queue
