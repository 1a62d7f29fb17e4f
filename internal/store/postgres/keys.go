package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) keys(ctx context.Context, where string, args ...any) (out []auth.Key, err error) {
	err = q.each(ctx, `SELECT k.id, k.tenant, k.name, k.prefix, k.hash, k.permissions, k.agent, COALESCE(a.name, ''), k.created_at, k.expires_at, k.revoked_at, k.rotated_to,
 k.external_user, k.external_agent, k.external_app, k.external_run FROM api_keys k LEFT JOIN agents a ON a.tenant = k.tenant AND a.id = k.agent WHERE `+where, args, func(rows pgx.Rows) error {
		var k auth.Key
		var hash []byte
		var permissions []string
		err := rows.Scan(&k.ID, &k.Tenant, &k.Name, &k.Prefix, &hash, &permissions, &k.Agent, &k.AgentName,
			store.Time(&k.CreatedAt), store.Time(&k.ExpiresAt), store.Time(&k.RevokedAt), &k.RotatedTo,
			&k.Limit.User, &k.Limit.Agent, &k.Limit.App, &k.Limit.Run)
		copy(k.Hash[:], hash)
		for _, p := range permissions {
			k.Permissions = append(k.Permissions, tenant.Permission(p))
		}
		out = append(out, k)
		return err
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

// Key implements store.KeyRows.
func (q *session) Key(ctx context.Context, tenantID, id uuid.UUID) (auth.Key, bool, error) {
	return first(q.keys(ctx, "k.tenant = $1 AND k.id = $2", tenantID, id))
}

// KeysAfter implements store.KeyRows.
func (q *session) KeysAfter(ctx context.Context, tenantID, agent, id uuid.UUID, n int) ([]auth.Key, error) {
	p := params{args: []any{tenantID, id, limit(n)}}
	where := "k.tenant = $1 AND k.id > $2"
	if agent != uuid.Nil {
		where += " AND k.agent = " + p.add(agent)
	}
	return q.keys(ctx, where+" ORDER BY k.id LIMIT $3", p.args...)
}

// InsertKey implements store.KeyRows.
func (q *session) InsertKey(ctx context.Context, k auth.Key) error {
	_, err := q.exec(ctx, `INSERT INTO api_keys (tenant, id, name, prefix, hash, permissions, agent, created_at, expires_at, revoked_at, rotated_to,
  external_user, external_agent, external_app, external_run)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`, k.Tenant, k.ID, k.Name, k.Prefix, k.Hash[:], permissionNames(k.Permissions), k.Agent,
		store.Micros(k.CreatedAt), nullTime(k.ExpiresAt), nullTime(k.RevokedAt), k.RotatedTo,
		k.Limit.User, k.Limit.Agent, k.Limit.App, k.Limit.Run)
	if isUniqueViolation(err, "api_keys_pkey") {
		err = fault.New(fault.Exists, "a key with this id exists")
	}
	return err
}

// UpdateKey implements store.KeyRows. It goes with the next statement.
func (q *session) UpdateKey(_ context.Context, k auth.Key) error {
	q.later("UPDATE api_keys SET name = $3, permissions = $4, expires_at = $5, revoked_at = $6, rotated_to = $7 WHERE tenant = $1 AND id = $2",
		k.Tenant, k.ID, k.Name, permissionNames(k.Permissions), nullTime(k.ExpiresAt), nullTime(k.RevokedAt), k.RotatedTo)
	return nil
}

// ListSigningKeys implements store.SigningKeyRows.
func (q *session) ListSigningKeys(ctx context.Context) ([]auth.SigningKey, error) {
	return collect(ctx, q, "SELECT kid, public, wrapped, created_at, retires_at, expires_at FROM signing_keys ORDER BY created_at DESC, kid DESC", nil, store.ScanSigningKey)
}

// RetireSigningKeys implements store.SigningKeyRows. It goes with the next statement.
func (q *session) RetireSigningKeys(_ context.Context, from, expire time.Time) error {
	q.later("UPDATE signing_keys SET retires_at = $1, expires_at = $2 WHERE retires_at IS NULL OR retires_at > $1", from, expire)
	q.later("DELETE FROM signing_keys WHERE expires_at <= $1", from)
	return nil
}

// InsertSigningKey implements store.SigningKeyRows. It goes with the next statement.
func (q *session) InsertSigningKey(_ context.Context, k auth.SigningKey) error {
	q.later("INSERT INTO signing_keys (kid, public, wrapped, created_at, retires_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
		k.KID, k.Public, k.Wrapped, k.CreatedAt, nullTime(k.RetiresAt), nullTime(k.ExpiresAt))
	return nil
}
