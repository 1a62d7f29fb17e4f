// Package worker does the jobs of the outbox. It binds the runner of internal/queue to the store's
// queue, the engine, clone and imports, and keeps the schedules: expired and ephemeral collections,
// and stale parts of imports.
//
// It makes the scopes of jobs, through internal/tenant/grant; no other package makes scopes from
// stored rows. It decides nothing about memory: internal/memory/engine, internal/clone and
// internal/memory/notes say what a job does, internal/queue when it runs. internal/app calls it.
package worker
