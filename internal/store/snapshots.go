package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// snapshots returns the named revisions of a collection.
func snapshots(ctx context.Context, q Conn, tenantID, collection uuid.UUID) ([]memory.Snapshot, error) {
	return collect(ctx, q, "SELECT name, revision, created_at FROM snapshots WHERE tenant = $1 AND collection = $2 ORDER BY name",
		[]any{tenantID, collection}, func(row Scanner) (memory.Snapshot, error) {
			n := memory.Snapshot{Collection: collection}
			err := row.Scan(&n.Name, &n.Revision, Time(&n.CreatedAt))
			return n, err
		})
}

// CreateSnapshot implements memory.SnapshotStore.
func (b *Base) CreateSnapshot(ctx context.Context, s tenant.Scope, n memory.Snapshot, audit memory.AuditEntry) (memory.Snapshot, error) {
	if err := Text("name", n.Name); err != nil {
		return n, err
	}
	err := b.write(ctx, s, func(ctx context.Context, q Session) error {
		q.HoldCollections(s.Tenant(), n.Collection)
		r, err := ReachVisible(ctx, q, s, n.Collection, b.now())
		if err != nil {
			return err
		}
		if err := CheckRevision("revision", &r.Collection, n.Revision); err != nil {
			return err
		}
		have, err := snapshots(ctx, q, s.Tenant(), n.Collection)
		if err != nil {
			return err
		}
		if len(have) >= memory.MaxSnapshots {
			return fault.New(fault.QuotaExceeded, "a collection has at most %d snapshots; delete one", memory.MaxSnapshots)
		}
		n.CreatedAt = b.now()
		rows, err := q.Exec(ctx, "INSERT INTO snapshots (tenant, collection, name, revision, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
			s.Tenant(), n.Collection, n.Name, int64(n.Revision), n.CreatedAt)
		if err := inserted(rows, err, fault.New(fault.Exists, "a snapshot with this name exists")); err != nil {
			return err
		}
		return writeAudit(ctx, q, s, b.now(), audit)
	})
	return n, err
}

// Snapshots implements memory.SnapshotStore.
func (b *Base) Snapshots(ctx context.Context, s tenant.Scope, collection uuid.UUID) ([]memory.Snapshot, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.Snapshot, error) {
		if _, err := ReachVisible(ctx, q, s, collection, b.now()); err != nil {
			return nil, err
		}
		return snapshots(ctx, q, s.Tenant(), collection)
	})
}

// DeleteSnapshot implements memory.SnapshotStore.
func (b *Base) DeleteSnapshot(ctx context.Context, s tenant.Scope, collection uuid.UUID, name string, audit memory.AuditEntry) error {
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		if _, err := ReachVisible(ctx, q, s, collection, b.now()); err != nil {
			return err
		}
		if Text("name", name) != nil {
			return fault.Missing("snapshot")
		}
		n, err := q.Exec(ctx, "DELETE FROM snapshots WHERE tenant = $1 AND collection = $2 AND name = $3", s.Tenant(), collection, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.Missing("snapshot")
		}
		return writeAudit(ctx, q, s, b.now(), audit)
	})
}

// RevisionAt implements memory.SnapshotStore.
func (b *Base) RevisionAt(ctx context.Context, s tenant.Scope, v memory.View, at time.Time) (memory.Revision, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) (memory.Revision, error) {
		for _, l := range v.Layers {
			r, ok, err := First(collect(ctx, q, "SELECT revision FROM changesets WHERE tenant = $1 AND collection = $2 AND revision <= $3 AND at <= $4 ORDER BY revision DESC LIMIT 1",
				[]any{s.Tenant(), l.Collection, int64(l.Bound), Micros(at)}, ScanOne[memory.Revision]))
			if err != nil || ok {
				return r, err
			}
		}
		return 0, nil
	})
}
