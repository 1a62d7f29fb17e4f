package sqlite

import (
	"errors"
	"math"
	"os"
	"syscall"
)

// allocate sets the size of a file and allocates its blocks.
func allocate(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return fill(f, size)
	}
	return err
}

// diskBytes returns the size of the file system that has a file; 0: unknown.
func diskBytes(path string) int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0
	}
	return int64(min(st.Blocks, math.MaxInt64/uint64(st.Bsize))) * st.Bsize //nolint:gosec // bounded; a block has a positive size
}

// freeBytes returns what a process may still write to the file system that has a file; the most: unknown.
func freeBytes(path string) int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return math.MaxInt64
	}
	return int64(min(st.Bavail, math.MaxInt64/uint64(st.Bsize))) * st.Bsize //nolint:gosec // as above
}
