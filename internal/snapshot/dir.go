package snapshot

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// ID is the id of a tenant or a collection.
type ID = [16]byte

// Name identifies a file.
type Name struct {
	Tenant     ID
	Collection ID
	Kind       string // letters, digits and dashes
}

const (
	suffix    = ".snapshot"
	temporary = ".writing-"
	dirMode   = 0o700
)

// Dir is a directory of files. It is safe for concurrent use.
type Dir struct {
	// RecentBytes is how much of small files stays in the memory of the process, see Use. Set it before the first use.
	RecentBytes int64

	path   string
	mu     sync.Mutex // held while a file gets its name, and while files are removed
	recent recent
}

// Open creates the directory if necessary, and removes what was left of files that were being written
// when a process ended.
func Open(path string) (*Dir, error) {
	d := &Dir{path: path, RecentBytes: recentBytes}
	if err := os.MkdirAll(path, dirMode); err != nil {
		return nil, fmt.Errorf("create the directory for snapshots: %w", err)
	}
	if err := os.Chmod(path, dirMode); err != nil {
		return nil, fmt.Errorf("protect the directory for snapshots: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(path, "*", "*"+temporary+"*"))
	if err != nil {
		return nil, fmt.Errorf("look for unfinished snapshots: %w", err)
	}
	for _, name := range left {
		if err := remove(name); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// At returns a directory as it is, perhaps one that another process uses; it need not exist.
func At(path string) *Dir { return &Dir{path: path} }

func (d *Dir) folder(tenant ID) string { return filepath.Join(d.path, hex.EncodeToString(tenant[:])) }

func (d *Dir) file(n Name) string {
	return filepath.Join(d.folder(n.Tenant), hex.EncodeToString(n.Collection[:])+"."+n.Kind+suffix)
}

// ErrUnwanted is returned by Write when keep refused the file.
var ErrUnwanted = errors.New("the snapshot is no longer wanted")

// Write replaces a file by what fill writes. The file gets its name when it is whole and keep, which is
// asked last, still returns true, else it is removed: Remove does not run at the same time. A crash leaves the older file, or
// one whose end is missing on the disk.
func (d *Dir) Write(n Name, keep func() bool, fill func(io.Writer) error) (err error) {
	if err := os.MkdirAll(d.folder(n.Tenant), dirMode); err != nil {
		return fmt.Errorf("create the folder for a snapshot: %w", err)
	}
	path := d.file(n)
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+temporary+"*") // with mode 0600
	if err != nil {
		return fmt.Errorf("create a snapshot: %w", err)
	}
	named := false
	defer func() {
		if !named {
			err = errors.Join(err, remove(f.Name()))
		}
	}()
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !keep() {
		return ErrUnwanted
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("name a snapshot: %w", err)
	}
	named = true
	return nil
}

// Read opens a file. A missing one is an error that is fs.ErrNotExist.
func (d *Dir) Read(n Name) (*File, error) { return openFile(d.file(n)) }

// Has reports whether there is a file of that name; it is not opened.
func (d *Dir) Has(n Name) bool {
	_, err := os.Stat(d.file(n))
	return err == nil
}

// Remove removes all files of a collection, also those that are being written.
func (d *Dir) Remove(tenant, collection ID) error {
	return d.removeAll(filepath.Join(d.folder(tenant), hex.EncodeToString(collection[:])+".*"))
}

// RemoveFile removes a file.
func (d *Dir) RemoveFile(n Name) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return remove(d.file(n))
}

// RemoveTenant removes all files of a tenant.
func (d *Dir) RemoveTenant(tenant ID) error {
	err := d.removeAll(filepath.Join(d.folder(tenant), "*"))
	// Fails when another process writes into it. Then it is not empty, or is made again.
	_ = os.Remove(d.folder(tenant))
	return err
}

func (d *Dir) removeAll(pattern string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	files, err := filepath.Glob(pattern)
	errs := []error{err}
	for _, path := range files {
		errs = append(errs, remove(path))
	}
	return errors.Join(errs...)
}

// Names returns the names of all files, also of those that are being written; of one tenant if only is not zero. A nil Dir has none.
func (d *Dir) Names(only ID) ([]Name, error) {
	if d == nil {
		return nil, nil
	}
	folder := "*"
	if only != (ID{}) {
		folder = hex.EncodeToString(only[:])
	}
	files, err := filepath.Glob(filepath.Join(d.path, folder, "*"))
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var out []Name
	known := map[Name]bool{}
	for _, path := range files {
		var n Name
		parts := strings.SplitN(filepath.Base(path), ".", 3) //nolint:mnd // collection, kind, suffix
		if !parseID(&n.Tenant, filepath.Base(filepath.Dir(path))) || len(parts) < 3 || !parseID(&n.Collection, parts[0]) {
			continue
		}
		if n.Kind = parts[1]; !known[n] {
			known[n] = true
			out = append(out, n)
		}
	}
	return out, nil
}

func parseID(into *ID, text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && copy(into[:], raw) == len(into) && len(raw) == len(into)
}

// remove removes a file that may be gone.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a snapshot: %w", err)
	}
	return nil
}
