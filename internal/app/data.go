package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Names inside the data directory.
const (
	databaseFile = "slipbox.db"
	lockFile     = "LOCK"
	secretFile   = "secret.key" // wraps signing keys
)

func errNotDirectory(path string) error {
	return fault.New(fault.Unavailable, "the data path %s is not a directory; name another with --data or SLIPBOX_DATA", path)
}

// makeDataDir creates the directory, readable by its owner only.
func makeDataDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return errNotDirectory(dir)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		if errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "not a directory") {
			return fault.Wrap(err, fault.Unavailable, "the data directory %s cannot be reached; name another with --data or SLIPBOX_DATA", dir)
		}
		return fmt.Errorf("look at the data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(err, fault.Unavailable, "the data directory %s cannot be created; check the path and its owner, or name another with --data or SLIPBOX_DATA", dir)
	}
	return nil
}

// missingDirs returns the directories that making one would make, the deepest first.
func missingDirs(dir string) (out []string) {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return out
		}
		out = append(out, dir)
		dir = filepath.Dir(dir)
	}
}

// takeData makes a data directory, if it is missing, and locks it. undo unlocks it, too, and removes what was made, unless there is more in
// it by now.
func takeData(dir string) (release, undo func(), err error) {
	made := missingDirs(dir)
	remove := func() {
		for _, d := range made {
			_ = os.Remove(d)
		}
	}
	if err := makeDataDir(dir); err != nil {
		remove()
		return nil, nil, err
	}
	lock := filepath.Join(dir, lockFile)
	_, before := os.Stat(lock)
	if release, err = lockData(dir); err != nil {
		remove()
		return nil, nil, err
	}
	return release, func() {
		if before != nil {
			_ = os.Remove(lock) // while it is held, so that it is nobody else's
		}
		release()
		remove()
	}, nil
}

// lockData locks the data directory for this process until release is called. The kernel releases
// the lock when the process ends, also when it is killed.
func lockData(dir string) (release func(), err error) {
	path := filepath.Join(dir, lockFile)
	lock := flock.New(path, flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "the data directory %s cannot be locked; check its owner and mode", dir)
	}
	if !held {
		by := ""
		if raw, err := os.ReadFile(path); err == nil && len(raw) > 0 {
			by = " by process " + strings.TrimSpace(string(raw))
		}
		return nil, fault.New(fault.Conflict, "the data directory %s is in use%s; stop that gateway, or name another directory with --data or SLIPBOX_DATA", dir, by)
	}
	// The content is only a hint for the message above.
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fault.Wrap(err, fault.Unavailable, "the data directory %s cannot be written", dir), lock.Close())
	}
	return func() { _ = lock.Close() }, nil
}

// wrappingSecret returns the secret that wraps signing keys: the setting, or for the embedded
// store a file that is created once in the data directory.
func wrappingSecret(cfg Settings) ([]byte, error) {
	if cfg.Auth.WrappingKey != "" {
		return []byte(cfg.Auth.WrappingKey), nil
	}
	secret, err := auth.SecretFile(filepath.Join(cfg.Data, secretFile))
	if err != nil {
		return nil, fmt.Errorf("secret of the data directory: %w", err)
	}
	return secret, nil
}

// Backup copies the live database. It leaves out the secret that wraps the signing keys on
// purpose: a restored store creates new ones. So tokens, which live for minutes, become invalid,
// while API keys stay valid.
func Backup(ctx context.Context, cfg Settings, log *slog.Logger, file string) error {
	if cfg.Servers() {
		return fault.New(fault.Conflict, "the store is Postgres: back it up with pg_dump as its owner, or with the server's own backups; `gateway backup` copies the embedded store that --data names")
	}
	st, err := openToolEmbedded(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	if err := st.Backup(ctx, file); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}

// Vacuum writes the database's file again, and returns its size before and after.
func Vacuum(ctx context.Context, cfg Settings, log *slog.Logger) (before, after int64, err error) {
	if cfg.Servers() {
		return 0, 0, fault.New(fault.Conflict, "the store is Postgres, which vacuums by itself (autovacuum); `gateway vacuum` is for the embedded store that --data names")
	}
	st, err := openToolEmbedded(ctx, cfg, log)
	if err != nil {
		return 0, 0, err
	}
	before, after, err = st.Vacuum(ctx)
	return before, after, errors.Join(err, st.Close())
}

// Restore copies a backup into an empty data directory and verifies it.
func Restore(ctx context.Context, cfg Settings, log *slog.Logger, file string) error {
	if cfg.Servers() {
		return fault.New(fault.Conflict, "the store is Postgres: restore a dump of it with pg_restore as its owner; `gateway restore` makes an embedded store where --data names a directory")
	}
	if _, err := os.Stat(file); err != nil {
		return fault.Wrap(err, fault.NotFound, "the backup %s cannot be read", file)
	}
	var problems []store.Problem
	err := fillData(cfg.Data, func(part string) error {
		if err := copyFile(part, file); err != nil {
			return fmt.Errorf("copy the backup: %w", err)
		}
		st, err := sqlite.Open(ctx, sqlite.Config{Path: part}, sqlite.Deps{Logger: log})
		if err != nil {
			code := fault.CodeOf(err)
			if f, ok := errors.AsType[*fault.Error](err); ok && f.Err != nil {
				err = f.Err // its advice is for a store that is in use
			}
			return fault.Wrap(err, code, "%s is not a usable backup; name a file that `gateway backup` wrote", file)
		}
		problems, err = st.Verify(ctx)
		return errors.Join(err, st.Close())
	})
	if err == nil && len(problems) > 0 {
		return fault.New(fault.Internal, "the restored store has %s; see `gateway check`", wording.Count(len(problems), "problem", "problems"))
	}
	return err
}

// partFile is the name of a database that a restore or an import is filling. What a killed one left is replaced.
const partFile = databaseFile + ".part"

// fillData makes the database of a new or empty data directory. fn fills it under another name; without an error it is put in place.
// With one, the directory is as it was before.
func fillData(dir string, fn func(part string) error) (err error) {
	release, undo, err := takeData(dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			undo()
		} else {
			release()
		}
	}()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look into the data directory: %w", err)
	}
	for _, e := range entries {
		if e.Name() != lockFile && !strings.HasPrefix(e.Name(), partFile) {
			return fault.New(fault.Conflict, "the data directory %s is not empty (it holds %s); name an empty or new one with --data or SLIPBOX_DATA", dir, e.Name())
		}
	}
	part := filepath.Join(dir, partFile)
	if err := removeDatabase(part); err != nil {
		return err
	}
	if err = fn(part); err == nil {
		if err = os.Rename(part, filepath.Join(dir, databaseFile)); err == nil {
			err = syncDir(dir)
		}
	}
	return errors.Join(err, removeDatabase(part))
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}
