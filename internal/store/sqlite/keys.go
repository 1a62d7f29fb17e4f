package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
)

func (q *session) keys(ctx context.Context, where string, args ...any) (out []auth.Key, err error) {
	err = q.each(ctx, `SELECT k.id, k.tenant, k.name, k.prefix, k.hash, k.permissions, k.agent, COALESCE(a.name, ''), k.created_at, k.expires_at, k.revoked_at, k.rotated_to,
 k.external_user, k.external_agent, k.external_app, k.external_run FROM api_keys k LEFT JOIN agents a ON a.tenant = k.tenant AND a.id = k.agent WHERE `+where, args, func(rows *sql.Rows) error {
		var k auth.Key
		var hash []byte
		err := rows.Scan(&k.ID, &k.Tenant, &k.Name, &k.Prefix, &hash, store.JSON(&k.Permissions), &k.Agent, &k.AgentName,
			store.Time(&k.CreatedAt), store.Time(&k.ExpiresAt), store.Time(&k.RevokedAt), &k.RotatedTo,
			&k.Limit.User, &k.Limit.Agent, &k.Limit.App, &k.Limit.Run)
		copy(k.Hash[:], hash)
		out = append(out, k)
		return err
	})
	return out, err
}

// Key implements store.KeyRows.
func (q *session) Key(ctx context.Context, tenantID, id uuid.UUID) (auth.Key, bool, error) {
	return first(q.keys(ctx, "k.tenant = ? AND k.id = ?", tenantID, id))
}

// KeysAfter implements store.KeyRows.
func (q *session) KeysAfter(ctx context.Context, tenantID, agent, id uuid.UUID, n int) ([]auth.Key, error) {
	return q.keys(ctx, "k.tenant = ?1 AND k.id > ?2 AND (?3 = zeroblob(16) OR k.agent = ?3) ORDER BY k.id LIMIT +?4", tenantID, id, agent, limit(n))
}

// InsertKey implements store.KeyRows.
func (q *session) InsertKey(ctx context.Context, k auth.Key) error {
	permissions, err := store.Document("scopes", k.Permissions)
	if err != nil {
		return err
	}
	_, taken, err := q.Key(ctx, k.Tenant, k.ID)
	if err != nil {
		return err
	}
	if taken {
		return fault.New(fault.Exists, "a key with this id exists")
	}
	_, err = q.exec(ctx, `INSERT INTO api_keys (tenant, id, name, prefix, hash, permissions, agent, created_at, expires_at, revoked_at, rotated_to,
  external_user, external_agent, external_app, external_run)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, k.Tenant, k.ID, k.Name, k.Prefix, k.Hash[:], permissions, k.Agent,
		k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.RotatedTo, k.Limit.User, k.Limit.Agent, k.Limit.App, k.Limit.Run)
	return err
}

// UpdateKey implements store.KeyRows.
func (q *session) UpdateKey(ctx context.Context, k auth.Key) error {
	permissions, err := store.Document("scopes", k.Permissions)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, "UPDATE api_keys SET name = ?, permissions = ?, expires_at = ?, revoked_at = ?, rotated_to = ? WHERE tenant = ? AND id = ?",
		k.Name, permissions, k.ExpiresAt, k.RevokedAt, k.RotatedTo, k.Tenant, k.ID)
	return err
}

// ListSigningKeys implements store.SigningKeyRows.
func (q *session) ListSigningKeys(ctx context.Context) ([]auth.SigningKey, error) {
	return collect(ctx, q, "SELECT kid, public, wrapped, created_at, retires_at, expires_at FROM signing_keys ORDER BY created_at DESC, kid DESC", nil, store.ScanSigningKey)
}

// RetireSigningKeys implements store.SigningKeyRows.
func (q *session) RetireSigningKeys(ctx context.Context, at, expire time.Time) error {
	if _, err := q.exec(ctx, "UPDATE signing_keys SET retires_at = ?1, expires_at = ?2 WHERE retires_at = 0 OR retires_at > ?1", at, expire); err != nil {
		return err
	}
	_, err := q.exec(ctx, "DELETE FROM signing_keys WHERE expires_at > 0 AND expires_at <= ?", at)
	return err
}

// InsertSigningKey implements store.SigningKeyRows.
func (q *session) InsertSigningKey(ctx context.Context, k auth.SigningKey) error {
	_, err := q.exec(ctx, "INSERT INTO signing_keys (kid, public, wrapped, created_at, retires_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
		k.KID, k.Public, k.Wrapped, k.CreatedAt, k.RetiresAt, k.ExpiresAt)
	return err
}
