package sqlite

import (
	"context"
	"strconv"
	"sync"

	"github.com/google/uuid"
	"modernc.org/sqlite"

	"github.com/slipboxhq/slipbox/internal/fair"
)

// A checkpoint moves the WAL into the file: thousands of pages in random order, and an fsync. SQLite makes
// it in the commit that fills the WAL, while all other writes wait. Here it runs beside the writer, which
// only has a turn for the few pages that were written meanwhile, so that the next write begins the WAL again.

const (
	// checkpointPages is how many pages are written to the WAL between two checkpoints, as in SQLite.
	checkpointPages = 1000
	// restartPages is the length of the WAL from which on the writer has a turn to begin it again. A shorter
	// one may be begun again by itself, when the writer pauses.
	restartPages = 2 * checkpointPages
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
}

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
	c.mu.Unlock()
	c.running.Wait()
}

// checkpoint moves the WAL into the file. A failure changes nothing: the WAL is durable, and the next one
// tries again.
func (s *Store) checkpoint(ctx context.Context) {
	var pages int
	err := s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) (err error) {
		pages, _, err = q.moveWAL(ctx, "PASSIVE")
		return err
	})
	if err == nil && pages >= restartPages {
		err = s.restartWAL(ctx)
	}
	if err != nil {
		s.log.DebugContext(ctx, "checkpoint", "error", err)
	}
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

// moveWAL runs a checkpoint of a mode, outside of transactions. It returns the length of the WAL in pages,
// and whether others kept the checkpoint from being complete.
func (q *session) moveWAL(ctx context.Context, mode string) (pages int, busy bool, err error) {
	var moved int
	err = q.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &moved)
	return pages, busy, err
}

// moveWALWithin is moveWAL with a wait for others, in milliseconds; afterwards, the session waits as before.
func (q *session) moveWALWithin(ctx context.Context, mode string, wait, before int64) (busy bool, err error) {
	if _, err := q.conn.ExecContext(ctx, "PRAGMA busy_timeout = "+strconv.FormatInt(wait, 10)); err != nil {
		return false, err
	}
	_, busy, err = q.moveWAL(ctx, mode)
	if _, e := q.conn.ExecContext(ctx, "PRAGMA busy_timeout = "+strconv.FormatInt(before, 10)); err == nil {
		err = e
	}
	return busy, err
}
