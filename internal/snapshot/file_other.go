//go:build !unix

package snapshot

import "os"

// File is the content of a file.
type File struct{ data []byte }

// Bytes returns the content, which must not be changed.
func (f *File) Bytes() []byte { return f.data }

// openFile reads a file.
func openFile(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the path
	}
	return &File{data: data}, nil
}
