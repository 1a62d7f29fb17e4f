// Package fair schedules scarce resources fairly across tenants.
//
// It owns the order in which waiting tenants are served: [Queue] is that order alone, for callers
// with their own locks; [Gate] is a semaphore that admits callers in it; [Rest] leaves a slot of a
// flooding tenant empty for a moment. What is shared, and how many may use it concurrently, is up to the
// caller: internal/api (requests), internal/queue (slots of jobs), internal/encoder and internal/llm
// (calls), internal/memory/recall (searches, loads of indexes), internal/store/sqlite (the writer,
// reads), internal/store/postgres (connections). The package knows tenants by their ids only, and but
// for Rest it starts no goroutine and reads no clock.
package fair
