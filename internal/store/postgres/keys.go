package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) keys(ctx context.Context, where string, args ...any) (out []auth.Key, err error) {
	err = q.each(ctx, `SELECT k.id, k.tenant, k.name, k.prefix, k.hash, k.permissions, k.agent, COALESCE(a.name, ''), k.created_at, k.expires_at, k.revoked_at, k.rotated_to
 FROM api_keys k LEFT JOIN agents a ON a.tenant = k.tenant AND a.id = k.agent WHERE `+where, args, func(rows pgx.Rows) error {
		var k auth.Key
		var hash []byte
		var permissions []string
		var expires, revoked *time.Time
		if err := rows.Scan(&k.ID, &k.Tenant, &k.Name, &k.Prefix, &hash, &permissions, &k.Agent, &k.AgentName, &k.CreatedAt, &expires, &revoked, &k.RotatedTo); err != nil {
			return err
		}
		copy(k.Hash[:], hash)
		for _, p := range permissions {
			k.Permissions = append(k.Permissions, tenant.Permission(p))
		}
		k.CreatedAt, k.ExpiresAt, k.RevokedAt = k.CreatedAt.UTC(), timeOf(expires), timeOf(revoked)
		out = append(out, k)
		return nil
	})
	return out, err
}

func permissionNames(all []tenant.Permission) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = string(p)
	}
	return out
}

func (q *session) insertKey(ctx context.Context, k auth.Key) error {
	if err := store.Text("name", k.Name); err != nil {
		return err
	}
	_, err := q.exec(ctx, `INSERT INTO api_keys (tenant, id, name, prefix, hash, permissions, agent, created_at, expires_at, revoked_at, rotated_to)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, k.Tenant, k.ID, k.Name, k.Prefix, k.Hash[:], permissionNames(k.Permissions), k.Agent,
		trunc(k.CreatedAt), at(k.ExpiresAt), at(k.RevokedAt), k.RotatedTo)
	if unique(err, "api_keys_pkey") {
		err = fault.New(fault.Exists, "a key with this id exists")
	}
	return err
}

// CreateKey implements auth.KeyStore. A scope bound to an agent makes keys of
// that agent only.
func (s *Store) CreateKey(ctx context.Context, sc tenant.Scope, k auth.Key, audit memory.AuditEntry) error {
	if err := sc.Check(); err != nil {
		return err
	}
	return s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		q.holdTenant(sc.Tenant())
		if err := q.checkTenant(ctx, sc.Tenant()); err != nil {
			return err
		}
		if sc.HasAgent() && k.Agent != sc.Agent() {
			return fault.Missing("agent")
		}
		if k.Agent != uuid.Nil {
			q.holdAgent(sc.Tenant(), k.Agent)
			if _, err := q.agent(ctx, sc, k.Agent.String()); err != nil {
				return err
			}
		}
		now := s.now()
		k.Tenant = sc.Tenant()
		if k.CreatedAt.IsZero() {
			k.CreatedAt = now
		}
		if err := q.insertKey(ctx, k); err != nil {
			return err
		}
		audit.Target = cmp.Or(audit.Target, k.ID.String())
		return q.audit(ctx, sc, now, audit)
	})
}

// CreateOperatorKey implements auth.KeyStore.
func (s *Store) CreateOperatorKey(ctx context.Context, op tenant.Operator, k auth.Key) error {
	if err := op.Check(); err != nil {
		return err
	}
	k.Tenant, k.Agent = uuid.Nil, uuid.Nil
	if k.CreatedAt.IsZero() {
		k.CreatedAt = s.now()
	}
	return s.writing(ctx, uuid.Nil, func(ctx context.Context, q *session) error { return q.insertKey(ctx, k) })
}

// KeyByID implements auth.KeyStore.
func (s *Store) KeyByID(ctx context.Context, tenantID, id uuid.UUID) (k auth.Key, err error) {
	err = s.reading(ctx, tenantID, func(ctx context.Context, q *session) error {
		k, err = q.key(ctx, tenantID, id)
		return err
	})
	return k, err
}

// ListKeys implements auth.KeyStore.
func (s *Store) ListKeys(ctx context.Context, sc tenant.Scope, after uuid.UUID, n int) (out []auth.Key, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	var p params
	where := "k.tenant = " + p.add(sc.Tenant()) + " AND k.id > " + p.add(after)
	if sc.HasAgent() {
		where += " AND k.agent = " + p.add(sc.Agent())
	}
	where += " ORDER BY k.id LIMIT " + p.add(limit(n))
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out, err = q.keys(ctx, where, p.args...)
		return err
	})
	return out, err
}

// UpdateKey implements auth.KeyStore. Name, permissions, expiry, revocation
// and successor can change.
func (s *Store) UpdateKey(ctx context.Context, sc tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*auth.Key) error) (k auth.Key, err error) {
	if err := sc.Check(); err != nil {
		return k, err
	}
	err = s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		found, err := q.keyToChange(ctx, sc.Tenant(), id)
		if err == nil && sc.HasAgent() && found.Agent != sc.Agent() {
			err = fault.Missing("key")
		}
		if err != nil {
			return err
		}
		if k, err = q.updateKey(ctx, found, fn); err != nil {
			return err
		}
		audit.Target = cmp.Or(audit.Target, id.String())
		return q.audit(ctx, sc, s.now(), audit)
	})
	if err != nil {
		return auth.Key{}, err
	}
	return k, nil
}

// ListOperatorKeys implements auth.KeyStore.
func (s *Store) ListOperatorKeys(ctx context.Context, op tenant.Operator, after uuid.UUID, n int) (out []auth.Key, err error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		out, err = q.keys(ctx, "k.tenant = $1 AND k.id > $2 ORDER BY k.id LIMIT $3", uuid.Nil, after, limit(n))
		return err
	})
	return out, err
}

// UpdateOperatorKey implements auth.KeyStore.
func (s *Store) UpdateOperatorKey(ctx context.Context, op tenant.Operator, id uuid.UUID, fn func(*auth.Key) error) (k auth.Key, err error) {
	if err := op.Check(); err != nil {
		return k, err
	}
	err = s.writing(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		found, err := q.keyToChange(ctx, uuid.Nil, id)
		if err != nil {
			return err
		}
		k, err = q.updateKey(ctx, found, fn)
		return err
	})
	if err != nil {
		return auth.Key{}, err
	}
	return k, nil
}

func (q *session) key(ctx context.Context, tenantID, id uuid.UUID) (auth.Key, error) {
	found, err := q.keys(ctx, "k.tenant = $1 AND k.id = $2", tenantID, id)
	if err == nil && len(found) == 0 {
		err = fault.Missing("key")
	}
	if err != nil {
		return auth.Key{}, err
	}
	return found[0], nil
}

// keyToChange reads a key that nobody else changes until the transaction ends.
func (q *session) keyToChange(ctx context.Context, tenantID, id uuid.UUID) (auth.Key, error) {
	q.later("SELECT 1 FROM api_keys WHERE tenant = $1 AND id = $2 FOR UPDATE", tenantID, id)
	return q.key(ctx, tenantID, id)
}

// updateKey lets fn change a copy and keeps what may change.
func (q *session) updateKey(ctx context.Context, k auth.Key, fn func(*auth.Key) error) (auth.Key, error) {
	n, err := store.ChangeKey(k, fn)
	if err != nil {
		return k, err
	}
	q.later("UPDATE api_keys SET name = $3, permissions = $4, expires_at = $5, revoked_at = $6, rotated_to = $7 WHERE tenant = $1 AND id = $2",
		k.Tenant, k.ID, n.Name, permissionNames(n.Permissions), at(n.ExpiresAt), at(n.RevokedAt), n.RotatedTo)
	return q.key(ctx, k.Tenant, k.ID)
}

func (q *session) signingKeys(ctx context.Context) (out []auth.SigningKey, err error) {
	err = q.each(ctx, "SELECT kid, public, wrapped, created_at, retires_at, expires_at FROM signing_keys ORDER BY created_at DESC, kid DESC", nil, func(rows pgx.Rows) error {
		var k auth.SigningKey
		var retires, expires *time.Time
		if err := rows.Scan(&k.KID, &k.Public, &k.Wrapped, &k.CreatedAt, &retires, &expires); err != nil {
			return err
		}
		k.CreatedAt, k.RetiresAt, k.ExpiresAt = k.CreatedAt.UTC(), timeOf(retires), timeOf(expires)
		out = append(out, k)
		return nil
	})
	return out, err
}

// SigningKeys implements auth.SigningKeyStore.
func (s *Store) SigningKeys(ctx context.Context) (out []auth.SigningKey, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		out, err = q.signingKeys(ctx)
		return err
	})
	return out, err
}

// AddSigningKey implements auth.SigningKeyStore.
func (s *Store) AddSigningKey(ctx context.Context, k auth.SigningKey, sawNewest string, verifyFor time.Duration) error {
	if k.CreatedAt.IsZero() {
		k.CreatedAt = s.now()
	}
	return s.writing(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		// Readers go on; of processes that add one at once the second looks again.
		q.later("LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE")
		known, err := q.signingKeys(ctx)
		if err != nil {
			return err
		}
		newest := ""
		if len(known) > 0 {
			newest = known[0].KID
		}
		if newest != sawNewest {
			return errDone // another process was faster
		}
		from := trunc(k.CreatedAt)
		q.later("UPDATE signing_keys SET retires_at = $1, expires_at = $2 WHERE retires_at IS NULL OR retires_at > $1", from, from.Add(verifyFor))
		q.later("DELETE FROM signing_keys WHERE expires_at <= $1", from)
		q.later("INSERT INTO signing_keys (kid, public, wrapped, created_at, retires_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
			k.KID, k.Public, k.Wrapped, from, at(k.RetiresAt), at(k.ExpiresAt))
		return nil
	})
}
