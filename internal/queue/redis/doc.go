// Package redis wakes the job runners of several processes, over Redis.
//
// A wake-up says that a collection has work in a stage. It is a task of asynq,
// one queue for each stage, which exactly one worker takes: it drains that
// lane with its [queue.Runner]. The jobs themselves are in the store, and its leases keep
// order and exclusiveness. So a wake-up may be lost, doubled or late without
// harm, the runner's own look at the outbox covers for it, and nothing here
// is retried or kept.
//
// The package knows no store and no memory. Redis may be away at any time, from the start on.
package redis
