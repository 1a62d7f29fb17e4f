package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"modernc.org/sqlite"

	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// session is a connection with its prepared statements, used by one caller at a time. It implements
// store.Session.
type session struct {
	noLocks

	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
	erased bool  // the transaction erases something
	low    int   // the store was low on space when the transaction began: rows that a removal's step may delete; 0: it was not
	limit  int64 // of the file, in pages, as it was last set

	pages int64 // that the connection had read when they were counted last

	turns *fair.Gate // of the writer, in its session; nil: a reader

	views   map[viewRef]memory.View // opened at viewsAt, see knownViews
	viewsAt int64

	// failed is the first statement that failed in a write transaction: the transaction cannot be
	// committed any more, even if the caller ignores the error.
	failed error
}

// pool hands out sessions. A place is taken before a connection is opened. The session that was
// returned last is handed out first: its pages and statements are warm, and no more connections are
// opened than are used concurrently.
type pool struct {
	db     *sql.DB
	places chan struct{} // one for each session that may be handed out
	pages  *atomic.Int64 // that all sessions have read

	mu   sync.Mutex
	idle []*session
}

func newPool(db *sql.DB, n int, pages *atomic.Int64) *pool {
	p := &pool{db: db, places: make(chan struct{}, n), pages: pages}
	for range n {
		p.places <- struct{}{}
	}
	return p
}

var errClosed = fault.New(fault.Unavailable, "the store is closed")

func (p *pool) take(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case _, ok := <-p.places:
		if !ok {
			return nil, errClosed
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		p.places <- struct{}{}
		return nil, err
	}
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}, limit: maxPages}, nil
}

func (p *pool) give(s *session) {
	p.pages.Add(s.countPages())
	p.mu.Lock()
	p.idle = append(p.idle, s)
	p.mu.Unlock()
	p.places <- struct{}{}
}

// countPages returns how many pages of the database the connection has read, in its cache or not, since they were counted
// last. SQLite counts without a lock, so only the holder of a session may ask.
func (q *session) countPages() (more int64) {
	_ = q.conn.Raw(func(c any) error { // counting is not worth an error
		status, ok := c.(sqlite.DBStatus)
		if !ok {
			return nil
		}
		var all int64
		for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
			n, _, err := status.Status(op, false)
			if err != nil {
				return err
			}
			all += int64(n)
		}
		more, q.pages = max(0, all-q.pages), all
		return nil
	})
	return more
}

// discard closes a session that cannot be used again; its place is free for a new one.
func (p *pool) discard(s *session) {
	// The error makes database/sql close the connection, with its statements, instead of keeping it.
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	p.places <- struct{}{}
}

// close waits until every session is returned.
func (p *pool) close() error {
	for range cap(p.places) {
		<-p.places
	}
	close(p.places)
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.idle {
		for _, st := range s.stmts {
			errs = append(errs, st.Close())
		}
		errs = append(errs, s.conn.Close())
	}
	p.idle = nil
	return errors.Join(append(errs, p.db.Close())...)
}

// maxStatements bounds the statement cache of a session. The forms of statements are few, but they
// multiply with layers and filters.
const maxStatements = 512

func (q *session) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := q.stmts[text]; ok {
		return st, nil
	}
	if len(q.stmts) >= maxStatements {
		for k, st := range q.stmts {
			if err := st.Close(); err != nil {
				return nil, err
			}
			delete(q.stmts, k)
		}
	}
	st, err := q.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	q.stmts[text] = st
	return st, nil
}

// bind replaces arguments, in place, by what the columns hold: ids by their bytes, times by
// microseconds, where 0 is none, and JSON and lists by text.
func bind(args []any) {
	for i, a := range args {
		switch v := a.(type) {
		case uuid.UUID:
			args[i] = v[:]
		case time.Time:
			args[i] = micros(v)
		case json.RawMessage:
			args[i] = string(v)
		case []tenant.Permission:
			raw, _ := json.Marshal(v) //nolint:errchkjson // texts
			args[i] = string(raw)
		}
	}
}

// exec runs a statement and returns the number of rows changed.
func (q *session) exec(ctx context.Context, text string, args ...any) (int64, error) {
	bind(args)
	st, err := q.prepare(ctx, text) //nolint:sqlclosecheck // kept for the next time, closed with the session
	if err != nil {
		return 0, err
	}
	r, err := st.ExecContext(ctx, args...)
	if err != nil {
		if q.failed == nil {
			q.failed = err
		}
		return 0, err
	}
	return r.RowsAffected()
}

// get reads one row; ok is false when there is none.
func (q *session) get(ctx context.Context, text string, args []any, dest ...any) (ok bool, err error) {
	bind(args)
	st, err := q.prepare(ctx, text) //nolint:sqlclosecheck // kept for the next time, closed with the session
	if err != nil {
		return false, err
	}
	err = st.QueryRowContext(ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// collect returns what scan reads from each row.
func collect[R any](ctx context.Context, q *session, text string, args []any, scan func(store.Scanner) (R, error)) (out []R, err error) {
	err = q.each(ctx, text, args, func(rows *sql.Rows) error {
		r, err := scan(rows)
		out = append(out, r)
		return err
	})
	return out, err
}

// each reads rows and calls scan for each of them.
func (q *session) each(ctx context.Context, text string, args []any, scan func(*sql.Rows) error) (err error) {
	bind(args)
	st, err := q.prepare(ctx, text) //nolint:sqlclosecheck // kept for the next time, closed with the session
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); e != nil {
			err = errors.Join(err, e)
		}
	}()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Each implements store.Conn.
func (q *session) Each(ctx context.Context, text string, args []any, scan func(store.Scanner) error) error {
	return q.each(ctx, text, args, func(rows *sql.Rows) error { return scan(rows) })
}

// Exec implements store.Conn.
func (q *session) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	return q.exec(ctx, text, args...)
}

// Later implements store.Conn.
func (q *session) Later(ctx context.Context, text string, args ...any) error {
	_, err := q.exec(ctx, text, args...)
	return err
}

// Permissions implements store.Conn.
func (*session) Permissions(p *[]tenant.Permission) any { return store.JSON(p) }

// reading runs fn with a read session, in a turn of a tenant; the zero tenant is all of them. Each statement
// sees the newest commit; fn bounds its reads by revisions, or uses snapshot. It must not read or write in
// another session: the tenant's turns may all wait for one.
func (s *Store) reading(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, *session) error) error {
	leave, err := s.readTurns.Enter(ctx, tenantID, fair.Foreground)
	if err != nil {
		return s.translate(err)
	}
	defer leave()
	q, err := s.read.take(ctx)
	if err != nil {
		return s.translate(err)
	}
	defer s.read.give(q)
	return s.translate(fn(ctx, q))
}

// snapshot runs fn in one read transaction.
func (s *Store) snapshot(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, *session) error) error {
	return s.reading(ctx, tenantID, func(ctx context.Context, q *session) error {
		return q.inSnapshot(ctx, func(ctx context.Context) error { return fn(ctx, q) })
	})
}

// inSnapshot runs fn in a read transaction of the session.
func (q *session) inSnapshot(ctx context.Context, fn func(context.Context) error) (err error) {
	// The transaction must end even when ctx has ended.
	bare := context.WithoutCancel(ctx)
	if _, err := q.exec(bare, "BEGIN"); err != nil {
		return err
	}
	defer func() {
		if _, e := q.exec(bare, "ROLLBACK"); e != nil {
			err = errors.Join(err, e)
		}
	}()
	return fn(ctx)
}

// turn is whose turn it is at the one writer: jobs wait for callers, and tenants take turns.
type turn struct {
	tenant uuid.UUID
	class  fair.Class
}

// ofCaller is the turn of a write that a caller waits for.
func ofCaller(tenantID uuid.UUID) turn { return turn{tenantID, fair.Foreground} }

// ofJob is the turn of a write that a job waits for.
func ofJob(tenantID uuid.UUID) turn { return turn{tenantID, fair.Background} }

// writing runs fn in one write transaction, which is on disk when it returns. An error rolls back. Once the
// lock is held, a canceled ctx no longer interrupts statements, which are short; it is checked before the
// commit. fn may run more than once.
func (s *Store) writing(ctx context.Context, t turn, fn func(context.Context, *session) error) error {
	return s.writingOr(ctx, t, false, fn)
}

// writingOr is writing, or with frees, for what frees space, a write that succeeds on a full disk.
func (s *Store) writingOr(ctx context.Context, t turn, frees bool, fn func(context.Context, *session) error) error {
	q, leave, err := s.enterWriter(ctx, t)
	if err != nil {
		return err
	}
	defer leave()
	defer s.write.give(q)
	return s.guarded(ctx, q, frees, fn)
}

// enterWriter waits for a turn at the writer and takes its session, which the caller gives back or discards
// before it leaves.
func (s *Store) enterWriter(ctx context.Context, t turn) (q *session, leave func(), err error) {
	if leave, err = s.turns.Enter(ctx, t.tenant, t.class); err != nil {
		return nil, nil, s.translate(err)
	}
	if q, err = s.write.take(ctx); err != nil {
		leave()
		return nil, nil, s.translate(err)
	}
	q.turns = s.turns
	return q, leave, nil
}

// OthersWait implements store.Session.
func (q *session) OthersWait(tenantID uuid.UUID) bool {
	return q.turns != nil && q.turns.OthersWait(tenantID)
}

// noting is writing without an fsync of its own, for what a loss of power may undo: the leases and the
// progress of jobs. It is on disk with the next write. A process that dies loses nothing: the operating
// system has the pages. The file stays whole in any case: a WAL is read up to its last whole commit, and
// it is synced before a checkpoint.
func (s *Store) noting(ctx context.Context, t turn, fn func(context.Context, *session) error) error {
	q, leave, err := s.enterWriter(ctx, t)
	if err != nil {
		return err
	}
	defer leave()
	bare := context.WithoutCancel(ctx)
	// A pragma works when it is prepared, so these statements are not kept.
	if _, err := q.conn.ExecContext(bare, "PRAGMA synchronous=NORMAL"); err != nil {
		s.write.give(q)
		return s.translate(err)
	}
	defer func() {
		if _, e := q.conn.ExecContext(bare, "PRAGMA synchronous=FULL"); e != nil {
			s.log.WarnContext(bare, "the connection of the writer is opened again: it could not be set to sync each commit", "error", e)
			s.write.discard(q)
			return
		}
		s.write.give(q)
	}()
	return s.guarded(ctx, q, false, fn)
}

// transaction runs fn in one write transaction of a session.
func (s *Store) transaction(ctx context.Context, q *session, fn func(context.Context, *session) error) error {
	bare := context.WithoutCancel(ctx)
	if _, err := q.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		// An interrupt may come after the transaction has begun.
		_, _ = q.exec(bare, "ROLLBACK")
		return s.translate(err)
	}
	q.failed = nil
	done := false
	defer func() {
		if done {
			return
		}
		if _, e := q.exec(bare, "ROLLBACK"); e != nil {
			// SQLite rolls back by itself after some errors, such as a full disk: then there is no
			// transaction to end.
			s.log.DebugContext(bare, "rollback", "error", e)
		}
	}()
	if err := fn(bare, q); err != nil {
		if errors.Is(err, store.ErrRollback) {
			return nil
		}
		return s.translate(err)
	}
	if err := errors.Join(ctx.Err(), q.failed); err != nil {
		return s.translate(err)
	}
	if _, err := q.exec(bare, "COMMIT"); err != nil {
		return s.translate(err)
	}
	done = true
	return nil
}

// transactions implements store.Transactions.
type transactions struct{ store *Store }

// Reading implements store.Transactions. Layers are read one after the other; in one snapshot, none of them is flattened between.
func (t transactions) Reading(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, store.Session) error) error {
	return t.store.snapshot(ctx, tenantID, func(ctx context.Context, q *session) error { return fn(ctx, q) })
}

// ReadingPast implements store.Transactions: there is one file.
func (t transactions) ReadingPast(ctx context.Context, tenantID uuid.UUID, _ []memory.Layer, fn func(context.Context, store.Session) error) error {
	return t.Reading(ctx, tenantID, fn)
}

// Writing implements store.Transactions.
func (t transactions) Writing(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, store.Session) error) error {
	return t.store.writing(ctx, ofCaller(tenantID), func(ctx context.Context, q *session) error { return fn(ctx, q) })
}

// Freeing implements store.Transactions.
func (t transactions) Freeing(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, store.Session) error) error {
	erased := false
	err := t.store.writingOr(ctx, ofCaller(tenantID), true, func(ctx context.Context, q *session) error {
		q.erased = true
		if err := fn(ctx, q); err != nil {
			return err
		}
		if erased = q.erased; !erased {
			return nil
		}
		return q.markErased(ctx)
	})
	if err == nil {
		t.store.truncateLater(truncateAfter)
		if erased {
			t.store.vacuumLater()
		}
	}
	return err
}

// noLocks implements store.Locks: the one writer needs none.
type noLocks struct{}

func (noLocks) HoldTenant(uuid.UUID)                    {}
func (noLocks) HoldAgent(uuid.UUID, uuid.UUID)          {}
func (noLocks) LockAgent(uuid.UUID, uuid.UUID)          {}
func (noLocks) LockKey(uuid.UUID, uuid.UUID)            {}
func (noLocks) LockTool(uuid.UUID, uuid.UUID)           {}
func (noLocks) LockGrant(uuid.UUID, uuid.UUID)          {}
func (noLocks) LockWebhook(uuid.UUID, uuid.UUID)        {}
func (noLocks) LockUsage(uuid.UUID)                     {}
func (noLocks) LockSigningKeys()                        {}
func (noLocks) HoldCollections(uuid.UUID, ...uuid.UUID) {}
func (noLocks) LockCollection(uuid.UUID, uuid.UUID)     {}
func (noLocks) LockHead(uuid.UUID, uuid.UUID)           {}
func (noLocks) LockJob(uuid.UUID, uuid.UUID)            {}
