// Package cache holds what Redis does for several gateways, and the cache of
// note versions: a guarded client, the decorator of [memory.Reader] that
// answers by version, the rate limiter of all gateways, and news.
//
// Nothing here is needed for a right answer. Versions never change and their
// key is their identity, so a cached one is never stale; limits fall back to
// those of this process; news are hints. Whatever Redis does (away, slow, full,
// emptied, another's password) costs time or sharpness, never an answer: each
// call is bounded and guarded by one breaker, and then passed by.
//
// The package knows no engine of a store. Its constructors start no goroutine.
package cache
