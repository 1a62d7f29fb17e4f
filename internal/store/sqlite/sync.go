package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// A sync of the disk takes longer than most transactions, and up to a hundred times as long while the disk has other
// work. So the writer does not wait for it: a commit is in the WAL when the writer is given back, and its caller returns when the
// WAL was synced since. Those who wait meanwhile share the next sync.

// walSync syncs the WAL after commits.
type walSync struct {
	sync func() error // syncs the WAL

	committed atomic.Uint64 // transactions; added to while the writer is held
	durable   atomic.Uint64 // of them, those that are on disk
	failed    atomic.Bool   // a sync failed: what was committed may not be on disk, though later syncs succeed

	mu      sync.Mutex
	next    *syncRound // that begins later; nil: there is none
	running sync.Mutex // held while the WAL is synced
}

// errNotSynced is the cause when it is unknown whether a commit is on disk.
var errNotSynced = errors.New("the WAL was not synced")

// syncRound is one sync, for all that was committed before it began.
type syncRound struct {
	done chan struct{}
	err  error // when done is closed
}

// wait returns when everything that was committed before is on disk.
func (w *walSync) wait() error {
	if w.durable.Load() >= w.committed.Load() {
		return nil
	}
	w.mu.Lock()
	r, isFirst := w.next, w.next == nil
	if isFirst {
		r = &syncRound{done: make(chan struct{})}
		w.next = r
	}
	w.mu.Unlock()
	if isFirst {
		w.run(r)
	}
	<-r.done
	return r.err
}

// run syncs the WAL for a round, after the sync that runs now.
func (w *walSync) run(r *syncRound) {
	w.running.Lock()
	defer w.running.Unlock()
	defer close(r.done)
	w.mu.Lock()
	w.next = nil // who commits from here on needs another one
	w.mu.Unlock()
	upTo := w.committed.Load()
	if w.failed.Load() {
		r.err = errNotSynced
		return
	}
	if err := w.sync(); err != nil {
		w.failed.Store(true)
		r.err = fmt.Errorf("%w: %w", errNotSynced, err)
		return
	}
	w.durable.Store(upTo)
}

// mendWAL makes writes possible again after a sync that failed, in the session of the writer. Then a part of the WAL may
// be missing on disk, and with it all that is written behind it, however well that is synced. So the WAL is moved into the
// file and begun again first.
func (s *Store) mendWAL(ctx context.Context, q *session) error {
	if !s.synced.failed.Load() {
		return nil
	}
	busy, err := q.moveWALWithin(context.WithoutCancel(ctx), "RESTART", walWait, s.busy.Milliseconds())
	if err != nil {
		return s.translate(err)
	}
	if busy {
		return fault.New(fault.Unavailable, "the disk failed, and the database file is being read")
	}
	s.synced.failed.Store(false)
	return nil
}

// syncWAL waits until the data of a file is on disk. A file that does not exist has none.
func syncWAL(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return syncData(f)
}
