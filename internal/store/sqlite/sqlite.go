package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/slipboxhq/slipbox/internal/cpus"
	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/migrations"
)

// Config configures the engine.
type Config struct {
	// Path of the file. Its directory must exist. Required.
	Path string
	// BusyTimeout is how long a write waits for another process that is
	// writing. Default 10 s.
	BusyTimeout time.Duration
	// Readers is the size of the read pool. Default 2 per CPU, at least 8.
	Readers int
	// Rest is a step of the rest of a read of a tenant that floods (fair.Rest). Default none.
	Rest time.Duration
	// Reserve is the size of a file beside the database whose space is for deletions on a full disk, at most
	// a quarter of the disk; 0: none. Only the process that serves the file has one.
	Reserve int64
	// VacuumBelow is the size, in bytes, below which a file is vacuumed after an erasure; 0: never.
	VacuumBelow int64
	// NoMigrate refuses a file of an older schema instead of migrating it; for tools beside a
	// running server. A file that does not exist is then NotFound, and is not created.
	NoMigrate bool
}

// Deps are the dependencies of the engine.
type Deps struct {
	Clock  memory.Clock // nil: time.Now
	Logger *slog.Logger // nil: silent
}

// Store is the embedded engine. It implements store.Store and store.Backuper.
type Store struct {
	store.Base

	groups    groups
	pages     atomic.Int64 // read by statements, see Measure
	path      string
	busy      time.Duration
	schema    store.Schema // at Open
	clock     memory.Clock
	log       *slog.Logger
	write     *pool      // of one session
	turns     *fair.Gate // before write
	read      *pool
	readTurns *fair.Gate // before read
	closed    chan struct{}

	reserve     reserve
	checkpoints checkpoints
	vacuums     vacuums
	walLimit    int64 // in bytes
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Backuper = (*Store)(nil)
)

// Open opens or creates the file and migrates its schema. A damaged file is Internal, with what to
// do in the message; one of a newer build that this build cannot work on is a Conflict; a directory that cannot be written is
// Unavailable.
func Open(ctx context.Context, c Config, d Deps) (*Store, error) {
	if c.Path == "" {
		return nil, fault.InvalidField("path", "is required")
	}
	if c.BusyTimeout <= 0 {
		c.BusyTimeout = 10 * time.Second
	}
	if c.Readers <= 0 {
		c.Readers = max(8, 2*runtime.NumCPU())
	}
	if d.Clock == nil {
		d.Clock = time.Now
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{path: c.Path, busy: c.BusyTimeout, walLimit: walLimit, clock: d.Clock, log: d.Logger, turns: fair.NewGate(1, 0), closed: make(chan struct{})}
	s.groups.waiting = map[uuid.UUID][]*request{}
	s.Base = store.NewBase(transactions{s}, s.now)
	if err := s.prepareFile(c); err != nil {
		return nil, err
	}
	wdb, err := sql.Open("sqlite", dsn(c, false))
	if err != nil {
		return nil, s.translate(err)
	}
	wdb.SetMaxOpenConns(1)
	rdb, err := sql.Open("sqlite", dsn(c, true))
	if err != nil {
		return nil, errors.Join(s.translate(err), wdb.Close())
	}
	rdb.SetMaxOpenConns(c.Readers)
	fresh, err := s.migrate(ctx, wdb, c.NoMigrate)
	if err != nil {
		return nil, errors.Join(s.translate(err), wdb.Close(), rdb.Close())
	}
	s.write, s.read = newPool(wdb, 1, &s.pages), newPool(rdb, c.Readers, &s.pages)
	// More reads of one tenant than there are CPUs would only take turns of these.
	s.readTurns = fair.NewGate(c.Readers, max(2, cpus.Count())).Resting(c.Rest)
	if err := errors.Join(s.openReserve(ctx, c), s.openVacuums(ctx, c, fresh)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepareFile creates the file with the right mode.
func (s *Store) prepareFile(c Config) error {
	if c.NoMigrate {
		_, err := os.Stat(c.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.NotFound, "there is no database at %s", c.Path)
		}
		return nil
	}
	f, err := os.OpenFile(c.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "cannot write the database file %s; check the directory, its owner and its mode", c.Path)
	}
	if err := f.Close(); err != nil {
		return fault.Wrap(err, fault.Unavailable, "cannot write the database file %s", c.Path)
	}
	return nil
}

// migrate reports whether the file had no schema before.
func (s *Store) migrate(ctx context.Context, db *sql.DB, refuse bool) (fresh bool, err error) {
	folder, err := fs.Sub(migrations.SQLite, "sqlite")
	if err != nil {
		return false, fmt.Errorf("embedded migrations: %w", err)
	}
	if err := db.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)").Scan(&fresh); err != nil {
		return false, err
	}
	m, err := store.NewMigrator(db, store.SQLite, folder)
	if err != nil {
		return false, err
	}
	if !refuse {
		if err := m.Up(ctx); err != nil {
			return false, err
		}
	}
	if s.schema, err = m.Schema(ctx); err != nil {
		return false, err
	}
	if !s.schema.Unreleased && s.schema.Current < s.schema.Known {
		return false, fault.Wrap(store.ErrOlder, fault.Conflict, "the database has schema version %d, this build needs %d", s.schema.Current, s.schema.Known)
	}
	return fresh, s.schema.Usable()
}

// Schema returns the version of the database when it was opened.
func (s *Store) Schema(context.Context) (store.Schema, error) { return s.schema, nil }

// The pages that a connection keeps, in KiB. A write by another connection empties the cache of a reader, and
// the system has the pages too, so a reader needs little more than the upper levels of its trees.
const (
	writerCache = 16 << 10
	readerCache = 4 << 10
)

// dsn puts every pragma into the data source name, so that each connection has them.
func dsn(c Config, readOnly bool) string {
	path, err := filepath.Abs(c.Path)
	if err != nil {
		path = c.Path
	}
	cache := writerCache
	if readOnly {
		cache = readerCache
	}
	q := url.Values{}
	for _, p := range []string{
		fmt.Sprintf("busy_timeout(%d)", c.BusyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"secure_delete(1)",
		"temp_store(MEMORY)",
		fmt.Sprintf("cache_size(%d)", -cache),
		"wal_autocheckpoint(0)", // see checkpointLater
		fmt.Sprintf("journal_size_limit(%d)", walLimit),
		"trusted_schema(0)",
	} {
		q.Add("_pragma", p)
	}
	if readOnly {
		q.Set("_query_only", "1")
	}
	q.Set("_dqs", "0")
	q.Set("_defensive", "1")
	q.Set("_error_rc", "1")
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	return strings.Replace(u.String(), "file:/", "file:///", 1)
}

// Measure exports how many pages of the database statements have read, and the vacuums. A plan that looks at all rows of a
// collection to return one of them looks at all their pages, so the pages of a request must not grow with a collection.
func (s *Store) Measure(p metric.MeterProvider) error {
	m, errs := p.Meter("slipbox/store/sqlite"), [3]error{}
	var pages, vacuums metric.Int64ObservableCounter
	var unvacuumed metric.Int64ObservableGauge
	pages, errs[0] = m.Int64ObservableCounter("slipbox.database.pages", metric.WithUnit("{page}"),
		metric.WithDescription("Pages of the embedded database that statements read, cached or not."))
	vacuums, errs[1] = m.Int64ObservableCounter("slipbox.database.vacuums", metric.WithUnit("{vacuum}"),
		metric.WithDescription("Vacuums of the embedded database after erasures: done, or failed."))
	unvacuumed, errs[2] = m.Int64ObservableGauge("slipbox.database.unvacuumed", metric.WithUnit("By"),
		metric.WithDescription("Size of an embedded database whose pages may keep pieces of what was erased; 0 when they do not."))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	_, err := m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		o.ObserveInt64(pages, s.pages.Load())
		for outcome, n := range map[string]*atomic.Int64{"done": &s.vacuums.done, "failed": &s.vacuums.failed} {
			o.ObserveInt64(vacuums, n.Load(), metric.WithAttributes(telemetry.VacuumOutcome.String(outcome)))
		}
		if size, err := s.unvacuumed(ctx); err == nil {
			o.ObserveInt64(unvacuumed, size)
		}
		return nil
	}, pages, vacuums, unvacuumed)
	return err
}

// now returns the time of a transaction.
func (s *Store) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	return s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		var one int
		_, err := q.get(ctx, "SELECT 1 FROM tenants LIMIT 1", nil, &one)
		return err
	})
}

// Size implements store.Store.
func (s *Store) Size(context.Context) (int64, error) {
	var n int64
	for _, suffix := range []string{"", "-wal"} {
		st, err := os.Stat(s.path + suffix)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return 0, s.translate(err)
		}
		n += st.Size()
	}
	return n, nil
}

// Close waits for the running write, vacuums the file if something was erased, moves the WAL into the file when no other process
// uses it, and closes all connections.
func (s *Store) Close() error {
	select {
	case <-s.closed:
		return nil
	default:
		close(s.closed)
	}
	ctx := context.Background()
	s.checkpoints.stop()
	err := s.read.close()
	w, werr := s.write.take(ctx)
	if werr != nil {
		return errors.Join(err, werr)
	}
	if s.vacuums.owed.Load() {
		_ = s.vacuumErased(ctx, w) // it is logged, and the next process tries it again
	}
	if _, _, _, e := w.moveWAL(ctx, "TRUNCATE"); e != nil {
		// The WAL is durable; the next open moves it into the file.
		s.log.WarnContext(ctx, "checkpoint at close failed", "error", e)
	}
	s.write.give(w)
	return errors.Join(err, s.write.close(), s.checkpoints.close())
}
