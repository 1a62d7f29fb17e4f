package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// A replica is a standby of the database, a moment behind it. It serves the reads that are long and whose answer cannot change any
// more: the log up to a revision, from which an index is filled, and exact scans of a view while there is no index. It is asked
// first whether it has replayed the revision. A standby replays commits in their order, so then it also has all that was
// committed before. If not, or if it does not answer, the database itself is read, so a caller always reads its own writes.

const (
	// replicaPause is how long a replica that failed is not asked.
	replicaPause = 5 * time.Second
	// replicaConnect bounds a connection to a replica, since the database can serve in its place.
	replicaConnect = time.Second
)

// replica is a standby.
type replica struct {
	server

	failed atomic.Int64 // when it last failed, in ms; 0: never

	// Reads of the past by what became of them. All but those served are answered by the database.
	served, behind, unserved atomic.Int64
}

// rests reports whether it failed so recently that it is not asked.
func (r *replica) rests() bool { return time.Since(time.UnixMilli(r.failed.Load())) <= replicaPause }

// openReplica returns nil when there is none. It does not connect: a replica may be down.
func openReplica(ctx context.Context, c Config, d Deps, user string) (*replica, error) {
	if c.ReplicaURL == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	c.URL = c.ReplicaURL
	pc, err := poolConfig(c, d)
	switch {
	case fault.Is(err, fault.Invalid):
		return nil, fault.InvalidField("database_replica_url", "cannot be read: %v", err)
	case err != nil:
		return nil, err
	case pc.ConnConfig.User != user:
		return nil, fault.InvalidField("database_replica_url", "must connect as %s, the role of DATABASE_URL, whom row-level security limits", user)
	}
	pc.MinIdleConns = 0
	pc.ConnConfig.ConnectTimeout = replicaConnect
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, err
	}
	return &replica{server: server{pool, newTurns(pc, c.Rest)}}, nil
}

// replayed counts the layers whose revision and erasures the server has.
const replayed = `SELECT COUNT(*) FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) l (layer, bound, epoch)
 CROSS JOIN LATERAL (SELECT * FROM collection_heads h WHERE h.tenant = $1 AND h.collection = l.layer LIMIT 1) h WHERE h.head >= l.bound AND h.erase_epoch >= l.epoch`

// errBehind is the error of a read at a replica that lacks a revision.
var errBehind = errors.New("the replica is behind")

// readingPast is reading for what layers hold up to their bounds: at the replica if it has that. fn may run more than once.
func (s *Store) readingPast(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, fn func(context.Context, *session) error) error {
	if s.replica != nil {
		if served, err := s.readingReplica(ctx, tenantID, layers, fn); served {
			return s.translate(err)
		}
	}
	return s.reading(ctx, tenantID, fn)
}

// readingReplica reads at the replica. served is false when the database has to answer.
func (s *Store) readingReplica(
	ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, fn func(context.Context, *session) error,
) (served bool, err error) {
	r := s.replica
	if r.rests() {
		r.unserved.Add(1)
		return false, nil
	}
	err = s.readingAt(ctx, r.server, tenantID, func(ctx context.Context, q *session) error {
		has, err := q.hasReplayed(ctx, layers)
		if err == nil && !has {
			err = errBehind
		}
		if err != nil {
			return err
		}
		return fn(ctx, q)
	})
	switch {
	case err == nil:
		r.served.Add(1)
		return true, nil
	case ctx.Err() != nil:
		return true, err
	case errors.Is(err, errBehind):
		r.behind.Add(1)
		return false, nil
	case !isAborted(err):
		r.failed.Store(time.Now().UnixMilli())
		s.log.WarnContext(ctx, "the replica failed; the database is read in its place", slog.Any("error", err))
	}
	r.unserved.Add(1)
	return false, nil
}

func (q *session) hasReplayed(ctx context.Context, layers []memory.Layer) (bool, error) {
	of := make(ids, len(layers))
	bounds, epochs := make([]int64, len(layers)), make([]int64, len(layers))
	for i, l := range layers {
		of[i], bounds[i], epochs[i] = l.Collection, rev(l.Bound), l.EraseEpoch
	}
	var has int
	_, err := q.get(ctx, replayed, []any{q.tenant, of, bounds, epochs}, &has)
	return has == len(layers), err
}

// ReplicaFacts describe the standby to an operator.
type ReplicaFacts struct {
	Standby bool // it follows a database; false: it takes writes itself
	// Lag is the age of the newest commit that it has replayed, 0 when it has replayed all that the database has.
	Lag time.Duration
}

const (
	// replicaGrace is how long a standby may take to replay what the database has just written, without being behind.
	replicaGrace = 200 * time.Millisecond
	replicaAgain = 20 * time.Millisecond
)

// HasReplica reports whether a standby is set.
func (s *Store) HasReplica() bool { return s.replica != nil }

// CheckReplica returns why the standby does not serve reads; nil: it does.
func (s *Store) CheckReplica(ctx context.Context) error {
	if s.replica.rests() {
		return fault.New(fault.Unavailable, "the standby failed, and is not asked for now")
	}
	ctx, cancel := context.WithTimeout(ctx, replicaConnect)
	defer cancel()
	return s.translate(s.replica.pool.Ping(ctx))
}

// ReplicaFacts compares the standby with the database.
func (s *Store) ReplicaFacts(ctx context.Context) (f ReplicaFacts, err error) {
	var written string
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		_, err := q.get(ctx, "SELECT pg_current_wal_flush_lsn()::text", nil, &written)
		return err
	})
	if err != nil {
		return f, err
	}
	const state = `SELECT pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, true),
 extract(epoch FROM clock_timestamp() - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()))::float8`
	again := time.NewTicker(replicaAgain)
	defer again.Stop()
	for start := time.Now(); ; {
		var has bool
		var age float64
		err := s.readingAt(ctx, s.replica.server, uuid.Nil, func(ctx context.Context, q *session) error {
			_, err := q.get(ctx, state, []any{written}, &f.Standby, &has, &age)
			return err
		})
		if err != nil || has || !f.Standby {
			return f, s.translate(err)
		}
		if time.Since(start) >= replicaGrace {
			f.Lag = time.Duration(age * float64(time.Second))
			return f, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return f, ctx.Err()
		}
	}
}

// replicaMeasured bounds what one reading of the metrics asks the standby.
const replicaMeasured = 2 * time.Second

// MeasureReplica exports the metrics of the standby; none without one.
func (s *Store) MeasureReplica(p metric.MeterProvider) error {
	r := s.replica
	if r == nil {
		return nil
	}
	m := p.Meter("slipbox/store/postgres")
	available, err := m.Int64ObservableGauge("slipbox.replica.available",
		metric.WithDescription("1 while the standby answers, 0 while the database serves its reads."))
	if err != nil {
		return err
	}
	lag, err := m.Float64ObservableGauge("slipbox.replica.lag", metric.WithUnit("s"),
		metric.WithDescription("Age of the newest commit that the standby has replayed; 0 when it has replayed all."))
	if err != nil {
		return err
	}
	reads, err := m.Int64ObservableCounter("slipbox.replica.reads", metric.WithUnit("{read}"),
		metric.WithDescription("Reads of the past: served by the standby, or by the database because the standby was behind or failed."))
	if err != nil {
		return err
	}
	_, err = m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		for outcome, n := range map[string]*atomic.Int64{"served": &r.served, "behind": &r.behind, "failed": &r.unserved} {
			o.ObserveInt64(reads, n.Load(), metric.WithAttributes(telemetry.ReplicaOutcome.String(outcome)))
		}
		ctx, cancel := context.WithTimeout(ctx, replicaMeasured)
		defer cancel()
		var up int64
		if !r.rests() {
			if f, err := s.ReplicaFacts(ctx); err == nil {
				up = 1
				o.ObserveFloat64(lag, f.Lag.Seconds())
			}
		}
		o.ObserveInt64(available, up)
		return nil
	}, available, lag, reads)
	return err
}
