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

// GrantRows are the rows of grants.
type GrantRows interface {
	GrantByID(ctx context.Context, tenantID, id uuid.UUID) (g auth.Grant, ok bool, err error)
	// GrantsAfter lists grants by id, after an id, that expire after a time; only those of an agent unless it is zero. pending
	// says that those whose code was not exchanged count, too. Limit 0: all.
	GrantsAfter(ctx context.Context, tenantID, agent, after uuid.UUID, now time.Time, pending bool, limit int) ([]auth.Grant, error)
	InsertGrant(ctx context.Context, g auth.Grant) error
	// UpdateGrant writes Family, Refresh, UsedAt and ExpiresAt.
	UpdateGrant(ctx context.Context, g auth.Grant) error
	DeleteGrant(ctx context.Context, tenantID, id uuid.UUID) error
	// DropGrants deletes those that expire at a time or before.
	DropGrants(ctx context.Context, tenantID uuid.UUID, at time.Time) error
}

// GrantColumns are the columns of grants g that ScanGrant reads. The permissions follow, in the form of the engine.
const GrantColumns = `g.tenant, g.id, g.api_key, g.agent, g.client, g.client_hash, g.redirect, g.resource, g.external_user, g.external_agent,
 g.challenge, g.code, g.family, g.refresh, g.created_at, g.used_at, g.expires_at, g.permissions`

// ScanGrant reads GrantColumns; permissions is where the engine reads them to.
func ScanGrant(row Scanner, permissions any) (g auth.Grant, err error) {
	var client, code, family, refresh []byte
	err = row.Scan(&g.ID.Tenant, &g.ID.Grant, &g.Key, &g.Agent, &g.Client, &client, &g.Redirect, &g.Resource, &g.Limit.User, &g.Limit.Agent,
		&g.Challenge, &code, &family, &refresh, Time(&g.CreatedAt), Time(&g.UsedAt), Time(&g.ExpiresAt), permissions)
	copy(g.ClientHash[:], client)
	copy(g.Code[:], code)
	copy(g.Family[:], family)
	copy(g.Refresh[:], refresh)
	return g, err
}

// findGrant finds a grant of an agent, or of any for the zero id.
func findGrant(ctx context.Context, q GrantRows, tenantID, agent, id uuid.UUID) (auth.Grant, error) {
	g, ok, err := q.GrantByID(ctx, tenantID, id)
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
		if err := q.CheckTenant(ctx, s.Tenant()); err != nil {
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
		if err := q.DropGrants(ctx, s.Tenant(), now); err != nil {
			return err
		}
		held, err := q.GrantsAfter(ctx, s.Tenant(), uuid.Nil, uuid.Nil, now, true, most)
		if err != nil {
			return err
		}
		if len(held) >= most {
			return fault.New(fault.QuotaExceeded, "the tenant has %d grants, and no room for another; delete one first", most)
		}
		g.ID.Tenant, g.Agent = s.Tenant(), key.Agent
		if err := q.InsertGrant(ctx, g); err != nil {
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
		return q.GrantsAfter(ctx, s.Tenant(), s.Reader(), after, b.now(), false, limit)
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
		return q.UpdateGrant(ctx, g)
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
		if err := q.DeleteGrant(ctx, s.Tenant(), id); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, id, audit, b.now())
	})
}
