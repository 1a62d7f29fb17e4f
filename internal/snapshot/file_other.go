//go:build !unix

package snapshot

import (
	"os"
	"time"
)

// File is the content of a file.
type File struct {
	data    []byte
	written time.Time
}

// Bytes returns the content, which must not be changed.
func (f *File) Bytes() []byte { return f.data }

// WrittenAt returns when the file was written.
func (f *File) WrittenAt() time.Time { return f.written }

// openFile reads a file.
func openFile(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the path
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the path
	}
	return &File{data: data, written: info.ModTime()}, nil
}
