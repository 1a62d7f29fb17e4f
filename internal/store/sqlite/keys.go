package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) keys(ctx context.Context, where string, args ...any) (out []auth.Key, err error) {
	err = q.each(ctx, `SELECT k.id, k.tenant, k.name, k.prefix, k.hash, k.permissions, k.agent, COALESCE(a.name, ''), k.created_at, k.expires_at, k.revoked_at, k.rotated_to
 FROM api_keys k LEFT JOIN agents a ON a.tenant = k.tenant AND a.id = k.agent WHERE `+where, args, func(rows *sql.Rows) error {
		var k auth.Key
		var hash []byte
		var permissions string
		var created, expires, revoked int64
		if err := rows.Scan(&k.ID, &k.Tenant, &k.Name, &k.Prefix, &hash, &permissions, &k.Agent, &k.AgentName, &created, &expires, &revoked, &k.RotatedTo); err != nil {
			return err
		}
		copy(k.Hash[:], hash)
		k.CreatedAt, k.ExpiresAt, k.RevokedAt = timeOf(created), timeOf(expires), timeOf(revoked)
		err := json.Unmarshal([]byte(permissions), &k.Permissions)
		out = append(out, k)
		return err
	})
	return out, err
}

func (q *session) insertKey(ctx context.Context, k auth.Key) error {
	if err := store.Text("name", k.Name); err != nil {
		return err
	}
	permissions, err := store.Document("scopes", k.Permissions)
	if err != nil {
		return err
	}
	found, err := q.keys(ctx, "k.tenant = ? AND k.id = ?", blob(k.Tenant), blob(k.ID))
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fault.New(fault.Exists, "a key with this id exists")
	}
	_, err = q.exec(ctx, `INSERT INTO api_keys (tenant, id, name, prefix, hash, permissions, agent, created_at, expires_at, revoked_at, rotated_to)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, blob(k.Tenant), blob(k.ID), k.Name, k.Prefix, k.Hash[:], permissions, blob(k.Agent),
		micros(k.CreatedAt), micros(k.ExpiresAt), micros(k.RevokedAt), blob(k.RotatedTo))
	return err
}

// CreateKey implements auth.KeyStore. A scope bound to an agent makes keys of
// that agent only.
func (s *Store) CreateKey(ctx context.Context, sc tenant.Scope, k auth.Key, audit memory.AuditEntry) error {
	if err := sc.Check(); err != nil {
		return err
	}
	return s.writing(ctx, func(ctx context.Context, q *session) error {
		if err := q.checkTenant(ctx, sc.Tenant()); err != nil {
			return err
		}
		if sc.HasAgent() && k.Agent != sc.Agent() {
			return fault.Missing("agent")
		}
		if k.Agent != uuid.Nil {
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
	return s.writing(ctx, func(ctx context.Context, q *session) error { return q.insertKey(ctx, k) })
}

// KeyByID implements auth.KeyStore.
func (s *Store) KeyByID(ctx context.Context, tenantID, id uuid.UUID) (k auth.Key, err error) {
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
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
	where, args := "k.tenant = ? AND k.id > ?", []any{blob(sc.Tenant()), blob(after)}
	if sc.HasAgent() {
		where += " AND k.agent = ?"
		args = append(args, blob(sc.Agent()))
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		out, err = q.keys(ctx, where+" ORDER BY k.id LIMIT ?", append(args, limit(n))...)
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
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		found, err := q.key(ctx, sc.Tenant(), id)
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
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		out, err = q.keys(ctx, "k.tenant = zeroblob(16) AND k.id > ? ORDER BY k.id LIMIT ?", blob(after), limit(n))
		return err
	})
	return out, err
}

// UpdateOperatorKey implements auth.KeyStore.
func (s *Store) UpdateOperatorKey(ctx context.Context, op tenant.Operator, id uuid.UUID, fn func(*auth.Key) error) (k auth.Key, err error) {
	if err := op.Check(); err != nil {
		return k, err
	}
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		found, err := q.key(ctx, uuid.Nil, id)
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
	found, err := q.keys(ctx, "k.tenant = ? AND k.id = ?", blob(tenantID), blob(id))
	if err == nil && len(found) == 0 {
		err = fault.Missing("key")
	}
	if err != nil {
		return auth.Key{}, err
	}
	return found[0], nil
}

// updateKey lets fn change a copy and keeps what may change.
func (q *session) updateKey(ctx context.Context, k auth.Key, fn func(*auth.Key) error) (auth.Key, error) {
	n, err := store.ChangeKey(k, fn)
	if err != nil {
		return k, err
	}
	permissions, err := store.Document("scopes", n.Permissions)
	if err != nil {
		return k, err
	}
	_, err = q.exec(ctx, "UPDATE api_keys SET name = ?, permissions = ?, expires_at = ?, revoked_at = ?, rotated_to = ? WHERE tenant = ? AND id = ?",
		n.Name, permissions, micros(n.ExpiresAt), micros(n.RevokedAt), blob(n.RotatedTo), blob(k.Tenant), blob(k.ID))
	if err != nil {
		return k, err
	}
	return q.key(ctx, k.Tenant, k.ID)
}

func (q *session) signingKeys(ctx context.Context) (out []auth.SigningKey, err error) {
	err = q.each(ctx, "SELECT kid, public, wrapped, created_at, retires_at, expires_at FROM signing_keys ORDER BY created_at DESC, kid DESC", nil, func(rows *sql.Rows) error {
		var k auth.SigningKey
		var created, retires, expires int64
		if err := rows.Scan(&k.KID, &k.Public, &k.Wrapped, &created, &retires, &expires); err != nil {
			return err
		}
		k.Public, k.Wrapped = bytes.Clone(k.Public), bytes.Clone(k.Wrapped)
		k.CreatedAt, k.RetiresAt, k.ExpiresAt = timeOf(created), timeOf(retires), timeOf(expires)
		out = append(out, k)
		return nil
	})
	return out, err
}

// SigningKeys implements auth.SigningKeyStore.
func (s *Store) SigningKeys(ctx context.Context) (out []auth.SigningKey, err error) {
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
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
	return s.writing(ctx, func(ctx context.Context, q *session) error {
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
		at := micros(k.CreatedAt)
		_, err = q.exec(ctx, "UPDATE signing_keys SET retires_at = ?1, expires_at = ?2 WHERE retires_at = 0 OR retires_at > ?1", at, micros(k.CreatedAt.Add(verifyFor)))
		if err != nil {
			return err
		}
		if _, err := q.exec(ctx, "DELETE FROM signing_keys WHERE expires_at > 0 AND expires_at <= ?", at); err != nil {
			return err
		}
		_, err = q.exec(ctx, "INSERT INTO signing_keys (kid, public, wrapped, created_at, retires_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
			k.KID, k.Public, k.Wrapped, at, micros(k.RetiresAt), micros(k.ExpiresAt))
		return err
	})
}
