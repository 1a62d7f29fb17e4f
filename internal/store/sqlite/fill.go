package sqlite

import (
	"crypto/rand"
	"os"
)

// fill writes bytes that no file system compresses.
func fill(f *os.File, size int64) error {
	block := make([]byte, 1<<20)
	for size > 0 {
		n := min(size, int64(len(block)))
		if _, err := rand.Read(block[:n]); err != nil {
			return err
		}
		if _, err := f.Write(block[:n]); err != nil {
			return err
		}
		size -= n
	}
	return nil
}
