package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Dialect names the SQL dialect of migrations.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Migrator moves a schema along its numbered steps. Each step is one transaction.
type Migrator struct{ provider *goose.Provider }

// NewMigrator returns a Migrator over a folder of numbered SQL files.
func NewMigrator(db *sql.DB, d Dialect, folder fs.FS) (*Migrator, error) {
	dialect := goose.DialectSQLite3
	if d == Postgres {
		dialect = goose.DialectPostgres
	}
	p, err := goose.NewProvider(dialect, db, folder, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return &Migrator{provider: p}, nil
}

// Versions returns the version of the database and the newest one that this build knows. It creates
// the table of applied steps when there is none.
func (m *Migrator) Versions(ctx context.Context) (current, known int64, err error) {
	current, known, err = m.provider.GetVersions(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read schema version: %w", err)
	}
	return current, known, nil
}

// Up applies the missing steps. A database from a newer build is a Conflict. Several processes may
// call it at once: one that loses the race tries again.
func (m *Migrator) Up(ctx context.Context) error {
	for try := 0; ; try++ {
		current, known, err := m.Versions(ctx)
		if err != nil {
			return err
		}
		if current > known {
			return NewerSchema(current, known)
		}
		if current == known {
			return nil
		}
		_, err = m.provider.Up(ctx)
		if err == nil {
			return nil
		}
		if try == 3 || ctx.Err() != nil {
			return fmt.Errorf("migrate: %w", errors.Join(err, ctx.Err()))
		}
	}
}

// DownTo goes back to a version; 0 removes everything. A database from a newer build is a Conflict:
// this build does not know its steps.
func (m *Migrator) DownTo(ctx context.Context, version int64) error {
	current, known, err := m.Versions(ctx)
	if err != nil {
		return err
	}
	if current > known {
		return NewerSchema(current, known)
	}
	if _, err := m.provider.DownTo(ctx, version); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

// ErrNewerSchema is in the chain of NewerSchema.
var ErrNewerSchema = errors.New("the schema is of a newer build")

// NewerSchema returns the fault for a database that a newer build has migrated.
func NewerSchema(current, known int64) error {
	return fault.Wrap(ErrNewerSchema, fault.Conflict, "the database has schema version %d, this build knows %d: run the newer build, or restore a backup made before the upgrade", current, known)
}
