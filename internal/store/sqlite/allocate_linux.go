package sqlite

import (
	"errors"
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
