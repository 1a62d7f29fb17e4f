package store

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// grants returns grants g of the tenant that is $1 of the condition.
func grants(ctx context.Context, q Conn, where string, args ...any) ([]auth.Grant, error) {
	return collect(ctx, q, `SELECT g.tenant, g.id, g.api_key, g.agent, g.client, g.client_hash, g.redirect, g.resource, g.external_user, g.external_agent,
 g.challenge, g.code, g.family, g.refresh, g.created_at, g.used_at, g.expires_at, g.permissions FROM grants g WHERE g.tenant = $1 AND `+where, args, func(row Scanner) (g auth.Grant, err error) {
		var client, code, family, refresh []byte
		err = row.Scan(&g.ID.Tenant, &g.ID.Grant, &g.Key, &g.Agent, &g.Client, &client, &g.Redirect, &g.Resource, &g.Limit.User, &g.Limit.Agent,
			&g.Challenge, &code, &family, &refresh, Time(&g.CreatedAt), Time(&g.UsedAt), Time(&g.ExpiresAt), q.Permissions(&g.Permissions))
		copy(g.ClientHash[:], client)
		copy(g.Code[:], code)
		copy(g.Family[:], family)
		copy(g.Refresh[:], refresh)
		return g, err
	})
}

// findGrant finds a grant of an agent, or of any for the zero id.
func findGrant(ctx context.Context, q Conn, tenantID, agent, id uuid.UUID) (auth.Grant, error) {
	g, ok, err := First(grants(ctx, q, "g.id = $2", tenantID, id))
	if err == nil && (!ok || agent != uuid.Nil && g.Agent != agent) {
		return auth.Grant{}, fault.Missing("grant")
	}
	return g, err
}

// CreateGrant implements auth.GrantStore.
func (b *Base) CreateGrant(ctx context.Context, s tenant.Scope, g auth.Grant, most int, audit memory.AuditEntry) error {
	err := cmp.Or(Text("client", g.Client), Text("redirect", g.Redirect), Text("resource", g.Resource), Text("challenge", g.Challenge),
		memory.External(g.Limit).Check(""))
	if err != nil {
		return err
	}
	g.CreatedAt, g.UsedAt, g.ExpiresAt = Micros(g.CreatedAt), Micros(g.UsedAt), Micros(g.ExpiresAt)
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		now := b.now()
		if err := CheckTenant(ctx, q, s.Tenant()); err != nil {
			return err
		}
		q.LockUsage(s.Tenant()) // one after the other, so that they are counted
		key, err := findKey(ctx, q, s.Tenant(), g.Key)
		if err == nil && !s.IsWhole() && key.Agent != s.Reader() {
			err = fault.Missing("key")
		}
		if err != nil {
			return err
		}
		if err := q.Later(ctx, "DELETE FROM grants WHERE tenant = $1 AND expires_at <= $2", s.Tenant(), now); err != nil {
			return err
		}
		held, err := grants(ctx, q, "g.id > $2 ORDER BY g.id"+atMost("$3"), s.Tenant(), uuid.Nil, Limit(most))
		if err != nil {
			return err
		}
		if len(held) >= most {
			return fault.New(fault.QuotaExceeded, "the tenant has %d grants, and no room for another; delete one first", most)
		}
		g.ID.Tenant, g.Agent = s.Tenant(), key.Agent
		err = q.Later(ctx, `INSERT INTO grants (tenant, id, api_key, agent, client, client_hash, redirect, resource, permissions, external_user, external_agent,
 challenge, code, family, refresh, created_at, used_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
			g.ID.Tenant, g.ID.Grant, g.Key, g.Agent, g.Client, g.ClientHash[:], g.Redirect, g.Resource, g.Permissions, g.Limit.User, g.Limit.Agent,
			g.Challenge, g.Code[:], g.Family[:], g.Refresh[:], g.CreatedAt, g.UsedAt, g.ExpiresAt)
		if err != nil {
			return err
		}
		return auditTarget(ctx, q, s, g.ID.Grant, audit, now)
	})
}

// GrantByID implements auth.GrantStore.
func (b *Base) GrantByID(ctx context.Context, id auth.GrantID) (auth.Grant, error) {
	return readTenant(ctx, b, id.Tenant, func(ctx context.Context, q Session) (auth.Grant, error) {
		return findGrant(ctx, q, id.Tenant, uuid.Nil, id.Grant)
	})
}

// ListGrants implements auth.GrantStore.
func (b *Base) ListGrants(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]auth.Grant, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]auth.Grant, error) {
		// One whose code was not exchanged has no time of use.
		where, args := "g.id > $2 AND g.expires_at > $3 AND g.used_at IS DISTINCT FROM $4", []any{s.Tenant(), after, b.now(), time.Time{}, Limit(limit)}
		if agent := s.Reader(); agent != uuid.Nil {
			where, args = where+" AND g.agent = $6", append(args, agent)
		}
		return grants(ctx, q, where+" ORDER BY g.id"+atMost("$5"), args...)
	})
}

// UpdateGrant implements auth.GrantStore.
func (b *Base) UpdateGrant(ctx context.Context, s tenant.Scope, id uuid.UUID, fn func(*auth.Grant) error) (g auth.Grant, err error) {
	err = b.write(ctx, s, func(ctx context.Context, q Session) error {
		q.LockGrant(s.Tenant(), id)
		if g, err = findGrant(ctx, q, s.Tenant(), s.Reader(), id); err != nil {
			return err
		}
		if err := fn(&g); err != nil {
			return err
		}
		g.UsedAt, g.ExpiresAt = Micros(g.UsedAt), Micros(g.ExpiresAt)
		return q.Later(ctx, "UPDATE grants SET family = $3, refresh = $4, used_at = $5, expires_at = $6 WHERE tenant = $1 AND id = $2",
			g.ID.Tenant, g.ID.Grant, g.Family[:], g.Refresh[:], g.UsedAt, g.ExpiresAt)
	})
	if err != nil {
		return auth.Grant{}, err
	}
	return g, nil
}

// DeleteGrant implements auth.GrantStore.
func (b *Base) DeleteGrant(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) error {
	return b.free(ctx, s, func(ctx context.Context, q Session) error {
		q.LockGrant(s.Tenant(), id)
		if _, err := findGrant(ctx, q, s.Tenant(), s.Reader(), id); err != nil {
			return err
		}
		if err := q.Later(ctx, "DELETE FROM grants WHERE tenant = $1 AND id = $2", s.Tenant(), id); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, id, audit, b.now())
	})
}
