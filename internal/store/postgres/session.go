package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// session sends statements on behalf of one tenant. It is used by one goroutine at a time. It
// implements store.Session.
type session struct {
	conn   *pgxpool.Conn
	tenant uuid.UUID
	// enter returns the first statements of each transaction of a tenant. Behind a pooler they also set the parameters of the
	// connection.
	enter func(tenant uuid.UUID) []statement
	// alone is true where a statement by itself has to be in a transaction that is begun and committed.
	alone bool
	// in is true inside an explicit transaction, where the tenant is set once.
	in bool
	// waiting are statements whose results are not needed; they are sent with the next one whose
	// result is.
	waiting []statement
	// queue is the end of the queue of a collection whose head the transaction has locked; nil: it
	// is read from the head's row.
	queue *queue
	// sent counts the round trips.
	sent int
	// failed is the first statement that failed in a transaction: the transaction cannot be
	// committed any more, even if the caller ignores the error.
	failed error
}

// OthersWait implements store.Session: a transaction only locks what is its tenant's.
func (*session) OthersWait(uuid.UUID) bool { return false }

// queue is the place of the last job of a collection.
type queue struct {
	collection uuid.UUID
	last       int64
}

type statement struct {
	text string
	args []any
}

const setTenant = "SELECT set_config('slipbox.tenant', $1, true)"

// send sends the waiting statements and one more in one round trip; read is called for each row of
// the last one.
func (q *session) send(ctx context.Context, text string, args []any, read func(pgx.Rows) error) (tag pgconn.CommandTag, err error) {
	b := &pgx.Batch{}
	if !q.in {
		// A batch without BEGIN is a transaction of its own.
		if q.alone {
			b.Queue("BEGIN")
		}
		for _, e := range q.enter(q.tenant) {
			b.Queue(e.text, e.args...)
		}
	}
	for _, w := range q.waiting {
		b.Queue(w.text, w.args...)
	}
	q.waiting = q.waiting[:0]
	before := b.Len()
	if text != "" {
		b.Queue(text, args...)
	}
	if b.Len() == 0 {
		return tag, nil
	}
	if !q.in && q.alone {
		b.Queue("COMMIT") // read by Close
	}
	q.sent++
	results := q.conn.SendBatch(ctx, b)
	defer func() {
		err = errors.Join(err, results.Close())
		if err != nil && q.in && q.failed == nil {
			q.failed = err
		}
	}()
	for range before {
		if _, err := results.Exec(); err != nil {
			return tag, err
		}
	}
	if text == "" {
		return tag, nil
	}
	if read == nil {
		return results.Exec()
	}
	rows, err := results.Query()
	if err != nil {
		return tag, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return tag, err
		}
	}
	return tag, rows.Err()
}

// later keeps a statement whose result is not needed until the next round trip or the commit. Outside of a transaction that is the
// next statement.
func (q *session) later(text string, args ...any) {
	q.waiting = append(q.waiting, statement{text, args})
}

// exec runs a statement and returns the number of rows changed.
func (q *session) exec(ctx context.Context, text string, args ...any) (int64, error) {
	tag, err := q.send(ctx, text, args, nil)
	return tag.RowsAffected(), err
}

// get reads one row; ok is false when there is none.
func (q *session) get(ctx context.Context, text string, args []any, dest ...any) (ok bool, err error) {
	_, err = q.send(ctx, text, args, func(rows pgx.Rows) error {
		if ok {
			return nil // only the first row is wanted
		}
		ok = true
		return rows.Scan(dest...)
	})
	return ok && err == nil, err
}

// each reads rows. scan is called for each of them and must not send statements.
func (q *session) each(ctx context.Context, text string, args []any, scan func(pgx.Rows) error) error {
	_, err := q.send(ctx, text, args, scan)
	return err
}

// collect returns what scan reads from each row.
func collect[R any](ctx context.Context, q *session, text string, args []any, scan func(store.Scanner) (R, error)) (out []R, err error) {
	err = q.each(ctx, text, args, func(rows pgx.Rows) error {
		r, err := scan(rows)
		out = append(out, r)
		return err
	})
	return out, err
}

// bind replaces arguments, in place, by what the columns hold: times and JSON, where NULL is none, and lists of texts.
func bind(args []any) []any {
	for i, a := range args {
		switch v := a.(type) {
		case time.Time:
			args[i] = nullTime(v)
		case json.RawMessage:
			args[i] = nullJSON(v)
		case []tenant.Permission:
			names := make([]string, len(v))
			for n, p := range v {
				names[n] = string(p)
			}
			args[i] = names
		}
	}
	return args
}

// Each implements store.Conn.
func (q *session) Each(ctx context.Context, text string, args []any, scan func(store.Scanner) error) error {
	return q.each(ctx, text, bind(args), func(rows pgx.Rows) error { return scan(rows) })
}

// Exec implements store.Conn.
func (q *session) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	return q.exec(ctx, text, bind(args)...)
}

// Later implements store.Conn.
func (q *session) Later(_ context.Context, text string, args ...any) error {
	q.later(text, bind(args)...)
	return nil
}

// Permissions implements store.Conn.
func (*session) Permissions(p *[]tenant.Permission) any { return p }

// noSort and maySort are sent before and after statements that read in the order of an index.
const (
	noSort  = "SET LOCAL enable_sort TO off"
	maySort = "SET LOCAL enable_sort TO DEFAULT"
)

// byPlace and byCost are sent before and after a statement that changes rows by their places in the table. Pages cost nothing: a
// planner that knows nothing of a tenant would else read all that it has to find the places again. Then the smallest index looks best
// for the rows that are looked for, and they are found in an order that the right one has alone.
const (
	byPlace = "SELECT set_config('random_page_cost', '0', true), set_config('enable_sort', 'off', true)"
	byCost  = "SELECT set_config('random_page_cost', NULL, true), set_config('enable_sort', NULL, true)" // NULL: the default
)

// inOrder is collect for a page: the planner takes the index that has its order. By another one it would read all that a tenant has,
// and sort it: that looks as good while it knows nothing of the tenant, or only smaller ones.
func inOrder[R any](ctx context.Context, q *session, text string, args []any, scan func(store.Scanner) (R, error)) (out []R, err error) {
	q.later(noSort)
	out, err = collect(ctx, q, text, args, scan)
	if q.in {
		q.later(maySort)
	}
	return out, err
}

// flush sends the waiting statements.
func (q *session) flush(ctx context.Context) error {
	if len(q.waiting) == 0 {
		return nil
	}
	_, err := q.send(ctx, "", nil, nil)
	return err
}

// server is the connections to one server, and the order in which tenants have them.
type server struct {
	pool  *pgxpool.Pool
	turns *fair.Gate
}

func newTurns(pc *pgxpool.Config, rest time.Duration) *fair.Gate {
	return fair.NewGate(int(pc.MaxConns), max(2, int(pc.MaxConns)/tenantConnections)).Resting(rest)
}

// acquire returns a connection in a turn of a tenant, and what returns it. The zero tenant is all of them.
func (s server) acquire(ctx context.Context, tenantID uuid.UUID) (conn *pgxpool.Conn, release func(), err error) {
	leave, err := s.turns.Enter(ctx, tenantID, fair.Foreground)
	if err != nil {
		return nil, nil, err
	}
	if conn, err = s.pool.Acquire(ctx); err != nil {
		leave()
		return nil, nil, err
	}
	return conn, func() { conn.Release(); leave() }, nil
}

// reading runs fn with a session of the tenant. Each statement sees the newest commit; fn bounds
// its reads by revisions, or uses snapshot. It must not use another session: the tenant's turns may all wait
// for one.
func (s *Store) reading(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, *session) error) error {
	return s.retryAborted(ctx, func() error { return s.readingAt(ctx, s.server, tenantID, fn) })
}

// readingAt is one try of reading, at a server.
func (s *Store) readingAt(ctx context.Context, at server, tenantID uuid.UUID, fn func(context.Context, *session) error) error {
	conn, release, err := at.acquire(ctx, tenantID)
	if err != nil {
		return err
	}
	defer release()
	return fn(ctx, &session{conn: conn, tenant: tenantID, enter: s.enter, alone: s.cfg.Distributed})
}

// snapshot runs fn in one read transaction.
func (s *Store) snapshot(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, *session) error) error {
	return s.within(ctx, tenantID, "BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ", fn)
}

// writing runs fn in one write transaction. An error rolls back. Once the transaction has begun, a
// canceled ctx no longer interrupts statements, which are short and have a timeout; it is checked
// before the commit. fn runs again when the server aborted the transaction.
func (s *Store) writing(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, *session) error) error {
	return s.within(ctx, tenantID, "BEGIN", fn)
}

func (s *Store) within(ctx context.Context, tenantID uuid.UUID, begin string, fn func(context.Context, *session) error) error {
	return s.retryAborted(ctx, func() error { return s.once(ctx, tenantID, begin, fn) })
}

func (s *Store) once(ctx context.Context, tenantID uuid.UUID, begin string, fn func(context.Context, *session) error) error {
	return s.transaction(ctx, tenantID, begin, func(bare context.Context, q *session) error {
		if err := fn(bare, q); err != nil {
			if errors.Is(err, store.ErrRollback) {
				return nil
			}
			return err
		}
		if err := errors.Join(ctx.Err(), q.failed); err != nil {
			return err
		}
		return q.commit(bare)
	})
}

// transaction runs fn in a transaction, which fn commits. Otherwise it is rolled back, also when fn
// panics.
func (s *Store) transaction(ctx context.Context, tenantID uuid.UUID, begin string, fn func(context.Context, *session) error) error {
	conn, release, err := s.acquire(ctx, tenantID)
	if err != nil {
		return err
	}
	defer release()
	bare, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*s.cfg.StatementTimeout)
	defer cancel()
	q := &session{conn: conn, tenant: tenantID, enter: s.enter, in: true}
	q.later(begin)
	for _, e := range q.enter(tenantID) {
		q.later(e.text, e.args...)
	}
	defer func() {
		if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
			return
		}
		if _, e := conn.Exec(bare, "ROLLBACK"); e != nil {
			// The transaction ends with the connection.
			s.log.DebugContext(ctx, "rollback", "error", e)
		}
	}()
	return fn(bare, q)
}

// commit sends the waiting statements and ends the transaction.
func (q *session) commit(ctx context.Context) error {
	q.later("COMMIT")
	return q.flush(ctx)
}

// retryAborted runs fn until the server no longer aborts it because of another transaction, at most
// Retries times, and translates its error.
func (s *Store) retryAborted(ctx context.Context, fn func() error) error {
	for try := 0; ; try++ {
		err := fn()
		if err == nil || !isAborted(err) || try == s.cfg.Retries || ctx.Err() != nil {
			return s.translate(err)
		}
		pause := time.Duration(1+rand.IntN(10<<try)) * time.Millisecond //nolint:gosec // jitter
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// isAborted reports whether nothing was done and another try may succeed.
func isAborted(err error) bool {
	if errors.Is(err, errBroken) {
		return true
	}
	var e *pgconn.PgError
	if _, ok := errors.AsType[*fault.Error](err); ok || !errors.As(err, &e) {
		return false
	}
	return e.Code == "40001" || e.Code == "40P01" // serialization_failure, deadlock_detected
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// transactions implements store.Transactions.
type transactions struct{ store *Store }

// Reading implements store.Transactions.
func (t transactions) Reading(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, store.Session) error) error {
	return t.store.reading(ctx, tenantID, func(ctx context.Context, q *session) error { return fn(ctx, q) })
}

// ReadingPast implements store.Transactions.
func (t transactions) ReadingPast(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, fn func(context.Context, store.Session) error) error {
	return t.store.readingPast(ctx, tenantID, layers, func(ctx context.Context, q *session) error { return fn(ctx, q) })
}

// Freeing implements store.Transactions: the server's administrator keeps space for it.
func (t transactions) Freeing(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, store.Session) error) error {
	return t.Writing(ctx, tenantID, fn)
}

// NothingErased implements store.Session: dead rows are left to the vacuum of the server.
func (*session) NothingErased() {}

// Writing implements store.Transactions.
func (t transactions) Writing(ctx context.Context, tenantID uuid.UUID, fn func(context.Context, store.Session) error) error {
	return t.store.writing(ctx, tenantID, func(ctx context.Context, q *session) error { return fn(ctx, q) })
}
