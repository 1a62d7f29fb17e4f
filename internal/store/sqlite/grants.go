package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) grants(ctx context.Context, rest string, args ...any) (out []auth.Grant, err error) {
	err = q.each(ctx, "SELECT "+store.GrantColumns+" FROM grants g "+rest, args, func(rows *sql.Rows) error {
		var permissions []tenant.Permission
		g, err := store.ScanGrant(rows, store.JSON(&permissions))
		g.Permissions = permissions
		out = append(out, g)
		return err
	})
	return out, err
}

// GrantByID implements store.GrantRows.
func (q *session) GrantByID(ctx context.Context, tenantID, id uuid.UUID) (auth.Grant, bool, error) {
	return first(q.grants(ctx, "WHERE g.tenant = ? AND g.id = ?", tenantID, id))
}

// GrantsAfter implements store.GrantRows.
func (q *session) GrantsAfter(ctx context.Context, tenantID, agent, after uuid.UUID, now time.Time, pending bool, n int) ([]auth.Grant, error) {
	return q.grants(ctx, `WHERE g.tenant = ?1 AND g.id > ?2 AND (?3 = zeroblob(16) OR g.agent = ?3) AND g.expires_at > ?4 AND (?5 OR g.used_at > 0)
 ORDER BY g.id LIMIT +?6`, tenantID, after, agent, now, pending, limit(n))
}

// InsertGrant implements store.GrantRows.
func (q *session) InsertGrant(ctx context.Context, g auth.Grant) error {
	permissions, err := store.Document("scopes", g.Permissions)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO grants (tenant, id, api_key, agent, client, client_hash, redirect, resource, permissions, external_user, external_agent,
 challenge, code, family, refresh, created_at, used_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		g.ID.Tenant, g.ID.Grant, g.Key, g.Agent, g.Client, g.ClientHash[:], g.Redirect, g.Resource, permissions, g.Limit.User, g.Limit.Agent,
		g.Challenge, g.Code[:], g.Family[:], g.Refresh[:], g.CreatedAt, g.UsedAt, g.ExpiresAt)
	return err
}

// UpdateGrant implements store.GrantRows.
func (q *session) UpdateGrant(ctx context.Context, g auth.Grant) error {
	_, err := q.exec(ctx, "UPDATE grants SET family = ?, refresh = ?, used_at = ?, expires_at = ? WHERE tenant = ? AND id = ?",
		g.Family[:], g.Refresh[:], g.UsedAt, g.ExpiresAt, g.ID.Tenant, g.ID.Grant)
	return err
}

// DeleteGrant implements store.GrantRows.
func (q *session) DeleteGrant(ctx context.Context, tenantID, id uuid.UUID) error {
	_, err := q.exec(ctx, "DELETE FROM grants WHERE tenant = ? AND id = ?", tenantID, id)
	return err
}

// DropGrants implements store.GrantRows.
func (q *session) DropGrants(ctx context.Context, tenantID uuid.UUID, at time.Time) error {
	_, err := q.exec(ctx, "DELETE FROM grants WHERE tenant = ? AND expires_at <= ?", tenantID, at)
	return err
}
