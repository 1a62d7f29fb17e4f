package main

import (
	"context"
	"time"
)

// k is how many notes are asked for.
const k = 10

// teller says how far a run is.
type teller func(format string, args ...any)

// A finder answers a query with the numbers of the notes it holds nearest, best
// first.
type finder struct {
	setting string // that trades recall for time; "": there is none
	words   bool   // ranks by more than the vector: its recall is not counted
	ask     func(ctx context.Context, q *query) ([]int, error)
}

// built is a library, or a way to use it, that holds the notes.
type built struct {
	name    string
	finders []finder      // ways to ask it
	took    time.Duration // to build what it searches, from vectors in memory
	bytes   int64         // that it holds
	close   func()        // nil: the garbage collector sees to it
}

// A library takes the first n notes of a corpus. With graphs it builds the kind
// of index, too, that takes the time of a search for every note.
type library func(ctx context.Context, c *corpus, n int, graphs bool, tellf teller) ([]*built, error)
