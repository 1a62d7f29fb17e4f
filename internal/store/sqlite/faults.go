package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// translate converts errors of the driver to faults. Faults are returned as they are.
func (s *Store) translate(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "the store did not answer in time")
	case errors.Is(err, context.Canceled):
		return fault.Wrap(err, fault.Unavailable, "the request was canceled")
	case isFull(err):
		return s.full(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return s.readOnly(err)
	}
	var e *driver.Error
	if !errors.As(err, &e) {
		return fault.Wrap(err, fault.Internal, "the store failed")
	}
	return s.translateCode(err, e.Code())
}

// translateCode converts an error with a result code of SQLite.
func (s *Store) translateCode(err error, code int) error {
	const ioerrShort = lib.SQLITE_IOERR | 2<<8
	switch code & 0xff {
	case lib.SQLITE_FULL:
		return s.full(err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return &fault.Error{
			Code: fault.Unavailable, Message: "the database is busy with another process's write",
			RetryAfter: time.Second, Err: err,
		}
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN:
		return s.readOnly(err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return s.damaged(err)
	case lib.SQLITE_IOERR:
		if code == ioerrShort {
			return s.damaged(err)
		}
		if isFull(probe(s.path + probeSuffix)) { // a quota, or the shared memory of the WAL
			return s.full(err)
		}
		return fault.Wrap(s.atPath(err), fault.Unavailable, "reading or writing the database file failed; its disk must be checked")
	case lib.SQLITE_INTERRUPT:
		return fault.Wrap(err, fault.Timeout, "the store was interrupted")
	case lib.SQLITE_NOMEM:
		return fault.Wrap(err, fault.Unavailable, "the store is out of memory")
	case lib.SQLITE_TOOBIG:
		return fault.Wrap(err, fault.TooLarge, "a value is too large for the store")
	}
	return fault.Wrap(err, fault.Internal, "the store failed")
}

// atPath adds the path of the file to the cause of a fault. Operators read causes in the log and at
// the terminal; the sentence of a fault is for every caller.
func (s *Store) atPath(err error) error { return fmt.Errorf("%s: %w", s.path, err) }

func (s *Store) full(err error) error {
	return fault.Wrap(s.atPath(err), fault.StorageFull, "no space left for the database file; nothing was written")
}

func (s *Store) readOnly(err error) error {
	return fault.Wrap(s.atPath(err), fault.Unavailable, "the database file cannot be written; its directory, owner and mode must be checked")
}

func (s *Store) damaged(err error) error {
	return fault.Wrap(s.atPath(err), fault.Internal, "the database file is damaged; it must be replaced: put it aside and run \"gateway restore\" with a backup")
}
