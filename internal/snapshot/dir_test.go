package snapshot_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/test/must"
)

func open(t *testing.T, path string) *snapshot.Dir {
	t.Helper()
	d := must.Get(snapshot.Open(path))(t)
	return d
}

func always() bool { return true }

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// read returns the content of a file, "" when there is none.
func read(t *testing.T, d *snapshot.Dir, n snapshot.Name) string {
	t.Helper()
	f, err := d.Read(n)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must.Do(t, err)
	defer runtime.KeepAlive(f)
	return string(f.Bytes())
}

// files returns the paths below a directory.
func files(t *testing.T, path string) (out []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, path)
		}
		return err
	}))
	return out
}

var (
	one   = snapshot.Name{Tenant: snapshot.ID{1}, Collection: snapshot.ID{1, 1}, Kind: "a"}
	more  = snapshot.Name{Tenant: snapshot.ID{1}, Collection: snapshot.ID{1, 1}, Kind: "b"}
	other = snapshot.Name{Tenant: snapshot.ID{1}, Collection: snapshot.ID{1, 2}, Kind: "a"}
	far   = snapshot.Name{Tenant: snapshot.ID{2}, Collection: snapshot.ID{2, 1}, Kind: "a"}
)

// A file is replaced as a whole. What was read before stays readable. Nobody else may read the files.
func TestFilesAreReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index")
	d := open(t, path)
	if got := read(t, d, one); got != "" {
		t.Errorf("a file that was never written is %q", got)
	}
	must.Do(t, d.Write(one, always, text("first")))
	before := must.Get(d.Read(one))(t)
	must.Do(t, d.Write(one, always, text("second")))
	must.Do(t, d.Write(other, always, text("")))
	if a, b := string(before.Bytes()), read(t, d, one); a != "first" || b != "second" {
		t.Errorf("before %q, after %q", a, b)
	}
	if got := read(t, d, other); got != "" {
		t.Errorf("an empty file is %q", got)
	}
	must.Do(t, filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		must.Do(t, err)
		info := must.Get(e.Info())(t)
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	}))
}

// A writer that fails, or that is no longer wanted, leaves the older file and nothing else.
func TestUnfinishedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index")
	d := open(t, path)
	must.Do(t, d.Write(one, always, text("first")))
	full := errors.New("the disk is full")
	err := d.Write(one, always, func(w io.Writer) error { return errors.Join(text("sec")(w), full) })
	if !errors.Is(err, full) {
		t.Errorf("error is %v", err)
	}
	if err := d.Write(one, func() bool { return false }, text("second")); !errors.Is(err, snapshot.ErrUnwanted) {
		t.Errorf("error is %v", err)
	}
	if got := read(t, d, one); got != "first" || len(files(t, path)) != 1 {
		t.Errorf("the file is %q, there are %v", got, files(t, path))
	}
	// A process that was killed while it wrote leaves its part, until the directory is opened again.
	left := filepath.Join(filepath.Dir(files(t, path)[0]), strings.Repeat("01", 16)+".a.snapshot.writing-77")
	must.Do(t, os.WriteFile(left, []byte("sec"), 0o600))
	d = open(t, path)
	if got := read(t, d, one); got != "first" || len(files(t, path)) != 1 {
		t.Errorf("the file is %q, there are %v", got, files(t, path))
	}
}

// TestUnload: a file that was unloaded reads the same.
func TestUnload(t *testing.T) {
	t.Parallel()
	d := open(t, filepath.Join(t.TempDir(), "index"))
	for _, want := range []string{"", strings.Repeat("0123456789", 10_000)} {
		must.Do(t, d.Write(one, always, text(want)))
		f := must.Get(d.Read(one))(t)
		for range 2 {
			if string(f.Bytes()) != want {
				t.Errorf("%d bytes, want %d", len(f.Bytes()), len(want))
			}
			f.Unload()
		}
		runtime.KeepAlive(f)
	}
}

// All files of a collection, or of a tenant, are removed at once, also one that is being written.
func TestRemoval(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index")
	d := open(t, path)
	fill := func() {
		for _, n := range []snapshot.Name{one, more, other, far} {
			must.Do(t, d.Write(n, always, text("text")))
		}
	}
	fill()
	must.Do(t, d.Remove(more.Tenant, more.Collection))
	for n, want := range map[snapshot.Name]string{one: "", more: "", other: "text", far: "text"} {
		if got := read(t, d, n); got != want {
			t.Errorf("%v is %q, want %q", n, got, want)
		}
	}
	names := must.Get(d.Names(snapshot.ID{}))(t)
	if want := []snapshot.Name{other, far}; !slices.Equal(names, want) {
		t.Errorf("names are %v, want %v", names, want)
	}
	fill()
	must.Do(t, d.RemoveFile(more))
	must.Do(t, d.RemoveFile(more))
	names = must.Get(d.Names(one.Tenant))(t)
	if want := []snapshot.Name{one, other}; !slices.Equal(names, want) {
		t.Errorf("names of a tenant are %v, want %v", names, want)
	}
	must.Do(t, d.RemoveTenant(one.Tenant))
	if left := files(t, path); len(left) != 1 || read(t, d, far) != "text" {
		t.Errorf("left are %v", left)
	}
	must.Do(t, d.RemoveTenant(one.Tenant))
	// The part of a writer that is still at work is removed with the others, and its file gets no name.
	removed := false
	err := d.Write(far, func() bool { return !removed }, func(w io.Writer) error {
		must.Do(t, text("secret")(w))
		removed = true
		return d.Remove(far.Tenant, far.Collection)
	})
	if !errors.Is(err, snapshot.ErrUnwanted) {
		t.Errorf("error is %v", err)
	}
	if left := files(t, path); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}
