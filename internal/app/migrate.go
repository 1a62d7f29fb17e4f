package app

import (
	"context"
	"io/fs"
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/migrations"
)

// Migration is one migration of the Postgres schema.
type Migration struct {
	Version int64
	Name    string
	Applied bool
}

// errEmbedded is returned when the settings name no Postgres database.
var errEmbedded = fault.New(fault.Conflict, "the embedded store migrates itself when `gateway serve` starts; set MIGRATE_DATABASE_URL (or DATABASE_URL) to the owner of a Postgres database to migrate that")

// MigrateUp migrates the Postgres schema to the version of this build and grants the serving role
// its privileges.
func MigrateUp(ctx context.Context, cfg Settings) error {
	if cfg.MigrateDatabaseURL == "" {
		return errEmbedded
	}
	return postgres.Migrate(ctx, cfg.MigrateDatabaseURL, cfg.Database.Role)
}

// MigrateDown migrates the Postgres schema down to a version. Data that only later versions can
// hold is lost.
func MigrateDown(ctx context.Context, cfg Settings, to int64) error {
	steps, err := Migrations(ctx, cfg)
	if err != nil {
		return err
	}
	known := to == 0
	for _, s := range steps {
		known = known || s.Version == to
	}
	if !known {
		return fault.New(fault.Invalid, "there is no version %d; `gateway migrate status` lists them", to)
	}
	return postgres.MigrateDown(ctx, cfg.MigrateDatabaseURL, to)
}

// Migrations lists the migrations of this build, oldest first, with which of them the database
// has. Migrations of a newer build that the database has follow.
func Migrations(ctx context.Context, cfg Settings) ([]Migration, error) {
	if cfg.MigrateDatabaseURL == "" {
		return nil, errEmbedded
	}
	current, known, err := postgres.MigrationStatus(ctx, cfg.MigrateDatabaseURL)
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(migrations.Postgres, "postgres/*.sql")
	if err != nil {
		return nil, err
	}
	var out []Migration
	for _, f := range files {
		number, name, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(f, "postgres/"), ".sql"), "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "the migration %s has no number", f)
		}
		out = append(out, Migration{Version: v, Name: strings.ReplaceAll(name, "_", " "), Applied: v <= current})
	}
	for v := known + 1; v <= current; v++ {
		out = append(out, Migration{Version: v, Name: "of a newer build", Applied: true})
	}
	return out, nil
}
