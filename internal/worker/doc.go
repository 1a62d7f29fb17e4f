// Package worker does the jobs of the outbox: it binds the runner of
// internal/queue to the store's queue, the engine, clone and imports, keeps
// the schedules (expired and ephemeral collections), and lets callers wait for
// a job or watch it.
//
// It makes the scopes of jobs, through tenant/grant; nobody else makes scopes
// from stored rows. It decides nothing about memory: what a job does is the
// engine's and clone's, when it runs is the runner's.
package worker
