// Package redis is what the processes of an installation share through Redis: a guarded client,
// the rate limiter of all gateways, the bus of news, and the wake-ups of workers.
//
// Nothing here is needed for a correct answer. Limits fall back to those of this process, news are
// hints, and workers also find jobs by polling the store. When Redis is away, slow, full, emptied
// or has another password, that costs time or precision, never an answer: each call on a request's
// path is bounded by a timeout and guarded by one circuit breaker, and the caller continues
// without Redis.
//
// internal/cache keeps note versions through the client; internal/app opens it, and connects bus
// and wake-ups with the services. The package knows no store. Constructors start no goroutine.
package redis
