package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// SnapshotRows are the rows of named revisions.
type SnapshotRows interface {
	ListSnapshots(ctx context.Context, tenantID, collection uuid.UUID) ([]memory.Snapshot, error)
	// InsertSnapshot reports whether the name was free.
	InsertSnapshot(ctx context.Context, tenantID uuid.UUID, n memory.Snapshot) (bool, error)
	DeleteSnapshotRow(ctx context.Context, tenantID, collection uuid.UUID, name string) (bool, error)
	// LastRevision returns the last revision of a span that was written at or before a time.
	LastRevision(ctx context.Context, tenantID uuid.UUID, span memory.Span, at time.Time) (r memory.Revision, ok bool, err error)
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
		all, err := q.ListSnapshots(ctx, s.Tenant(), n.Collection)
		if err != nil {
			return err
		}
		if len(all) >= memory.MaxSnapshots {
			return fault.New(fault.QuotaExceeded, "a collection has at most %d snapshots; delete one", memory.MaxSnapshots)
		}
		n.CreatedAt = b.now()
		free, err := q.InsertSnapshot(ctx, s.Tenant(), n)
		if err == nil && !free {
			err = fault.New(fault.Exists, "a snapshot with this name exists")
		}
		if err != nil {
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
		return q.ListSnapshots(ctx, s.Tenant(), collection)
	})
}

// DeleteSnapshot implements memory.SnapshotStore.
func (b *Base) DeleteSnapshot(ctx context.Context, s tenant.Scope, collection uuid.UUID, name string, audit memory.AuditEntry) error {
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		if _, err := ReachVisible(ctx, q, s, collection, b.now()); err != nil {
			return err
		}
		found := false
		if Text("name", name) == nil {
			var err error
			if found, err = q.DeleteSnapshotRow(ctx, s.Tenant(), collection, name); err != nil {
				return err
			}
		}
		if !found {
			return fault.Missing("snapshot")
		}
		return writeAudit(ctx, q, s, b.now(), audit)
	})
}

// RevisionAt implements memory.SnapshotStore.
func (b *Base) RevisionAt(ctx context.Context, s tenant.Scope, v memory.View, at time.Time) (memory.Revision, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) (memory.Revision, error) {
		for _, l := range v.Layers {
			r, ok, err := q.LastRevision(ctx, s.Tenant(), memory.Span{Layer: l.Collection, To: l.Bound}, Micros(at))
			if err != nil || ok {
				return r, err
			}
		}
		return 0, nil
	})
}
