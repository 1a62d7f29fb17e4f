// Package cache caches note versions: a decorator of [memory.Reader] with a level in this process
// and a level in Redis that all processes share. internal/app puts it between the store and
// internal/memory/recall.
//
// A version never changes and its identity is its key, so a cached version is never stale, and a
// lost one is read from the store again. The same holds for the links that a view shows. The package
// knows no engine of a store, and reaches Redis only through the guarded client of internal/redis: any
// trouble of Redis costs time, never an answer. Constructors start no goroutine.
package cache
