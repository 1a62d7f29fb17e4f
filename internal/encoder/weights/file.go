package weights

import (
	"archive/zip"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipboxhq/slipbox/internal/encoder"
)

// file is one of a model's files.
type file struct{ encoder.File }

func filesOf(m *encoder.Model) []file {
	out := make([]file, len(m.Files))
	for i, f := range m.Files {
		out[i] = file{f}
	}
	return out
}

// DefaultDir returns where the files are kept without a setting: in the user's cache directory. It
// fails when the user has none, as in a bare container.
func DefaultDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no cache directory to keep the encoder's files in: %w", err)
	}
	return filepath.Join(cache, "slipbox", "encoder"), nil
}

// Verify reads the files of a model in dir and compares them with the published ones. The error is
// fs.ErrNotExist when one does not exist, else encoder.ErrDamaged when one differs.
func Verify(m *encoder.Model, dir string) error { return verify(dir, filesOf(m)) }

// Present checks that each file of a model exists and has its size, without reading it. Its errors
// are those of Verify.
func Present(m *encoder.Model, dir string) error {
	return checkEach(dir, filesOf(m), func(f file, path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Size() != f.Bytes {
			return f.wrongSize(path, info.Size())
		}
		return nil
	})
}

func verify(dir string, files []file) error {
	return checkEach(dir, files, func(f file, path string) error {
		r, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		return f.copyVerified(io.Discard, r, path)
	})
}

// checkEach checks all files. An absent file is reported before a damaged one: a missing
// installation is not damage.
func checkEach(dir string, files []file, look func(f file, path string) error) error {
	var damaged error
	for _, f := range files {
		err := look(f, filepath.Join(dir, f.Name))
		switch {
		case errors.Is(err, encoder.ErrDamaged):
			damaged = err
		case err != nil:
			return err
		}
	}
	return damaged
}

// copyVerified copies r to w and fails unless it is the published file. It never writes more than
// the size of the file.
func (f file) copyVerified(w io.Writer, r io.Reader, from string) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(r, f.Bytes))
	if isCorrupt(err) {
		return fmt.Errorf("%w: %s: %w", encoder.ErrDamaged, from, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if n == f.Bytes {
		more, err := io.CopyN(io.Discard, r, 1)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", from, err)
		}
		n += more
	}
	if n != f.Bytes {
		return f.wrongSize(from, n)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%w: %s has the hash %s… instead of %s…", encoder.ErrDamaged, from, got[:12], f.SHA256[:12])
	}
	return nil
}

// isCorrupt reports whether packed data cannot be unpacked.
func isCorrupt(err error) bool {
	_, deflated := errors.AsType[flate.CorruptInputError](err)
	return deflated || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, zip.ErrChecksum)
}

func (f file) wrongSize(from string, n int64) error {
	if n > f.Bytes {
		return fmt.Errorf("%w: %s has more than %d bytes", encoder.ErrDamaged, from, f.Bytes)
	}
	return fmt.Errorf("%w: %s has %d of %d bytes", encoder.ErrDamaged, from, n, f.Bytes)
}

// install writes a file to dir as a whole or not at all: until then readers see the previous one,
// even after a power failure.
func (f file) install(dir, scratch string, r io.Reader, from string) (err error) {
	temp, err := os.CreateTemp(scratch, f.Name+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if err := f.copyVerified(temp, r, from); err != nil {
		return err
	}
	if err := temp.Chmod(0o644); err != nil { // another user often runs the server
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), filepath.Join(dir, f.Name)); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes renames in a directory durable. Systems that do not support this do it by
// themselves.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
