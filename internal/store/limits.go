package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// checkLimits returns QuotaExceeded when a tenant stores more than it may: what is stored in other
// collections than one, and added, which is what that one stores. It makes other transactions of the
// tenant that check wait until this one ends, so that together they keep to the limit.
func checkLimits(ctx context.Context, q Session, tenantID, except uuid.UUID, added memory.TenantUsage, limits *memory.StorageLimits, now time.Time) error {
	q.LockUsage(tenantID)
	u, err := q.StoredBeside(ctx, tenantID, except, now)
	if err != nil {
		return err
	}
	for _, x := range []struct {
		name        string
		limit, used int64
	}{
		{"notes", limits.Notes, u.Notes + added.Notes},
		{"collections", limits.Collections, u.Collections + added.Collections},
		{"forks", limits.Forks, u.Forks + added.Forks},
		{"stored_bytes", limits.StoredBytes, u.StoredBytes + added.StoredBytes},
	} {
		if x.limit > 0 && x.used > x.limit {
			e := fault.New(fault.QuotaExceeded, "the tenant has reached its limit on %s, which its operator sets", x.name)
			if x.name == "notes" {
				e.Err = tenant.ErrNoteLimit
			}
			return e
		}
	}
	return nil
}

// checkLimits checks the limits of the tenant when the changeset added notes or bytes. Collections are
// checked where they are created.
func (t *Tx) checkLimits(limits *memory.StorageLimits) error {
	if limits == nil || t.head.Stored.Notes <= t.before.Notes && t.head.Stored.Bytes <= t.before.Bytes {
		return nil
	}
	only := memory.StorageLimits{Notes: limits.Notes, StoredBytes: limits.StoredBytes}
	here := memory.TenantUsage{Notes: t.head.Stored.Notes, StoredBytes: t.head.Stored.Bytes}
	return checkLimits(t.ctx, t.q, t.scope.Tenant(), t.row.ID, here, &only, t.now)
}

// LimitWrites returns a store that checks the limits of a tenant in each transaction in which a caller or
// an import adds notes or a collection. limits returns nil while the tenant is far from its limits.
func LimitWrites(s Store, limits func(context.Context, tenant.Scope) (*memory.StorageLimits, error)) Store {
	return &limiting{Store: s, limits: limits}
}

type limiting struct {
	Store

	limits func(context.Context, tenant.Scope) (*memory.StorageLimits, error)
}

// Write implements memory.Writer. Notes of jobs are not checked: they follow from what was added.
func (l *limiting) Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(ctx context.Context, tx memory.Tx) error) (memory.Written, error) {
	if o.Cause == memory.CauseAdd || o.Cause == memory.CauseImport {
		var err error
		if o.Limits, err = l.limits(ctx, s); err != nil {
			return memory.Written{}, err
		}
	}
	return l.Store.Write(ctx, s, collection, o, fn)
}

// CreateCollection implements memory.CollectionStore.
func (l *limiting) CreateCollection(ctx context.Context, s tenant.Scope, c memory.NewCollection) (memory.CollectionCreated, error) {
	var err error
	if c.Limits, err = l.limits(ctx, s); err != nil {
		return memory.CollectionCreated{}, err
	}
	return l.Store.CreateCollection(ctx, s, c)
}
