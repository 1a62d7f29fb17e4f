package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) grants(ctx context.Context, rest string, args ...any) (out []auth.Grant, err error) {
	err = q.each(ctx, "SELECT "+store.GrantColumns+" FROM grants g "+rest, args, func(rows pgx.Rows) error {
		var permissions []string
		g, err := store.ScanGrant(rows, &permissions)
		for _, p := range permissions {
			g.Permissions = append(g.Permissions, tenant.Permission(p))
		}
		out = append(out, g)
		return err
	})
	return out, err
}

// GrantByID implements store.GrantRows.
func (q *session) GrantByID(ctx context.Context, tenantID, id uuid.UUID) (auth.Grant, bool, error) {
	return first(q.grants(ctx, "WHERE g.tenant = $1 AND g.id = $2", tenantID, id))
}

// GrantsAfter implements store.GrantRows.
func (q *session) GrantsAfter(ctx context.Context, tenantID, agent, after uuid.UUID, now time.Time, pending bool, n int) ([]auth.Grant, error) {
	p := params{args: []any{tenantID, after, now, limit(n)}}
	where := "WHERE g.tenant = $1 AND g.id > $2 AND g.expires_at > $3"
	if agent != uuid.Nil {
		where += " AND g.agent = " + p.add(agent)
	}
	if !pending {
		where += " AND g.used_at IS NOT NULL"
	}
	return q.grants(ctx, where+" ORDER BY g.id LIMIT $4", p.args...)
}

// InsertGrant implements store.GrantRows. It goes with the next statement.
func (q *session) InsertGrant(_ context.Context, g auth.Grant) error {
	q.later(`INSERT INTO grants (tenant, id, api_key, agent, client, client_hash, redirect, resource, permissions, external_user, external_agent,
 challenge, code, family, refresh, created_at, used_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		g.ID.Tenant, g.ID.Grant, g.Key, g.Agent, g.Client, g.ClientHash[:], g.Redirect, g.Resource, permissionNames(g.Permissions), g.Limit.User, g.Limit.Agent,
		g.Challenge, g.Code[:], g.Family[:], g.Refresh[:], g.CreatedAt, nullTime(g.UsedAt), g.ExpiresAt)
	return nil
}

// UpdateGrant implements store.GrantRows. It goes with the next statement.
func (q *session) UpdateGrant(_ context.Context, g auth.Grant) error {
	q.later("UPDATE grants SET family = $3, refresh = $4, used_at = $5, expires_at = $6 WHERE tenant = $1 AND id = $2",
		g.ID.Tenant, g.ID.Grant, g.Family[:], g.Refresh[:], nullTime(g.UsedAt), g.ExpiresAt)
	return nil
}

// DeleteGrant implements store.GrantRows. It goes with the next statement.
func (q *session) DeleteGrant(_ context.Context, tenantID, id uuid.UUID) error {
	q.later("DELETE FROM grants WHERE tenant = $1 AND id = $2", tenantID, id)
	return nil
}

// DropGrants implements store.GrantRows. It goes with the next statement.
func (q *session) DropGrants(_ context.Context, tenantID uuid.UUID, at time.Time) error {
	q.later("DELETE FROM grants WHERE tenant = $1 AND expires_at <= $2", tenantID, at)
	return nil
}
