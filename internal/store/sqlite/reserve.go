package sqlite

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// A full disk must not keep anyone from deleting: that is how space comes back, and erasure is a duty. So a
// file beside the database, the reserve, occupies space that ordinary writes cannot take. A deletion that
// meets a full disk removes it, and the store is low on space until there is room to make it again. While it
// is low, the space of the reserve belongs to the WAL of deletions and of other short writes: ordinary writes
// may use pages that deletions freed, but the database file does not grow for them, and the WAL is moved into
// the file after each transaction.

const (
	reserveSuffix = "-reserve"
	probeSuffix   = "-probe"

	// reserveShare is the part of the disk that the reserve takes at most, one of so many: on a small one
	// there must be room for memories too.
	reserveShare = 4
	// lowRow is how much of the reserve a row may need that a step of a removal deletes, in bytes: its text
	// has up to 64 KiB, and the WAL of the step has it overwritten.
	lowRow = 128 << 10
	// lowRows bounds the rows of such a step with a reserve of any size.
	lowRows = 64
	// reserveRetry is the minimum time between two tries to make the reserve again.
	reserveRetry = time.Second
	// maxPages is SQLite's own limit of a file, in pages.
	maxPages = 4294967294
	// walLimit is the size of the WAL, in bytes, above which it is moved into the file and truncated, while
	// all writes wait. Checkpoints keep it shorter, unless readers hold it for long.
	walLimit = 32 << 20
	// walWait is how long a truncation waits for readers, in milliseconds. They need some milliseconds.
	walWait = 250
	// probeBytes is what CheckWrites writes: as much as the text of a large note.
	probeBytes = 64 << 10
	// writesEvery is the minimum time between two probes of CheckWrites.
	writesEvery = 5 * time.Second
	// fullFor is how long CheckWrites remembers that a write met a full disk.
	fullFor = time.Minute
)

// errNoRoom is the reason while the reserve cannot be made.
var errNoRoom = errors.New("less space is free than the reserve needs")

// reserve is the state of the reserve and of what CheckWrites knows.
type reserve struct {
	path string
	size int64 // 0: there is no reserve
	// rows bounds the rows that one step of a removal deletes while the store is low, so that the step's WAL
	// fits into the reserve.
	rows int

	// What tests on a file system with room replace: how the reserve is made and removed, and how many pages
	// the file has at most. They change only while the writer's session is held.
	make, remove func() error
	pages        int64

	low    atomic.Bool
	writes atomic.Int64 // transactions that succeeded
	fullAt atomic.Int64 // when a write last met a full disk, in ms; 0: never
	big    atomic.Int64 // size of the WAL from which on the next truncation is tried

	mu     sync.Mutex
	tried  time.Time // when the reserve was last tried to be made
	probed time.Time
	answer error // of the last probe
}

// isFull reports whether an error says that no space is left, or that a quota is reached.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// openReserve makes the reserve. On a full disk the store is low from the start.
func (s *Store) openReserve(ctx context.Context, c Config) error {
	r := &s.reserve
	r.path, r.size = s.path+reserveSuffix, reserveSize(c.Reserve, diskBytes(s.path))
	r.rows = int(min(lowRows, max(1, r.size/lowRow)))
	if r.size > 0 && r.size < c.Reserve {
		// On a small disk the WAL must fit into the reserve, because moving it makes the file grow.
		s.walLimit = min(s.walLimit, r.size/2)
	}
	r.make, r.remove, r.pages = func() error { return makeReserve(r.path, r.size) }, func() error { return os.Remove(r.path) }, maxPages
	if r.size == 0 {
		if !c.NoMigrate {
			_ = os.Remove(r.path) // of a process with another setting; mostly there is none
		}
		return nil
	}
	err := r.make()
	if isFull(err) {
		s.log.WarnContext(ctx, "the disk is nearly full: only what needs no new space can be written; make room, or delete")
		r.low.Store(true)
		return nil
	}
	return s.translate(err)
}

// reserveSize returns the size of the reserve on a disk of a size; 0: unknown.
func reserveSize(want, disk int64) int64 {
	if disk > 0 {
		want = min(want, disk/reserveShare)
	}
	return max(0, want)
}

// makeReserve makes a file whose space is allocated.
func makeReserve(path string, size int64) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	info, err := f.Stat()
	if err != nil || info.Size() == size {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if err := allocate(f, size); err != nil {
		return err
	}
	return f.Sync()
}

// release removes the reserve, with the writer's session. It reports whether there was one to remove.
func (s *Store) release(ctx context.Context, q *session) bool {
	r := &s.reserve
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size == 0 || r.low.Load() {
		return false
	}
	if err := r.remove(); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.ErrorContext(ctx, "the reserve cannot be removed to make room for a deletion", "error", err)
		return false
	}
	r.low.Store(true)
	r.tried = s.clock()
	s.log.WarnContext(ctx, "the disk is full: the reserve is released for deletions, and nothing else may grow; make room, or delete")
	s.truncateWAL(ctx, q)
	return true
}

// regain makes the reserve again if there is room. It reports whether the store is no longer low.
func (s *Store) regain(ctx context.Context, q *session) bool {
	r := &s.reserve
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.low.Load() {
		return true
	}
	now := s.clock()
	if since := now.Sub(r.tried); since >= 0 && since < reserveRetry {
		return false
	}
	r.tried = now
	if q != nil {
		s.truncateWAL(ctx, q)
	}
	if err := r.make(); err != nil {
		return false
	}
	r.low.Store(false)
	r.fullAt.Store(0)
	s.log.InfoContext(ctx, "there is room on the disk again: the reserve is back")
	return true
}

// limitGrowth sets how far the file may grow in the next transaction: in an ordinary one not at all while the
// store is low.
func (s *Store) limitGrowth(ctx context.Context, q *session, frees bool) error {
	limit := s.reserve.pages
	if s.reserve.low.Load() && !frees {
		limit = 1 // SQLite raises it to the present size
	}
	if limit == q.limit {
		return nil
	}
	var now int64
	if _, err := q.get(ctx, "PRAGMA max_page_count = "+strconv.FormatInt(limit, 10), nil, &now); err != nil {
		return err
	}
	q.limit = limit
	return nil
}

// truncateWAL moves the WAL into the file and frees its space, if no reader keeps it.
func (s *Store) truncateWAL(ctx context.Context, q *session) {
	if busy, err := q.moveWALWithin(ctx, "TRUNCATE", walWait, s.busy.Milliseconds()); err != nil || busy {
		s.log.DebugContext(ctx, "the WAL was not truncated", "busy", busy, "error", err)
	}
}

// boundWAL truncates the WAL after a transaction when it is large, or when the store is low. When readers
// keep it, the next try is when it has grown by half the limit.
func (s *Store) boundWAL(ctx context.Context, q *session) {
	low := s.reserve.low.Load()
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		return
	}
	if !low && info.Size() < max(s.walLimit, s.reserve.big.Load()) {
		s.checkpointLater(q)
		return
	}
	s.truncateWAL(ctx, q)
	s.reserve.big.Store(0)
	if info, err := os.Stat(s.path + "-wal"); err == nil && info.Size() >= s.walLimit {
		s.reserve.big.Store(info.Size() + s.walLimit/2)
	}
}

// guarded runs a write transaction on a session of the writer. One that frees space may use the reserve.
func (s *Store) guarded(ctx context.Context, q *session, frees bool, fn func(context.Context, *session) error) error {
	bare := context.WithoutCancel(ctx)
	try := func() error {
		q.low = 0
		if s.reserve.low.Load() {
			q.low = s.reserve.rows
		}
		if err := s.limitGrowth(bare, q, frees); err != nil {
			return s.translate(err)
		}
		return s.settle(bare, q, s.transaction(ctx, q, fn))
	}
	err := try()
	if !fault.Is(err, fault.StorageFull) {
		return err
	}
	low := s.reserve.low.Load()
	if frees && (low || s.release(bare, q)) || low && s.regain(bare, q) {
		return try()
	}
	return err
}

// settle is called after each write transaction, with its error, which it returns.
func (s *Store) settle(ctx context.Context, q *session, err error) error {
	r := &s.reserve
	switch {
	case err == nil:
		r.writes.Add(1)
		s.boundWAL(ctx, q)
		if r.low.Load() {
			s.regain(ctx, q)
		}
	case fault.Is(err, fault.StorageFull):
		r.fullAt.Store(s.clock().UnixMilli())
		if r.low.Load() {
			s.truncateWAL(ctx, q) // the WAL of the failed transaction keeps its space until then
		}
	}
	return err
}

// CheckWrites returns why ordinary writes cannot succeed now: StorageFull or Unavailable. It writes and syncs
// a small file beside the database, at most every five seconds.
func (s *Store) CheckWrites(ctx context.Context) error {
	r := &s.reserve
	if r.low.Load() && !s.regain(ctx, nil) {
		return fault.Wrap(errNoRoom, fault.StorageFull, "the disk is nearly full: only deletions can be written")
	}
	now := s.clock()
	if at := r.fullAt.Load(); at != 0 && now.Sub(time.UnixMilli(at)) < fullFor {
		return fault.New(fault.StorageFull, "a write met a full disk within the last minute")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if since := now.Sub(r.probed); since < 0 || since >= writesEvery {
		r.probed, r.answer = now, s.translate(probe(s.path+probeSuffix))
	}
	return r.answer
}

// probe writes, syncs and removes a file.
func probe(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	if _, err := f.Write(make([]byte, probeBytes)); err != nil {
		return err
	}
	return f.Sync()
}
