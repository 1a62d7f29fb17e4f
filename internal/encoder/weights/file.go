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

// file is one of the model's, as it was published.
type file struct {
	name   string
	bytes  int64
	sha256 string
}

// vocabularyBytes is the size of encoder.VocabFile.
const vocabularyBytes = 231508

// published are all files that the encoder opens.
var published = []file{
	{encoder.VocabFile, vocabularyBytes, encoder.VocabSHA256},
	{encoder.ModelFile, encoder.ModelBytes, encoder.ModelSHA256},
}

// DefaultDir is where the files are kept unless a setting says otherwise: in
// the user's cache directory. An error where the user has none, as in a bare
// container.
func DefaultDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no cache directory to keep the encoder's files in: %w", err)
	}
	return filepath.Join(cache, "slipbox", "encoder"), nil
}

// Verify reads the files in dir and compares them with what was published. The
// error is fs.ErrNotExist where one is absent, else encoder.ErrDamaged where one
// is something else.
func Verify(dir string) error { return verify(dir, published) }

// Present tells whether each file is there with its size, without reading it.
// The error is as that of Verify.
func Present(dir string) error {
	return each(dir, published, func(f file, path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Size() != f.bytes {
			return f.wrongSize(path, info.Size())
		}
		return nil
	})
}

func verify(dir string, files []file) error {
	return each(dir, files, func(f file, path string) error {
		r, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		return f.copy(io.Discard, r, path)
	})
}

// each looks at every file, and lets what is absent speak before what is damaged:
// an install that was never made is no damage.
func each(dir string, files []file, look func(f file, path string) error) error {
	var damaged error
	for _, f := range files {
		err := look(f, filepath.Join(dir, f.name))
		switch {
		case errors.Is(err, encoder.ErrDamaged):
			damaged = err
		case err != nil:
			return err
		}
	}
	return damaged
}

// copy writes what r holds to w if it is the published file: never more than
// its size, whatever r would give.
func (f file) copy(w io.Writer, r io.Reader, from string) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(r, f.bytes))
	if corrupt(err) {
		return fmt.Errorf("%w: %s: %w", encoder.ErrDamaged, from, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if n == f.bytes {
		more, err := io.CopyN(io.Discard, r, 1)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", from, err)
		}
		n += more
	}
	if n != f.bytes {
		return f.wrongSize(from, n)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.sha256 {
		return fmt.Errorf("%w: %s has the hash %s… instead of %s…", encoder.ErrDamaged, from, got[:12], f.sha256[:12])
	}
	return nil
}

// corrupt tells that packed data cannot be unpacked.
func corrupt(err error) bool {
	_, deflated := errors.AsType[flate.CorruptInputError](err)
	return deflated || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, zip.ErrChecksum)
}

func (f file) wrongSize(from string, n int64) error {
	if n > f.bytes {
		return fmt.Errorf("%w: %s has more than %d bytes", encoder.ErrDamaged, from, f.bytes)
	}
	return fmt.Errorf("%w: %s has %d of %d bytes", encoder.ErrDamaged, from, n, f.bytes)
}

// place puts a file into dir, whole or not at all: a reader sees the former one
// until then, also after the power has failed.
func (f file) place(dir, scratch string, r io.Reader, from string) (err error) {
	temp, err := os.CreateTemp(scratch, f.name+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if err := f.copy(temp, r, from); err != nil {
		return err
	}
	if err := temp.Chmod(0o644); err != nil { // who installs is often not who serves
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), filepath.Join(dir, f.name)); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes renames in a directory last. Systems that cannot, do it by
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
