package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// SQLite overwrites a row where it is deleted, and not the copy in the gap of a page that it was moved from when a B-tree was
// balanced. VACUUM writes all pages again, without gaps. It holds the writer, so it runs when nothing else is written, and at
// the end.
//
// Whether an erasure waits for it is in the file, in the number that SQLite leaves to programs (user_version): each erasure raises
// it to the next even number, and a vacuum to the next odd one if it is still the number from before. So a process that is
// killed, or another one that erases meanwhile, leaves it even. Files of older builds have 0.

const (
	// vacuumAfter is how long nothing must be written before the file is vacuumed, and vacuumTurns after how many such times it is
	// vacuumed although something was.
	vacuumAfter = 10 * time.Second
	vacuumTurns = 60
	// vacuumShare bounds the part of the time that vacuums take, one of so many.
	vacuumShare = 100
	// vacuumRetry is how long after one that failed the next is tried.
	vacuumRetry = 10 * time.Minute
	// vacuumCopies is how many copies of the file a vacuum makes on the disk: a temporary one, and the WAL. vacuumSpare is what it
	// leaves free, in bytes.
	vacuumCopies = 2
	vacuumSpare  = 64 << 20
)

// vacuums is the state of vacuums.
type vacuums struct {
	below int64         // bytes; 0: never by itself
	after time.Duration // as vacuumAfter
	free  func(path string) int64

	owed atomic.Bool // this process vacuums what is erased, at its end at the latest

	done, failed atomic.Int64 // vacuums, see Measure

	// While the writer's session is held.
	copied uint32 // the number in the file at the last VACUUM whose result is not wholly in the file; 0: none
	rest   atomic.Int64
	said   string // the last reason that was logged

	mu     sync.Mutex
	turns  int   // in which something was written
	writes int64 // reserve.writes when the timer was set
}

var (
	errLarge = errors.New("the file is larger than the limit (SLIPBOX_VACUUM_BELOW)")
	errTight = errors.New("a vacuum needs more space than the disk has free")
	errMore  = errors.New("another process erased something meanwhile")
)

// markErased notes in the file that something was erased.
func (q *session) markErased(ctx context.Context) error {
	n, err := q.mark(ctx)
	if err != nil {
		return err
	}
	return q.setMark(ctx, n+2-n&1)
}

// mark returns the number that the file has; an odd one: there are no traces.
func (q *session) mark(ctx context.Context) (uint32, error) {
	var n int32
	err := q.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n)
	return uint32(n), err //nolint:gosec // the same bits
}

func (q *session) setMark(ctx context.Context, n uint32) error {
	_, err := q.conn.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(int(int32(n)))) //nolint:gosec // the same bits
	if err != nil && q.failed == nil {
		q.failed = err
	}
	return err
}

// NothingErased implements store.Session.
func (q *session) NothingErased() { q.erased = false }

// sizeUsed returns the size of the pages that hold something, in bytes.
func (q *session) sizeUsed(ctx context.Context) (int64, error) {
	var page, pages, free int64
	for name, n := range map[string]*int64{"page_size": &page, "page_count": &pages, "freelist_count": &free} {
		if err := q.conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(n); err != nil {
			return 0, err
		}
	}
	return page * (pages - free), nil
}

// Traces implements memory.Writer.
func (s *Store) Traces(ctx context.Context) (memory.Traces, error) {
	size, err := s.unvacuumed(ctx)
	switch {
	case err != nil:
		return "", err
	case size == 0:
		return memory.TracesCleared, nil
	case size < s.vacuums.below:
		return memory.TracesPending, nil
	default:
		return memory.TracesVacuumNeeded, nil
	}
}

// unvacuumed returns the size of what a vacuum writes, in bytes; 0: there are no traces.
func (s *Store) unvacuumed(ctx context.Context) (size int64, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		n, err := q.mark(ctx)
		if err == nil && n&1 == 0 {
			size, err = q.sizeUsed(ctx)
		}
		return err
	})
	return size, err
}

// openVacuums has a file vacuumed in which an earlier process left traces. fresh is true when this one has made the file.
func (s *Store) openVacuums(ctx context.Context, c Config, fresh bool) error {
	v := &s.vacuums
	v.below, v.after, v.free = c.VacuumBelow, vacuumAfter, freeBytes
	if c.NoMigrate {
		return nil
	}
	q, err := s.write.take(ctx)
	if err != nil {
		return s.translate(err)
	}
	defer s.write.give(q)
	n, err := q.mark(ctx)
	if err == nil && fresh && n == 0 {
		n++
		err = q.setMark(ctx, n)
	}
	v.owed.Store(v.below > 0)
	if err == nil && n&1 == 0 {
		s.vacuumLater()
	}
	return s.translate(err)
}

// vacuumLater has the file vacuumed when nothing was written for a while.
func (s *Store) vacuumLater() {
	v := &s.vacuums
	if v.below <= 0 {
		return
	}
	v.owed.Store(true)
	v.mu.Lock()
	v.writes = s.reserve.writes.Load()
	v.mu.Unlock()
	s.checkpoints.later(&s.checkpoints.vacuuming, max(v.after, time.Duration(v.rest.Load())), false, s.vacuumQuietly)
}

// isQuiet reports whether nothing was written since the timer was set, or so often that the vacuum waits no longer.
func (s *Store) isQuiet() bool {
	v := &s.vacuums
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.reserve.writes.Load() != v.writes && v.turns < vacuumTurns {
		v.turns++
		return false
	}
	v.turns = 0
	return true
}

// vacuumQuietly vacuums the file, or waits longer.
func (s *Store) vacuumQuietly() {
	if !s.isQuiet() {
		s.vacuumLater()
		return
	}
	q, leave, err := s.enterWriter(context.Background(), turn{uuid.Nil, fair.Foreground})
	if err != nil {
		return // the store is closed
	}
	defer leave()
	defer s.write.give(q)
	switch err := s.vacuumErased(context.Background(), q); {
	case err == nil || errors.Is(err, errLarge):
	case fault.Is(err, fault.StorageFull):
		s.checkpoints.later(&s.checkpoints.vacuuming, vacuumRetry, false, s.vacuumQuietly)
	default:
		s.vacuumLater()
	}
}

// vacuumErased vacuums the file with the writer's session if it has traces and is small enough, and logs what came of it.
func (s *Store) vacuumErased(ctx context.Context, q *session) error {
	v := &s.vacuums
	began := s.clock()
	before, after, err := s.vacuum(ctx, q, v.below, false)
	took := s.clock().Sub(began)
	v.rest.Store(int64(vacuumShare * took))
	said := ""
	if err != nil {
		said = err.Error()
	}
	if err != nil && !errors.Is(err, errLarge) {
		v.failed.Add(1)
	}
	switch {
	case err == nil && before > 0:
		v.done.Add(1)
		s.log.InfoContext(ctx, "the file was vacuumed: nothing that was erased is left in gaps of its pages", "before_bytes", before, "bytes", after, "took", took)
	case said != v.said && err != nil:
		s.log.WarnContext(ctx, "gaps of the file's pages may keep pieces of what was erased until it is vacuumed", "error", err, "fix", "run `gateway vacuum`")
	}
	v.said = said
	return err
}

// Vacuum writes the whole file again, without gaps, of any size, and returns its size before and after. Writes wait, those of other
// processes until their BusyTimeout. StorageFull when the disk has no room for it, Unavailable while others read an older state.
func (s *Store) Vacuum(ctx context.Context) (before, after int64, err error) {
	q, leave, err := s.enterWriter(ctx, turn{uuid.Nil, fair.Foreground})
	if err != nil {
		return 0, 0, err
	}
	defer leave()
	defer s.write.give(q)
	return s.vacuum(ctx, q, math.MaxInt64, true)
}

// vacuum vacuums a file that has less than so many bytes, and also with force one without traces. It returns its size before and
// after; 0: it was not.
func (s *Store) vacuum(ctx context.Context, q *session, below int64, force bool) (before, after int64, err error) {
	mark, err := q.mark(ctx)
	if err != nil || mark&1 == 1 && !force {
		return 0, 0, s.translate(err)
	}
	if before, err = s.Size(ctx); err != nil {
		return 0, 0, err
	}
	if mark != s.vacuums.copied || force {
		if err := s.copyPages(ctx, q, below); err != nil {
			return 0, 0, err
		}
		s.vacuums.copied = mark
	}
	bare, wait := context.WithoutCancel(ctx), int64(walWait)
	if force {
		wait = s.busy.Milliseconds() / 2 // so that writes of other processes outlast it
	}
	busy, err := q.moveWALWithin(bare, "TRUNCATE", wait, s.busy.Milliseconds())
	if err == nil && busy {
		err = fault.Wrap(errReaders, fault.Unavailable, "the file was vacuumed, but others read an older state of it; run it again")
	}
	if err != nil {
		return 0, 0, s.translate(err)
	}
	err = s.transaction(bare, q, func(ctx context.Context, q *session) error {
		now, err := q.mark(ctx)
		if err != nil || now != mark {
			return errors.Join(err, fault.Wrap(errMore, fault.Unavailable, "something was erased meanwhile; run it again"))
		}
		return q.setMark(ctx, mark|1)
	})
	s.vacuums.copied = 0
	if err == nil {
		after, err = s.Size(ctx)
	}
	return before, after, err
}

// copyPages runs VACUUM if the file has less than so many bytes, and the disk has room for it.
func (s *Store) copyPages(ctx context.Context, q *session, below int64) error {
	size, err := q.sizeUsed(ctx)
	if err != nil {
		return s.translate(err)
	}
	if size >= below {
		return errLarge
	}
	if need := vacuumCopies*size + vacuumSpare; s.reserve.low.Load() || s.vacuums.free(s.path) < need {
		return fault.Wrap(errTight, fault.StorageFull, "a vacuum needs %d MiB free on the disk of the data directory; make room and run it again", need>>20)
	}
	if err = q.vacuum(ctx, s.path); err != nil {
		s.truncateWAL(context.WithoutCancel(ctx), q) // it has what the vacuum wrote
	}
	return s.translate(err)
}

// temporary is held while SQLite writes temporary files: it has one setting of their directory for all connections.
var temporary sync.Mutex //nolint:gochecknoglobals // as that of SQLite

// vacuum runs VACUUM, with its temporary copy beside the file and not in memory.
func (q *session) vacuum(ctx context.Context, path string) error {
	temporary.Lock()
	defer temporary.Unlock()
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return err
	}
	quoted := "'" + strings.ReplaceAll(dir, "'", "''") + "'"
	for _, text := range []string{"PRAGMA temp_store_directory = " + quoted, "PRAGMA temp_store = FILE", "VACUUM"} {
		if _, e := q.conn.ExecContext(ctx, text); e != nil {
			err = fmt.Errorf("%.6s: %w", text, e)
			break
		}
	}
	_, e := q.conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA temp_store = MEMORY")
	return errors.Join(err, e)
}
