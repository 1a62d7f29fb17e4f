package main

import (
	"context"
	"time"
)

// k is the number of notes that a query asks for.
const k = 10

// logger logs the progress of a run.
type logger func(format string, args ...any)

// A finder answers a query with the numbers of the nearest notes, best first.
type finder struct {
	setting string // trades recall for time; "" without one
	words   bool   // ranks by more than the vector; its recall is not measured
	ask     func(ctx context.Context, q *query) ([]int, error)
}

// built is a library with the notes loaded.
type built struct {
	name    string
	finders []finder      // ways to query it
	took    time.Duration // to build the index from vectors in memory
	bytes   int64         // of its memory
	close   func()        // nil when the garbage collector is enough
}

// A library loads the first n notes of a corpus. With graphs it also builds a graph index, which
// costs a search per note.
type library func(ctx context.Context, c *corpus, n int, graphs bool, logf logger) ([]*built, error)
