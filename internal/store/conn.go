package store

import (
	"context"
	"math"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Conn sends statements in a transaction. Those that both engines read alike are written in this package, with the parameters $1, $2
// and so on. An engine stores ids, times and JSON, of which the zero value is none, and permissions in its own form.
type Conn interface {
	// Each calls scan for each row of a query. scan must not send statements.
	Each(ctx context.Context, text string, args []any, scan func(Scanner) error) error
	// Exec returns how many rows a statement changed.
	Exec(ctx context.Context, text string, args ...any) (int64, error)
	// Later is Exec for a statement whose result is not needed; it may go with the next one.
	Later(ctx context.Context, text string, args ...any) error
	// Permissions returns a destination for a column of permissions.
	Permissions(*[]tenant.Permission) any
}

// collect returns what scan reads from each row.
func collect[R any](ctx context.Context, q Conn, text string, args []any, scan func(Scanner) (R, error)) (out []R, err error) {
	err = q.Each(ctx, text, args, func(row Scanner) error {
		r, err := scan(row)
		out = append(out, r)
		return err
	})
	return out, err
}

// First returns the first row of a result; ok is false when there is none.
func First[R any](rows []R, err error) (row R, ok bool, _ error) {
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	return rows[0], true, nil
}

// all runs statements of which each takes the same arguments.
func all(ctx context.Context, q Conn, args []any, texts ...string) error {
	for _, text := range texts {
		if err := q.Later(ctx, text, append([]any(nil), args...)...); err != nil {
			return err
		}
	}
	return nil
}

// inserted returns taken unless a statement has inserted a row.
func inserted(n int64, err, taken error) error {
	if err == nil && n == 0 {
		err = taken
	}
	return err
}

// atMost is the end of a query that returns as many rows as a parameter says. Without the cast the embedded engine prepares a
// statement again for each number.
func atMost(parameter string) string { return " LIMIT CAST(" + parameter + " AS bigint)" }

// Limit returns a limit of rows where 0 is none.
func Limit(n int) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	return int64(n)
}
