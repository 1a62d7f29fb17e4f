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

// keys returns API keys k. The platform's keys have the zero tenant.
func keys(ctx context.Context, q Conn, where string, args ...any) ([]auth.Key, error) {
	return collect(ctx, q, `SELECT k.id, k.tenant, k.name, k.prefix, k.hash, k.permissions, k.agent, COALESCE(a.name, ''), k.created_at, k.expires_at, k.revoked_at, k.rotated_to,
 k.external_user, k.external_agent, k.external_app, k.external_run FROM api_keys k LEFT JOIN agents a ON a.tenant = k.tenant AND a.id = k.agent WHERE `+where, args, func(row Scanner) (k auth.Key, err error) {
		var hash []byte
		err = row.Scan(&k.ID, &k.Tenant, &k.Name, &k.Prefix, &hash, q.Permissions(&k.Permissions), &k.Agent, &k.AgentName,
			Time(&k.CreatedAt), Time(&k.ExpiresAt), Time(&k.RevokedAt), &k.RotatedTo, &k.Limit.User, &k.Limit.Agent, &k.Limit.App, &k.Limit.Run)
		copy(k.Hash[:], hash)
		return k, err
	})
}

func findKey(ctx context.Context, q Conn, tenantID, id uuid.UUID) (auth.Key, error) {
	k, ok, err := First(keys(ctx, q, "k.tenant = $1 AND k.id = $2", tenantID, id))
	if err == nil && !ok {
		err = fault.Missing("key")
	}
	return k, err
}

func insertKey(ctx context.Context, q Conn, k *auth.Key) error {
	n, err := q.Exec(ctx, `INSERT INTO api_keys (tenant, id, name, prefix, hash, permissions, agent, created_at, expires_at, revoked_at, rotated_to,
 external_user, external_agent, external_app, external_run) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING`,
		k.Tenant, k.ID, k.Name, k.Prefix, k.Hash[:], k.Permissions, k.Agent, Micros(k.CreatedAt), k.ExpiresAt, k.RevokedAt, k.RotatedTo,
		k.Limit.User, k.Limit.Agent, k.Limit.App, k.Limit.Run)
	return inserted(n, err, fault.New(fault.Exists, "a key with this id exists"))
}

// CreateKey implements auth.KeyStore. A scope bound to an agent makes keys of that agent only.
func (b *Base) CreateKey(ctx context.Context, s tenant.Scope, k auth.Key, audit memory.AuditEntry) error {
	if err := cmp.Or(Text("name", k.Name), memory.External(k.Limit).Check("external.")); err != nil {
		return err
	}
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		if err := CheckTenant(ctx, q, s.Tenant()); err != nil {
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
		if err := insertKey(ctx, q, &k); err != nil {
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
	return b.transactions.Writing(ctx, uuid.Nil, func(ctx context.Context, q Session) error { return insertKey(ctx, q, &k) })
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
		where, args := "k.tenant = $1 AND k.id > $2", []any{tenantID, after, Limit(limit)}
		if agent != uuid.Nil {
			where, args = where+" AND k.agent = $4", append(args, agent)
		}
		return keys(ctx, q, where+" ORDER BY k.id"+atMost("$3"), args...)
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
	err = q.Later(ctx, "UPDATE api_keys SET name = $3, permissions = $4, expires_at = $5, revoked_at = $6, rotated_to = $7 WHERE tenant = $1 AND id = $2",
		tenantID, id, k.Name, k.Permissions, k.ExpiresAt, k.RevokedAt, k.RotatedTo)
	if err != nil {
		return k, err
	}
	return findKey(ctx, q, tenantID, id)
}

// signingKeys returns the keys that sign tokens, the newest first.
func signingKeys(ctx context.Context, q Conn) ([]auth.SigningKey, error) {
	return collect(ctx, q, "SELECT kid, public, wrapped, created_at, retires_at, expires_at FROM signing_keys ORDER BY created_at DESC, kid DESC", nil,
		func(row Scanner) (k auth.SigningKey, err error) {
			err = row.Scan(&k.KID, &k.Public, &k.Wrapped, Time(&k.CreatedAt), Time(&k.RetiresAt), Time(&k.ExpiresAt))
			k.Public, k.Wrapped = slices.Clone(k.Public), slices.Clone(k.Wrapped)
			return k, err
		})
}

// SigningKeys implements auth.SigningKeyStore.
func (b *Base) SigningKeys(ctx context.Context) ([]auth.SigningKey, error) {
	return readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) ([]auth.SigningKey, error) { return signingKeys(ctx, q) })
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
		have, err := signingKeys(ctx, q)
		if err != nil {
			return err
		}
		newest := ""
		if len(have) > 0 {
			newest = have[0].KID
		}
		if newest != sawNewest {
			return ErrRollback // another process was faster
		}
		// The zero time is none, in the form of the engine.
		err = q.Later(ctx, "UPDATE signing_keys SET retires_at = $1, expires_at = $2 WHERE retires_at IS NOT DISTINCT FROM $3 OR retires_at > $1",
			k.CreatedAt, k.CreatedAt.Add(verifyFor), time.Time{})
		if err != nil {
			return err
		}
		if err := q.Later(ctx, "DELETE FROM signing_keys WHERE expires_at <= $1 AND expires_at IS DISTINCT FROM $2", k.CreatedAt, time.Time{}); err != nil {
			return err
		}
		return q.Later(ctx, "INSERT INTO signing_keys (kid, public, wrapped, created_at, retires_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
			k.KID, k.Public, k.Wrapped, k.CreatedAt, k.RetiresAt, k.ExpiresAt)
	})
}
