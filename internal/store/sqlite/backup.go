package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Backup implements store.Backuper: VACUUM INTO a file beside the target, made durable, then linked
// to the target's name, which fails when the name is taken.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return exists(path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.Unavailable, "cannot write the backup %s", path)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".slipbox-backup-")
	if err != nil {
		return s.target(err, path)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	part := filepath.Join(dir, "backup.db")
	q, err := s.read.take(ctx)
	if err != nil {
		return s.translate(err)
	}
	// A read session may write nothing, not even another file.
	_, err = q.conn.ExecContext(ctx, "PRAGMA query_only = 0")
	if err == nil {
		_, err = q.conn.ExecContext(ctx, "VACUUM INTO ?", part)
	}
	_, back := q.conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA query_only = 1")
	err = errors.Join(err, back)
	s.read.give(q)
	if err != nil {
		return s.target(s.translate(err), path)
	}
	if err := syncFile(part); err != nil {
		return s.target(err, path)
	}
	if err := os.Chmod(part, 0o600); err != nil {
		return s.target(err, path)
	}
	if err := os.Link(part, path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return exists(path)
		}
		// Not every file system supports links.
		if err := os.Rename(part, path); err != nil {
			return s.target(err, path)
		}
	}
	return s.target(syncFile(filepath.Dir(path)), path)
}

func exists(path string) error {
	return fault.New(fault.Exists, "%s exists; a backup is never written over a file", path)
}

// target returns a fault that names the file that could not be written; the cause keeps the error.
func (s *Store) target(err error, path string) error {
	if err == nil {
		return nil
	}
	code := fault.CodeOf(s.translate(err))
	return fault.Wrap(err, code, "cannot write the backup %s", path)
}

// syncFile makes a file or directory durable.
func syncFile(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}
