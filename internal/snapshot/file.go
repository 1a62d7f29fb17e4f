package snapshot

import "time"

// File is the content of a file. It stays readable until nothing refers to the File, also when the file
// is replaced or removed meanwhile.
type File struct {
	data    []byte
	written time.Time
}

// Bytes returns the content, which must not be changed. A caller that keeps it keeps the File.
func (f *File) Bytes() []byte { return f.data }

// WrittenAt returns when the file was written.
func (f *File) WrittenAt() time.Time { return f.written }
