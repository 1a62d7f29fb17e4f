package sqlite

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"modernc.org/sqlite"

	"github.com/slipboxhq/slipbox/internal/fair"
)

// A checkpoint moves the WAL into the file: thousands of pages in random order, and an fsync. SQLite makes
// it in the commit that fills the WAL, while all other writes wait. Here it runs beside the writer, which
// only has a turn for the few pages that were written meanwhile, so that the next write begins the WAL again.
// SQLite syncs the file when a checkpoint has moved the whole WAL, and so in that turn. Most of it is synced
// before, beside the writer.

const (
	// checkpointPages is how many pages are written to the WAL between two checkpoints, as in SQLite.
	checkpointPages = 1000
	// restartPages is the length of the WAL from which on the writer has a turn to begin it again. A shorter
	// one may be begun again by itself, when the writer pauses.
	restartPages = 2 * checkpointPages
	// restartRest is about how many pages are left for that turn, so that it is as short as a commit. A fast writer may
	// leave more after restartRounds checkpoints.
	restartRest   = 100
	restartRounds = 3
	// restartWait is how long that turn waits for readers, in milliseconds. Most need less; with others, the
	// next checkpoint tries it again.
	restartWait = 5
)

// checkpoints is the state of the checkpoints beside the writer.
type checkpoints struct {
	from int // pages that the writer had written at the last one; while its session is held

	mu      sync.Mutex
	runs    bool
	stopped bool
	running sync.WaitGroup

	file *os.File // the database; of the checkpoint that runs

	erasing   *time.Timer // truncates the WAL when the store has been quiet after an erasure; while mu is held
	vacuuming *time.Timer // calls vacuumQuietly; while mu is held
}

// truncateAfter is how long after the last transaction that freed space the WAL is truncated, and truncateWait how long that
// waits for readers, in milliseconds. Those that read an old state keep it, and it is tried again.
const (
	truncateAfter = 2 * time.Second
	truncateWait  = 20
)

// truncateLater has the WAL truncated after a while in which nothing more was deleted: it holds what was deleted until
// later writes overwrite it, which in a quiet store they never do.
func (s *Store) truncateLater(after time.Duration) {
	c := &s.checkpoints
	c.later(&c.erasing, after, true, func() {
		if err := s.cutWAL(context.Background()); err != nil {
			s.log.Debug("the write-ahead log is not truncated yet", "error", err)
			s.truncateLater(after)
		}
	})
}

// later calls fn after a while, unless checkpoints are stopped before. A call that waits stays, and is put off if so asked.
func (c *checkpoints) later(timer **time.Timer, after time.Duration, putOff bool, fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	if *timer != nil {
		if putOff {
			(*timer).Reset(after)
		}
		return
	}
	*timer = time.AfterFunc(after, func() {
		c.mu.Lock()
		if c.stopped {
			c.mu.Unlock()
			return
		}
		*timer = nil
		c.running.Add(1)
		c.mu.Unlock()
		defer c.running.Done()
		fn()
	})
}

// cutWAL moves the WAL into the file, in which deleted rows are overwritten, and cuts it off.
func (s *Store) cutWAL(ctx context.Context) error {
	q, leave, err := s.enterWriter(ctx, turn{uuid.Nil, fair.Foreground})
	if err != nil {
		return err
	}
	defer leave()
	defer s.write.give(q)
	busy, err := q.moveWALWithin(ctx, "TRUNCATE", truncateWait, s.busy.Milliseconds())
	if err == nil && busy {
		err = errReaders
	}
	return err
}

var errReaders = errors.New("readers keep the write-ahead log")

// checkpointLater starts a checkpoint when the session of the writer, which the caller holds, has written
// enough since the last one. While one runs it does nothing.
func (s *Store) checkpointLater(q *session) {
	var written int
	err := q.conn.Raw(func(c any) (err error) {
		if counts, ok := c.(sqlite.DBStatus); ok {
			written, _, err = counts.Status(sqlite.DBStatusCacheWrite, false)
		}
		return err
	})
	c := &s.checkpoints
	if written < c.from {
		c.from = 0 // another connection
	}
	if err != nil || written-c.from < checkpointPages {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs || c.stopped {
		return
	}
	c.from, c.runs = written, true
	c.running.Go(func() {
		s.checkpoint(context.Background())
		c.mu.Lock()
		defer c.mu.Unlock()
		c.runs = false
	})
}

// stop waits for the checkpoint that runs; none starts afterwards.
func (c *checkpoints) stop() {
	c.mu.Lock()
	c.stopped = true
	for _, t := range []*time.Timer{c.erasing, c.vacuuming} {
		if t != nil {
			t.Stop()
		}
	}
	c.mu.Unlock()
	c.running.Wait()
}

// sync syncs the database. The file stays open: to close it would end the locks that the connections of this process have
// on it.
func (c *checkpoints) sync(path string) (err error) {
	if c.file == nil {
		if c.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
			return err
		}
	}
	return c.file.Sync()
}

// close is called when all connections are closed.
func (c *checkpoints) close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// checkpoint moves the WAL into the file. A failure changes nothing: the WAL is durable, and the next one
// tries again.
func (s *Store) checkpoint(ctx context.Context) {
	pages, err := s.moveBeside(ctx)
	if err == nil && pages >= restartPages {
		err = s.restartWAL(ctx)
	}
	if err != nil {
		s.log.DebugContext(ctx, "checkpoint", "error", err)
	}
}

// moveBeside moves the WAL into the file beside the writer, and returns the length of the WAL. One that will be
// begun again is moved, and the file synced, until the writer has written little meanwhile.
func (s *Store) moveBeside(ctx context.Context) (pages int, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) (err error) {
		before := 0
		for range restartRounds {
			var moved int
			if pages, moved, _, err = q.moveWAL(ctx, "PASSIVE"); err != nil || pages < restartPages {
				return err
			}
			if err := s.checkpoints.sync(s.path); err != nil {
				return err
			}
			if moved-before <= restartRest {
				break
			}
			before = moved
		}
		return nil
	})
	return pages, err
}

// restartWAL moves what the writer has written since the checkpoint, and makes the next write begin the WAL
// again.
func (s *Store) restartWAL(ctx context.Context) error {
	q, leave, err := s.enterWriter(ctx, turn{uuid.Nil, fair.Foreground})
	if err != nil {
		return err
	}
	defer leave()
	defer s.write.give(q)
	_, err = q.moveWALWithin(ctx, "RESTART", restartWait, s.busy.Milliseconds())
	return err
}

// moveWAL runs a checkpoint of a mode, outside of transactions. It returns the length of the WAL in pages, how many of
// them are in the file, and whether others kept the checkpoint from being complete.
func (q *session) moveWAL(ctx context.Context, mode string) (pages, moved int, busy bool, err error) {
	err = q.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &moved)
	return pages, moved, busy, err
}

// moveWALWithin is moveWAL with a wait for others, in milliseconds; afterwards, the session waits as before.
func (q *session) moveWALWithin(ctx context.Context, mode string, wait, before int64) (busy bool, err error) {
	if _, err := q.conn.ExecContext(ctx, "PRAGMA busy_timeout = "+strconv.FormatInt(wait, 10)); err != nil {
		return false, err
	}
	_, _, busy, err = q.moveWAL(ctx, mode)
	if _, e := q.conn.ExecContext(ctx, "PRAGMA busy_timeout = "+strconv.FormatInt(before, 10)); err == nil {
		err = e
	}
	return busy, err
}
