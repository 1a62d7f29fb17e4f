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

// openStore opens the store of a serving process. It migrates an embedded store, whose data
// directory the caller has locked.
func openStore(ctx context.Context, cfg Settings, log *slog.Logger, tel *telemetry.Telemetry) (store.Store, storeChecks, error) {
	if !cfg.Servers() {
		st, err := openEmbedded(ctx, cfg, time.Now, log, true)
		if err != nil {
			return nil, storeChecks{}, err
		}
		if err := st.Measure(tel.Meters()); err != nil {
			return nil, storeChecks{}, errors.Join(err, st.Close())
		}
		return st, storeChecks{ready: st.Ping, writes: st.CheckWrites}, nil
	}
	pg, err := openServers(ctx, cfg, log, postgres.NewTracer(tel.Tracers(), tel.Meters()))
	if err != nil {
		return nil, storeChecks{}, err
	}
	if err := errors.Join(pg.MeasurePool(tel.Meters()), pg.MeasureReplica(tel.Meters())); err != nil {
		return nil, storeChecks{}, errors.Join(err, pg.Close())
	}
	warnUnsafe(ctx, pg, log)
	// During an upgrade this build keeps serving while it can work on the newer schema.
	checks := storeChecks{writes: pg.CheckWrites, ready: pg.CheckSchema}
	if pg.HasReplica() {
		checks.replica = pg.CheckReplica
	}
	return pg, checks, nil
}

// warnUnsafe writes a line when a crash of the server may lose what clients were told is stored.
func warnUnsafe(ctx context.Context, pg *postgres.Store, log *slog.Logger) {
	facts, err := pg.Facts(ctx)
	if err == nil && len(facts.Unsafe) > 0 {
		log.WarnContext(ctx, "a crash of Postgres may lose or damage what clients were told is stored: switch these settings on", "off", facts.Unsafe)
	}
}

// storeChecks are conditions of a store for /readyz: each returns nil, or why it does not hold.
type storeChecks struct {
	ready   func(context.Context) error // it can serve
	writes  func(context.Context) error // writes can succeed
	replica func(context.Context) error // the standby serves; nil: there is none
}

// openToolStore opens the store for a command, perhaps while servers run. It migrates nothing.
func openToolStore(ctx context.Context, cfg Settings, log *slog.Logger) (store.Store, error) {
	if cfg.Servers() {
		return openServers(ctx, cfg, log, nil)
	}
	return openToolEmbedded(ctx, cfg, log)
}

func openServers(ctx context.Context, cfg Settings, log *slog.Logger, tracer postgres.Tracer) (*postgres.Store, error) {
	d := cfg.Database
	return postgres.Open(ctx,
		postgres.Config{
			URL: cfg.DatabaseURL, ReplicaURL: cfg.ReplicaURL, ExecMode: d.ExecMode, Connections: d.Connections,
			StatementTimeout: d.StatementTimeout, LockTimeout: d.LockTimeout, Distributed: d.Distributed, Rest: cfg.Limits.FloodRest,
		},
		postgres.Deps{Logger: log, Tracer: tracer})
}

// openEmbedded opens the embedded store, and migrates it when holder is true: when this process has
// locked the directory.
func openEmbedded(ctx context.Context, cfg Settings, clock memory.Clock, log *slog.Logger, holder bool) (*sqlite.Store, error) {
	var reserve int64
	if holder {
		reserve = cfg.DiskReserve
	}
	return sqlite.Open(ctx,
		sqlite.Config{Path: filepath.Join(cfg.Data, databaseFile), NoMigrate: !holder, Reserve: reserve, VacuumBelow: cfg.VacuumBelow, Rest: cfg.Limits.FloodRest},
		sqlite.Deps{Clock: clock, Logger: log})
}

func openToolEmbedded(ctx context.Context, cfg Settings, log *slog.Logger) (*sqlite.Store, error) {
	if info, err := os.Stat(cfg.Data); err == nil && !info.IsDir() {
		return nil, errNotDirectory(cfg.Data)
	}
	st, err := openEmbedded(ctx, cfg, time.Now, log, false)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "there is no store in %s yet; start `gateway serve` once, or name another directory with --data or SLIPBOX_DATA", cfg.Data)
	}
	return st, err
}
