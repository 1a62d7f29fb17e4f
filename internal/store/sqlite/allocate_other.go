//go:build !linux

package sqlite

import (
	"math"
	"os"
)

// allocate sets the size of a file and allocates its blocks.
func allocate(f *os.File, size int64) error { return fill(f, size) }

// diskBytes returns the size of the file system that has a file; 0: unknown.
func diskBytes(string) int64 { return 0 }

// freeBytes returns what a process may still write to the file system that has a file; the most: unknown.
func freeBytes(string) int64 { return math.MaxInt64 }
