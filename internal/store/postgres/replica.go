package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
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
}

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
 JOIN collection_heads h ON h.tenant = $1 AND h.collection = l.layer AND h.head >= l.bound AND h.erase_epoch >= l.epoch`

// errBehind is the error of a read at a replica that lacks a revision.
var errBehind = errors.New("the replica is behind")

// readingPast is reading for what layers hold up to their bounds: at the replica if it has that. fn may run more than once.
func (s *Store) readingPast(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, fn func(context.Context, *session) error) error {
	if r := s.replica; r != nil && time.Since(time.UnixMilli(r.failed.Load())) > replicaPause {
		err := s.readingAt(ctx, r.server, tenantID, func(ctx context.Context, q *session) error {
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
		case err == nil || ctx.Err() != nil:
			return s.translate(err)
		case !errors.Is(err, errBehind) && !isAborted(err):
			r.failed.Store(time.Now().UnixMilli())
			s.log.WarnContext(ctx, "the replica failed; the database is read in its place", slog.Any("error", err))
		}
	}
	return s.reading(ctx, tenantID, fn)
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
