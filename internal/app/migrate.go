package app

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
)

// Migration is one migration of the Postgres schema.
type Migration struct {
	Version int64
	Name    string
	Applied bool
}

// errEmbedded is returned when the settings name no Postgres database.
var errEmbedded = fault.New(fault.Conflict, "the embedded store migrates itself when `gateway serve` starts; set MIGRATE_DATABASE_URL (or DATABASE_URL) to the owner of a Postgres database to migrate that")

// MigrateUp migrates the Postgres schema to the version of this build, grants the serving role
// its privileges, and distributes the tables if the settings say so.
func MigrateUp(ctx context.Context, cfg Settings) error {
	if cfg.MigrateDatabaseURL == "" {
		return errEmbedded
	}
	if err := postgres.Migrate(ctx, cfg.MigrateDatabaseURL, cfg.Database.Role); err != nil || !cfg.Database.Distributed {
		return err
	}
	return postgres.Distribute(ctx, cfg.MigrateDatabaseURL)
}

// MigrateDown migrates the Postgres schema down to a version. Data that only later versions can
// hold is lost.
func MigrateDown(ctx context.Context, cfg Settings, to int64) error {
	steps, _, err := Migrations(ctx, cfg)
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
// has, and where the database is. Migrations of a newer build that the database has follow.
func Migrations(ctx context.Context, cfg Settings) ([]Migration, store.Schema, error) {
	if cfg.MigrateDatabaseURL == "" {
		return nil, store.Schema{}, errEmbedded
	}
	schema, err := postgres.MigrationStatus(ctx, cfg.MigrateDatabaseURL)
	if err != nil {
		return nil, schema, err
	}
	steps, err := postgres.Migrations()
	if err != nil {
		return nil, schema, err
	}
	var out []Migration
	for _, s := range steps {
		out = append(out, Migration{Version: s.Version, Name: s.Name, Applied: s.Version <= schema.Current})
	}
	for v := schema.Known + 1; schema.Newer() && v <= schema.Current; v++ {
		out = append(out, Migration{Version: v, Name: "of a newer build", Applied: true})
	}
	return out, schema, nil
}
