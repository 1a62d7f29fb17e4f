//go:build !linux

package sqlite

import "os"

// allocate gives a file a size, with its blocks.
func allocate(f *os.File, size int64) error { return fill(f, size) }
