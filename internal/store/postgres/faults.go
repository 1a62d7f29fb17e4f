package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// errNoVector is why a connection is not usable: its database lacks pgvector.
var errNoVector = errors.New("the extension vector is missing")

// errNoSchema is why a database cannot serve: it is new, or was taken down to nothing.
var errNoSchema = fault.New(fault.Conflict, "the database has no schema; run \"gateway migrate up\" with the owner's MIGRATE_DATABASE_URL")

// translate turns what the server or the driver says into a fault. Faults pass
// as they are.
func (s *Store) translate(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if errors.Is(err, errNoVector) {
		return s.unfit(fault.Wrap(err, fault.Conflict, "the database has no extension vector; run \"gateway migrate up\" with the owner's MIGRATE_DATABASE_URL, or let an administrator run CREATE EXTENSION vector"))
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if u := setUp(err, e); u != nil {
			return s.unfit(u)
		}
		return translateState(err, e)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "the store did not answer in time")
	case errors.Is(err, context.Canceled):
		return fault.Wrap(err, fault.Unavailable, "the request was canceled")
	}
	return away(err) // the network, a server that stopped, a closed pool
}

func away(err error) error {
	return &fault.Error{Code: fault.Unavailable, Message: "the database cannot be reached", RetryAfter: time.Second, Err: err}
}

// unfit is what is wrong with the set-up. Who opens the store is told how to mend
// it; once it serves, callers can only try again, and the log says the rest.
func (s *Store) unfit(err error) error {
	if !s.serving {
		return err
	}
	return &fault.Error{Code: fault.Unavailable, Message: "the store cannot serve now", RetryAfter: time.Second, Err: err}
}

// setUp maps the states of a server, a schema or a role that cannot serve; nil
// for others.
func setUp(err error, e *pgconn.PgError) error {
	switch e.Code {
	case "28P01", "28000": // invalid_password, invalid_authorization_specification
		return fault.Wrap(err, fault.Unauthenticated, "the database refused the role or its password; check DATABASE_URL")
	case "3D000": // invalid_catalog_name
		return fault.Wrap(err, fault.Conflict, "the database named by DATABASE_URL does not exist; create it, then run \"gateway migrate up\"")
	case "42P01", "42703", "42883": // undefined_table, undefined_column, undefined_function
		return fault.Wrap(err, fault.Conflict, "the database has another schema than this build needs; run \"gateway migrate up\" of the newest build")
	case "42501": // insufficient_privilege
		return fault.Wrap(err, fault.Conflict, "the serving role lacks a right; run \"gateway migrate up\" again, which grants what it needs")
	}
	return nil
}

// translateState maps SQLSTATE, by code and then by class (Postgres manual,
// appendix A).
func translateState(err error, e *pgconn.PgError) error {
	switch e.Code {
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return &fault.Error{Code: fault.Unavailable, Message: "the collection is busy with other writes", RetryAfter: time.Second, Err: err}
	case "57014": // query_canceled, by statement_timeout or by us
		return fault.Wrap(err, fault.Timeout, "the store did not answer in time")
	case "53100": // disk_full
		return fault.Wrap(err, fault.StorageFull, "no space left for the database; nothing was written")
	case "54000": // program_limit_exceeded, such as a row that does not fit its page
		return fault.Wrap(err, fault.TooLarge, "a value is too large for the store")
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "22": // data exception, such as a number beyond every range
		return fault.Wrap(err, fault.Invalid, "a value is beyond what the database can keep")
	case "08", "53", "57", "58": // connection, resources, operator intervention, system error
		return away(err)
	}
	return fault.Wrap(unquoted(err, e), fault.Internal, "the store failed")
}

// unquoted leaves out what the server says about data, as it quotes rows and
// values then; errors are logged. What it says about itself and its schema stays.
func unquoted(err error, e *pgconn.PgError) error {
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

// Error names what was violated.
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

// unique tells whether an error is that a row with this constraint's key is
// there already.
func unique(err error, constraint string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "23505" && e.ConstraintName == constraint
}
