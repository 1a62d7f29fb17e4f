package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// errNoVector is the error of a connection to a database without pgvector.
var errNoVector = errors.New("the extension vector is missing")

// errNoSchema is the fault for a database that is new, or that was migrated down to nothing.
var errNoSchema = fault.New(fault.Conflict, "the database has no schema; run \"gateway migrate up\" with the owner's MIGRATE_DATABASE_URL")

// translate converts errors of the server and of the driver to faults. Faults are returned as they
// are.
func (s *Store) translate(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if errors.Is(err, errNoVector) {
		return s.cannotServe(fault.Wrap(err, fault.Conflict, "the database has no extension vector; run \"gateway migrate up\" with the owner's MIGRATE_DATABASE_URL, or let an administrator run CREATE EXTENSION vector"))
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if u := setUpFault(err, e); u != nil {
			return s.cannotServe(u)
		}
		out := translateState(err, e)
		if fault.Is(out, fault.StorageFull) {
			s.fullAt.Store(time.Now().UnixMilli())
		}
		return out
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "the store did not answer in time")
	case errors.Is(err, context.Canceled):
		return fault.Wrap(err, fault.Unavailable, "the request was canceled")
	}
	return unreachable(err) // the network, a server that stopped, a closed pool
}

func unreachable(err error) error {
	return &fault.Error{Code: fault.Unavailable, Message: "the database cannot be reached", RetryAfter: time.Second, Err: err}
}

// cannotServe returns the fault for a wrong set-up. Callers of Open see how to fix it; after that,
// callers can only try again, and the log has the details.
func (s *Store) cannotServe(err error) error {
	if !s.serving {
		return err
	}
	return &fault.Error{Code: fault.Unavailable, Message: "the store cannot serve now", RetryAfter: time.Second, Err: err}
}

// setUpFault returns the fault for an SQLSTATE of a server, a schema or a role that cannot serve; nil
// for others.
func setUpFault(err error, e *pgconn.PgError) error {
	switch e.Code {
	case "28P01", "28000": // invalid_password, invalid_authorization_specification
		return fault.Wrap(err, fault.Unauthenticated, "the database refused the role or its password; check DATABASE_URL")
	case "3D000": // invalid_catalog_name
		return fault.Wrap(err, fault.Conflict, "the database named by DATABASE_URL does not exist; create it, then run \"gateway migrate up\"")
	case "42P01", "42703", "42883": // undefined_table, undefined_column, undefined_function
		return fault.Wrap(err, fault.Conflict, "the database has another schema than this build needs; run \"gateway migrate up\" of the newest build")
	case "26000", "42P05": // invalid_sql_statement_name, duplicate_prepared_statement
		return fault.Wrap(err, fault.Conflict, "the database is behind a pooler that assigns another connection to each transaction, where prepared statements are lost; set SLIPBOX_DATABASE_EXEC_MODE (database.exec_mode) to exec")
	case "42501": // insufficient_privilege
		return fault.Wrap(err, fault.Conflict, "the serving role lacks a right; run \"gateway migrate up\" again, which grants what it needs")
	}
	return nil
}

// translateState maps SQLSTATE to faults, by code and then by class (Postgres manual, appendix A).
func translateState(err error, e *pgconn.PgError) error {
	switch e.Code {
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return &fault.Error{Code: fault.Unavailable, Message: "the collection is busy with other writes", RetryAfter: time.Second, Err: err}
	case "57014": // query_canceled, by statement_timeout or by us
		return fault.Wrap(err, fault.Timeout, "the store did not answer in time")
	case "25006": // read_only_sql_transaction
		return fault.Wrap(err, fault.Unavailable, "the database is read-only; nothing was written")
	case "53100": // disk_full
		return fault.Wrap(err, fault.StorageFull, "no space left for the database; nothing was written")
	case "54000": // program_limit_exceeded, such as a row that does not fit its page
		return fault.Wrap(err, fault.TooLarge, "a value is too large for the store")
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "22": // data exception, such as a number beyond every range
		return fault.Wrap(err, fault.Invalid, "a value is beyond what the database can keep")
	case "08", "53", "57", "58": // connection, resources, operator intervention, system error
		return unreachable(err)
	}
	return fault.Wrap(withoutData(err, e), fault.Internal, "the store failed")
}

// withoutData removes what the server says about data: it quotes rows and values, and errors are
// logged. What it says about itself and its schema is kept.
func withoutData(err error, e *pgconn.PgError) error {
	switch e.Code[:min(2, len(e.Code))] {
	case "22", "23", "44", "P0": // data exception, integrity constraint, check of a view, raised by a function
		return &dataError{err: err, state: e}
	}
	return err
}

type dataError struct {
	err   error
	state *pgconn.PgError
}

// Error names the violated constraint.
func (d *dataError) Error() string {
	var text strings.Builder
	text.WriteString("SQLSTATE " + d.state.Code)
	for _, part := range []struct{ what, name string }{
		{"constraint", d.state.ConstraintName}, {"table", d.state.TableName}, {"column", d.state.ColumnName}, {"routine", d.state.Routine},
	} {
		if part.name != "" {
			text.WriteString(", " + part.what + " " + part.name)
		}
	}
	return text.String()
}

func (d *dataError) Unwrap() error { return d.err }

// isUniqueViolation reports whether an error is a violation of this unique constraint.
func isUniqueViolation(err error, constraint string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "23505" && e.ConstraintName == constraint
}
