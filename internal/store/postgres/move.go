package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pgvector/pgvector-go"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
)

var _ store.Mover = (*Store)(nil)

// inMoveTransaction runs fn in one transaction without timeouts, with a role that sees the rows of every
// tenant.
func (s *Store) inMoveTransaction(ctx context.Context, o pgx.TxOptions, fn func(context.Context, pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.pool, o, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, "SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)"); err != nil {
			return err
		}
		var held bool
		if err := t.QueryRow(ctx, "SELECT row_security_active('collections')").Scan(&held); err != nil {
			return err
		}
		if held {
			return fault.New(fault.Conflict, "the role sees the rows of one tenant at a time only; set MIGRATE_DATABASE_URL to the owner of the tables")
		}
		return fn(ctx, t)
	})
	return s.translate(err)
}

// Export implements store.Mover. It needs the owner's role (Config.AnyRole).
func (s *Store) Export(ctx context.Context, fn func(store.Row) error) error {
	return s.inMoveTransaction(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(ctx context.Context, t pgx.Tx) error {
		for _, table := range store.Tables() {
			if err := exportTable(ctx, t, table, fn); err != nil {
				return err
			}
		}
		return nil
	})
}

func exportTable(ctx context.Context, t pgx.Tx, table *store.Table, fn func(store.Row) error) error {
	columns, keys := make([]string, len(table.Columns)), make([]string, table.Key)
	values := make([]movedColumn, len(table.Columns))
	dest := make([]any, len(table.Columns))
	for i := range table.Columns {
		c := &table.Columns[i]
		values[i] = movedAs(c)
		dest[i], columns[i] = values[i].dest, c.Name
		if c.Kind == store.KindObject || c.Kind == store.KindJSON {
			columns[i] += "::text"
		}
	}
	for i := range keys {
		keys[i] = table.Columns[i].Name
		if table.Columns[i].Kind == store.KindText {
			keys[i] += ` COLLATE "C"`
		}
	}
	rows, err := t.Query(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+table.Name+" ORDER BY "+strings.Join(keys, ", "))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		r := store.Row{Table: table, Values: make([]any, len(values))}
		for i := range values {
			if r.Values[i], err = values[i].get(); err != nil {
				return fmt.Errorf("%s of a row of %s: %w", table.Columns[i].Name, table.Name, err)
			}
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// movedColumn is the destination of a column.
type movedColumn struct {
	dest any
	get  func() (any, error)
}

func movedAs(c *store.Column) movedColumn {
	switch c.Kind {
	case store.KindID:
		return plain[uuid.UUID]()
	case store.KindInt:
		return plain[int64]()
	case store.KindReal:
		return plain[float64]()
	case store.KindBool:
		return plain[bool]()
	case store.KindTexts:
		return plain[[]string]()
	case store.KindBytes, store.KindCodes:
		return plain[[]byte]()
	case store.KindTime, store.KindEvent:
		p := new(*time.Time)
		return movedColumn{p, func() (any, error) {
			if *p == nil {
				return nil, nil
			}
			return (*p).UTC(), nil
		}}
	case store.KindHalf:
		p := new(pgvector.HalfVector)
		return movedColumn{p, func() (any, error) { return store.Halves(p.Slice()), nil }}
	default: // texts, and documents as texts
	}
	p := new(*string)
	return movedColumn{p, func() (any, error) {
		switch {
		case *p == nil:
			return nil, nil
		case c.Kind == store.KindObject:
			return store.MoveObject(**p, c)
		}
		return **p, nil
	}}
}

func plain[T any]() movedColumn {
	p := new(T)
	return movedColumn{p, func() (any, error) { return *p, nil }}
}

// Import implements store.Mover. It needs the owner's role (Config.AnyRole). Serving gateways wait,
// or are refused, until it has ended.
func (s *Store) Import(ctx context.Context, next func() (store.Row, error)) error {
	return s.inMoveTransaction(ctx, pgx.TxOptions{}, func(ctx context.Context, t pgx.Tx) error {
		if err := checkUnused(ctx, t); err != nil {
			return err
		}
		in := &incoming{next: next}
		in.advance()
		for in.err == nil {
			if err := importTable(ctx, t, in); err != nil {
				return err
			}
		}
		if !errors.Is(in.err, io.EOF) {
			return in.err
		}
		if _, err := t.Exec(ctx, "SELECT setval('audit_ids', GREATEST(MAX(id), 1), MAX(id) IS NOT NULL) FROM audit"); err != nil {
			return err
		}
		for _, table := range store.Tables() {
			// Until autovacuum runs, the planner would know nothing of the rows.
			if _, err := t.Exec(ctx, "ANALYZE "+table.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkUnused returns a Conflict for a database that is in use, and keeps all others from writing.
func checkUnused(ctx context.Context, t pgx.Tx) error {
	names := make([]string, len(store.Tables()))
	for i, table := range store.Tables() {
		names[i] = table.Name
	}
	_, err := t.Exec(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN SHARE ROW EXCLUSIVE MODE")
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "55P03" { // lock_not_available
		return fault.Wrap(err, fault.Conflict, "the database is being written; stop gateways and workers, and other imports, then import again")
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == "signing_keys" {
			continue
		}
		var used bool
		if err := t.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+name+")").Scan(&used); err != nil {
			return err
		}
		if used {
			return fault.New(fault.Conflict, "the database is not empty: the table %s has rows; import into a new database after \"gateway migrate up\"", name)
		}
	}
	return nil
}

// importTable copies rows until the first row of another table.
func importTable(ctx context.Context, t pgx.Tx, in *incoming) error {
	in.table = in.row.Table
	_, err := t.CopyFrom(ctx, pgx.Identifier{in.table.Name}, in.table.Names(), in)
	if in.err != nil && !errors.Is(in.err, io.EOF) {
		return in.err // the cause; the server only repeats it
	}
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code[:2] == "23" { // integrity constraint
		return fault.Wrap(err, fault.Invalid, "rows of %s cannot be kept: %s", in.table.Name, e.Message)
	}
	return fmt.Errorf("copy %s: %w", in.table.Name, err)
}

// incoming returns the rows of one table to a COPY. It reads one row ahead.
type incoming struct {
	next    func() (store.Row, error)
	table   *store.Table
	row     store.Row
	err     error // io.EOF: there are no more
	waiting bool  // row was not asked for yet
}

var _ pgx.CopyFromSource = (*incoming)(nil)

func (in *incoming) advance() {
	in.row, in.err = in.next()
	in.waiting = in.err == nil
}

// Next implements pgx.CopyFromSource.
func (in *incoming) Next() bool {
	if !in.waiting && in.err == nil {
		in.advance()
	}
	if in.err != nil || in.row.Table != in.table {
		return false
	}
	in.waiting = false
	return true
}

// Values implements pgx.CopyFromSource.
func (in *incoming) Values() ([]any, error) {
	for i, v := range in.row.Values {
		if half, ok := v.([]byte); ok && in.table.Columns[i].Kind == store.KindHalf {
			if len(half) > 2*maxDim {
				in.err = store.RefusedRow(fault.New(fault.TooLarge, "the vector has %d dimensions; one that Postgres keeps has at most %d", len(half)/2, maxDim), in.row)
				return nil, in.err
			}
			in.row.Values[i] = pgvector.NewHalfVector(store.VectorOf(half))
		}
	}
	return in.row.Values, nil
}

// Err implements pgx.CopyFromSource.
func (in *incoming) Err() error {
	if errors.Is(in.err, io.EOF) {
		return nil
	}
	return in.err
}
