//go:build !unix

package snapshot

import "os"

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

// Unload does nothing: the file is not mapped.
func (*File) Unload() {}
