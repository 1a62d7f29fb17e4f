package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/migrations"
)

// Dialect names the SQL dialect of migrations.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Schema is the version of a database beside that of this build.
type Schema struct {
	// Current is the version of the database; 0: it has none.
	Current int64
	// Known is the newest version that this build knows.
	Known int64
	// CompatibleFrom is the version that a build must know to work on the database. It is Current
	// when the database does not say.
	CompatibleFrom int64
	// Unreleased is true when Current is a number of the chain from before the first release.
	Unreleased bool
}

// ErrOlder is the cause of a refusal to open a database that this build has not migrated yet.
var ErrOlder = errors.New("start the server of this build once to upgrade it")

// Newer reports whether a newer build has migrated the database.
func (s Schema) Newer() bool { return !s.Unreleased && s.Current > s.Known }

// Usable returns nil unless a newer build has migrated the database and this build knows too little
// to work on it: then a Conflict.
func (s Schema) Usable() error {
	if s.Unreleased {
		return s.unreleased()
	}
	if !s.Newer() || s.Known >= s.CompatibleFrom {
		return nil
	}
	return fault.New(fault.Conflict, "the database has schema version %d, which needs a build that knows version %d; this build knows %d: run the newer build, or restore a backup made before the upgrade",
		s.Current, s.CompatibleFrom, s.Known)
}

// String describes the schema to an operator.
func (s Schema) String() string {
	switch {
	case s.Current == 0:
		return fmt.Sprintf("no schema; this build knows version %d", s.Known)
	case s.Unreleased:
		return fmt.Sprintf("schema version %d, from before the first release", s.Current)
	case s.Newer() && s.Usable() == nil:
		return fmt.Sprintf("schema version %d, from a newer build; this build knows %d and can work on it, as can all that know %d", s.Current, s.Known, s.CompatibleFrom)
	case s.Newer():
		return fmt.Sprintf("schema version %d, from a newer build; this build knows %d and cannot work on it, which needs %d", s.Current, s.Known, s.CompatibleFrom)
	case s.Current < s.Known:
		return fmt.Sprintf("schema version %d; this build knows %d and needs that", s.Current, s.Known)
	}
	return fmt.Sprintf("schema version %d, which this build knows; builds that know %d can work on it", s.Current, s.CompatibleFrom)
}

// CompatTable is the table of the versions that builds must know. Its rows say, for a version of the
// schema, which version a build must know to work on it.
const CompatTable = "schema_compat"

// Migrator moves a schema along its numbered steps. Each step is one transaction.
type Migrator struct {
	db       *sql.DB
	dialect  Dialect
	provider *goose.Provider
	steps    []migrations.Step
}

// NewMigrator returns a Migrator over a folder of numbered SQL files.
func NewMigrator(db *sql.DB, d Dialect, folder fs.FS) (*Migrator, error) {
	steps, err := migrations.Steps(folder)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	dialect := goose.DialectSQLite3
	if d == Postgres {
		dialect = goose.DialectPostgres
	}
	p, err := goose.NewProvider(dialect, db, folder, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return &Migrator{db: db, dialect: d, provider: p, steps: steps}, nil
}

// Schema returns the version of the database. It creates the table of applied steps when there is
// none.
func (m *Migrator) Schema(ctx context.Context) (s Schema, err error) {
	if s.Current, s.Known, err = m.provider.GetVersions(ctx); err != nil {
		return s, fmt.Errorf("read schema version: %w", err)
	}
	if err := m.db.QueryRowContext(ctx, "SELECT "+UnreleasedSteps+" FROM goose_db_version").Scan(&s.Unreleased); err != nil {
		return s, fmt.Errorf("read applied steps: %w", err)
	}
	s.CompatibleFrom = s.Current
	stored, err := m.storesCompat(ctx)
	if err != nil || !stored {
		s.Unreleased = s.Current > 0 // the first step of a release has the table
		return s, err
	}
	err = m.db.QueryRowContext(ctx, fmt.Sprintf("SELECT compatible_from FROM "+CompatTable+" WHERE version = %d", s.Current)).Scan(&s.CompatibleFrom)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s, fmt.Errorf("read compatible versions: %w", err)
	}
	return s, nil
}

// storesCompat reports whether the database has the table of compatible versions.
func (m *Migrator) storesCompat(ctx context.Context) (found bool, err error) {
	query := "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = '" + CompatTable + "'"
	if m.dialect == Postgres {
		query = "SELECT to_regclass('" + CompatTable + "') IS NOT NULL"
	}
	if err := m.db.QueryRowContext(ctx, query).Scan(&found); err != nil {
		return false, fmt.Errorf("look for %s: %w", CompatTable, err)
	}
	return found, nil
}

// Up applies the missing steps and records from which version builds are compatible. It changes
// nothing when a newer build has migrated the database and this build can work on it; when it
// cannot, that is a Conflict. Several processes may call it concurrently: one that loses the race tries
// again.
func (m *Migrator) Up(ctx context.Context) error {
	for try := 0; ; try++ {
		s, err := m.Schema(ctx)
		if err != nil {
			return err
		}
		switch {
		case s.Newer() || s.Unreleased && s.Current != lastUnreleased:
			return s.Usable()
		case s.Unreleased:
			if err = m.adopt(ctx); err == nil {
				continue
			}
		case s.Current < s.Known:
			// First, so that an older build that serves meanwhile finds the row of each new version.
			if err = m.record(ctx); err == nil {
				_, err = m.provider.Up(ctx)
			}
		}
		if err == nil {
			return m.record(ctx) // again, for the step that made the table
		}
		if try == 3 || ctx.Err() != nil {
			return fmt.Errorf("migrate: %w", errors.Join(err, ctx.Err()))
		}
	}
}

// record writes the rows of all steps, those that wait too, unless they are there or the table is not.
func (m *Migrator) record(ctx context.Context) error {
	stored, err := m.storesCompat(ctx)
	if err != nil || !stored {
		return err
	}
	have, err := m.recorded(ctx)
	if err != nil {
		return fmt.Errorf("read compatible versions: %w", err)
	}
	for _, step := range m.steps {
		if have[step.Version] == step.CompatibleFrom {
			continue
		}
		if _, err := m.db.ExecContext(ctx, fmt.Sprintf("INSERT INTO "+CompatTable+" (version, compatible_from) VALUES (%d, %d) ON CONFLICT (version) DO UPDATE SET compatible_from = excluded.compatible_from",
			step.Version, step.CompatibleFrom)); err != nil {
			return fmt.Errorf("record compatible versions: %w", err)
		}
	}
	return nil
}

// recorded returns the rows of the table, by version.
func (m *Migrator) recorded(ctx context.Context) (_ map[int64]int64, err error) {
	rows, err := m.db.QueryContext(ctx, "SELECT version, compatible_from FROM "+CompatTable)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	have := map[int64]int64{}
	for rows.Next() {
		var version, from int64
		if err := rows.Scan(&version, &from); err != nil {
			return nil, err
		}
		have[version] = from
	}
	return have, rows.Err()
}

// DownTo goes back to a version; 0 removes everything. A database from a newer build is a Conflict:
// this build does not know its steps.
func (m *Migrator) DownTo(ctx context.Context, version int64) error {
	s, err := m.Schema(ctx)
	if err != nil {
		return err
	}
	if s.Unreleased {
		return s.Usable()
	}
	if s.Newer() {
		return fault.New(fault.Conflict, "the database has schema version %d, this build knows %d: only the newer build can go back; run `gateway migrate down` of that", s.Current, s.Known)
	}
	stored, err := m.storesCompat(ctx)
	if err != nil {
		return err
	}
	if stored {
		// First, so that no row is left of a step that is gone.
		if _, err := m.db.ExecContext(ctx, fmt.Sprintf("DELETE FROM "+CompatTable+" WHERE version > %d", version)); err != nil {
			return fmt.Errorf("forget compatible versions: %w", err)
		}
	}
	if _, err := m.provider.DownTo(ctx, version); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}
