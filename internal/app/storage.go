package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// openStore opens the store that the settings ask for, for a process that
// serves. The caller holds the data directory of an embedded one, which is
// migrated. ready tells whether the store can serve, from then on.
func openStore(ctx context.Context, cfg Settings, log *slog.Logger, tel *telemetry.Telemetry) (st store.Store, ready func(context.Context) error, err error) {
	if !cfg.Servers() {
		st, err := openData(ctx, cfg, time.Now, log, true)
		if err != nil {
			return nil, nil, err
		}
		return st, st.Ping, nil
	}
	pg, err := openServers(ctx, cfg, log, postgres.NewTracer(tel.Tracers(), tel.Meters()))
	if err != nil {
		return nil, nil, err
	}
	if err := pg.MeasurePool(tel.Meters()); err != nil {
		return nil, nil, errors.Join(err, pg.Close())
	}
	return pg, func(ctx context.Context) error {
		// During an upgrade this build serves on while the schema is ahead of it already.
		if err := pg.SchemaAtHead(ctx); !errors.Is(err, store.ErrNewerSchema) {
			return err
		}
		return nil
	}, nil
}

// openTool opens the store beside running servers: it migrates nothing.
func openTool(ctx context.Context, cfg Settings, log *slog.Logger) (store.Store, error) {
	if cfg.Servers() {
		return openServers(ctx, cfg, log, nil)
	}
	return openToolData(ctx, cfg, log)
}

func openServers(ctx context.Context, cfg Settings, log *slog.Logger, tracer postgres.Tracer) (*postgres.Store, error) {
	d := cfg.Database
	return postgres.Open(ctx,
		postgres.Config{
			URL: cfg.DatabaseURL, ExecMode: d.ExecMode, Connections: d.Connections,
			StatementTimeout: d.StatementTimeout, LockTimeout: d.LockTimeout,
		},
		postgres.Deps{Logger: log, Tracer: tracer})
}

// openData opens the embedded store. Only the holder of the directory migrates.
func openData(ctx context.Context, cfg Settings, clock memory.Clock, log *slog.Logger, holder bool) (*sqlite.Store, error) {
	return sqlite.Open(ctx,
		sqlite.Config{Path: filepath.Join(cfg.Data, databaseFile), NoMigrate: !holder},
		sqlite.Deps{Clock: clock, Logger: log})
}

func openToolData(ctx context.Context, cfg Settings, log *slog.Logger) (*sqlite.Store, error) {
	if info, err := os.Stat(cfg.Data); err == nil && !info.IsDir() {
		return nil, notDirectory(cfg.Data)
	}
	st, err := openData(ctx, cfg, time.Now, log, false)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "there is no store in %s yet; start `gateway serve` once, or name another directory with --data", cfg.Data)
	}
	return st, err
}
