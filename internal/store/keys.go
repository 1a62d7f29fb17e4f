package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// KeyRows are the rows of API keys. The platform's keys have the zero tenant.
type KeyRows interface {
	Key(ctx context.Context, tenantID, id uuid.UUID) (k auth.Key, ok bool, err error)
	// KeysAfter lists a tenant's keys by id, after an id; only those of an agent unless it is zero.
	// Limit 0: all.
	KeysAfter(ctx context.Context, tenantID, agent, id uuid.UUID, limit int) ([]auth.Key, error)
	// InsertKey returns Exists when the id is taken.
	InsertKey(ctx context.Context, k auth.Key) error
	// UpdateKey writes name, permissions, expiry, revocation and successor.
	UpdateKey(ctx context.Context, k auth.Key) error
}

// SigningKeyRows are the rows of the keys that sign tokens.
type SigningKeyRows interface {
	// ListSigningKeys lists all keys, the newest first.
	ListSigningKeys(ctx context.Context) ([]auth.SigningKey, error)
	// RetireSigningKeys retires the keys in use at a time, to expire at another, and deletes
	// those that have expired.
	RetireSigningKeys(ctx context.Context, at, expire time.Time) error
	InsertSigningKey(ctx context.Context, k auth.SigningKey) error
}

// ScanSigningKey reads the columns kid, public, wrapped, created_at, retires_at and expires_at.
func ScanSigningKey(row Scanner) (k auth.SigningKey, err error) {
	err = row.Scan(&k.KID, &k.Public, &k.Wrapped, Time(&k.CreatedAt), Time(&k.RetiresAt), Time(&k.ExpiresAt))
	k.Public, k.Wrapped = slices.Clone(k.Public), slices.Clone(k.Wrapped)
	return k, err
}

func findKey(ctx context.Context, q KeyRows, tenantID, id uuid.UUID) (auth.Key, error) {
	k, ok, err := q.Key(ctx, tenantID, id)
	if err == nil && !ok {
		err = fault.Missing("key")
	}
	return k, err
}

// CreateKey implements auth.KeyStore. A scope bound to an agent makes keys of that agent only.
func (b *Base) CreateKey(ctx context.Context, s tenant.Scope, k auth.Key, audit memory.AuditEntry) error {
	if err := cmp.Or(Text("name", k.Name), memory.External(k.Limit).Check("external.")); err != nil {
		return err
	}
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		if err := q.CheckTenant(ctx, s.Tenant()); err != nil {
			return err
		}
		if !s.IsWhole() && k.Agent != s.Reader() {
			return fault.Missing("agent")
		}
		if k.Agent != uuid.Nil {
			q.HoldAgent(s.Tenant(), k.Agent)
			if _, err := agentByRef(ctx, q, s, k.Agent.String()); err != nil {
				return err
			}
		}
		now := b.now()
		k.Tenant = s.Tenant()
		if k.CreatedAt.IsZero() {
			k.CreatedAt = now
		}
		if err := q.InsertKey(ctx, k); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, k.ID, audit, now)
	})
}

// CreateOperatorKey implements auth.KeyStore.
func (b *Base) CreateOperatorKey(ctx context.Context, op tenant.Operator, k auth.Key) error {
	if err := op.Check(); err != nil {
		return err
	}
	if err := Text("name", k.Name); err != nil {
		return err
	}
	k.Tenant, k.Agent = uuid.Nil, uuid.Nil
	if k.CreatedAt.IsZero() {
		k.CreatedAt = b.now()
	}
	return b.transactions.Writing(ctx, uuid.Nil, func(ctx context.Context, q Session) error { return q.InsertKey(ctx, k) })
}

// KeyByID implements auth.KeyStore.
func (b *Base) KeyByID(ctx context.Context, tenantID, id uuid.UUID) (auth.Key, error) {
	return readTenant(ctx, b, tenantID, func(ctx context.Context, q Session) (auth.Key, error) {
		return findKey(ctx, q, tenantID, id)
	})
}

// ListKeys implements auth.KeyStore.
func (b *Base) ListKeys(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]auth.Key, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return b.listKeys(ctx, s.Tenant(), s.Reader(), after, limit)
}

// ListOperatorKeys implements auth.KeyStore.
func (b *Base) ListOperatorKeys(ctx context.Context, op tenant.Operator, after uuid.UUID, limit int) ([]auth.Key, error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	return b.listKeys(ctx, uuid.Nil, uuid.Nil, after, limit)
}

func (b *Base) listKeys(ctx context.Context, tenantID, agent, after uuid.UUID, limit int) ([]auth.Key, error) {
	return readTenant(ctx, b, tenantID, func(ctx context.Context, q Session) ([]auth.Key, error) {
		return q.KeysAfter(ctx, tenantID, agent, after, limit)
	})
}

// UpdateKey implements auth.KeyStore. Name, permissions, expiry, revocation and successor can
// change.
func (b *Base) UpdateKey(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*auth.Key) error) (k auth.Key, err error) {
	err = b.free(ctx, s, func(ctx context.Context, q Session) error {
		if k, err = changeKey(ctx, q, s.Tenant(), s.Reader(), id, fn); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, id, audit, b.now())
	})
	if err != nil {
		return auth.Key{}, err
	}
	return k, nil
}

// UpdateOperatorKey implements auth.KeyStore.
func (b *Base) UpdateOperatorKey(ctx context.Context, op tenant.Operator, id uuid.UUID, fn func(*auth.Key) error) (k auth.Key, err error) {
	if err := op.Check(); err != nil {
		return k, err
	}
	err = b.transactions.Freeing(ctx, uuid.Nil, func(ctx context.Context, q Session) error {
		k, err = changeKey(ctx, q, uuid.Nil, uuid.Nil, id, fn)
		return err
	})
	if err != nil {
		return auth.Key{}, err
	}
	return k, nil
}

// changeKey calls fn with a copy of a key, writes what it changed, and reads the key again. With
// an agent, keys of others are NotFound.
func changeKey(ctx context.Context, q Session, tenantID, agent, id uuid.UUID, fn func(*auth.Key) error) (auth.Key, error) {
	q.LockKey(tenantID, id)
	k, err := findKey(ctx, q, tenantID, id)
	if err == nil && agent != uuid.Nil && k.Agent != agent {
		err = fault.Missing("key")
	}
	if err != nil {
		return k, err
	}
	k.Permissions = slices.Clone(k.Permissions)
	if err := fn(&k); err != nil {
		return k, err
	}
	if err := Text("name", k.Name); err != nil {
		return k, err
	}
	k.Tenant, k.ID = tenantID, id
	if err := q.UpdateKey(ctx, k); err != nil {
		return k, err
	}
	return findKey(ctx, q, tenantID, id)
}

// SigningKeys implements auth.SigningKeyStore.
func (b *Base) SigningKeys(ctx context.Context) ([]auth.SigningKey, error) {
	return readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) ([]auth.SigningKey, error) { return q.ListSigningKeys(ctx) })
}

// AddSigningKey implements auth.SigningKeyStore. Of several processes that add a key concurrently, the
// first one does.
func (b *Base) AddSigningKey(ctx context.Context, k auth.SigningKey, sawNewest string, verifyFor time.Duration) error {
	if k.CreatedAt.IsZero() {
		k.CreatedAt = b.now()
	}
	k.CreatedAt = Micros(k.CreatedAt)
	return b.transactions.Writing(ctx, uuid.Nil, func(ctx context.Context, q Session) error {
		q.LockSigningKeys()
		all, err := q.ListSigningKeys(ctx)
		if err != nil {
			return err
		}
		newest := ""
		if len(all) > 0 {
			newest = all[0].KID
		}
		if newest != sawNewest {
			return ErrRollback // another process was faster
		}
		if err := q.RetireSigningKeys(ctx, k.CreatedAt, k.CreatedAt.Add(verifyFor)); err != nil {
			return err
		}
		return q.InsertSigningKey(ctx, k)
	})
}
