//go:build unix

package snapshot

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFile maps a file: its pages are read when they are used, and can be dropped by the system.
func openFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the path
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	if info.Size() == 0 {
		return &File{written: info.ModTime()}, nil
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	out := &File{data: data, written: info.ModTime()}
	runtime.AddCleanup(out, func(data []byte) { _ = syscall.Munmap(data) }, data)
	return out, nil
}

// Unload drops the pages of the file from the memory of the process. They are read again when they are
// used.
func (f *File) Unload() {
	if len(f.data) > 0 {
		_ = unix.Madvise(f.data, unix.MADV_DONTNEED) // else they stay
	}
}
