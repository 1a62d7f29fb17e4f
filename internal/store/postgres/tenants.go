package postgres

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) tenants(ctx context.Context, where string, args ...any) (out []tenant.Tenant, err error) {
	err = q.each(ctx, "SELECT id, name, state, limits, created_at FROM tenants WHERE "+where, args, func(rows pgx.Rows) error {
		var t tenant.Tenant
		var limits string
		if err := rows.Scan(&t.ID, &t.Name, &t.State, &limits, &t.CreatedAt); err != nil {
			return err
		}
		t.CreatedAt = t.CreatedAt.UTC()
		err := json.Unmarshal([]byte(limits), &t.Limits)
		out = append(out, t)
		return err
	})
	return out, err
}

// oneTenant finds one that is not being removed.
func (q *session) oneTenant(ctx context.Context, where string, arg any) (tenant.Tenant, error) {
	found, err := q.tenants(ctx, where+" AND state <> 'deleting'", arg)
	if err == nil && len(found) == 0 {
		err = fault.Missing("tenant")
	}
	if err != nil {
		return tenant.Tenant{}, err
	}
	return found[0], nil
}

// eachTenant calls fn for every tenant, those that are being removed as well.
func (s *Store) eachTenant(ctx context.Context, fn func(uuid.UUID) error) error {
	var all ids
	err := s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		all = nil
		return q.each(ctx, "SELECT id FROM tenants ORDER BY id", nil, func(rows pgx.Rows) error {
			var id uuid.UUID
			err := rows.Scan(&id)
			all = append(all, id)
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, id := range all {
		if err := fn(id); err != nil {
			return err
		}
	}
	return nil
}

// TenantByID implements tenant.Directory.
func (s *Store) TenantByID(ctx context.Context, id uuid.UUID) (t tenant.Tenant, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		t, err = q.oneTenant(ctx, "id = $1", id)
		return err
	})
	return t, err
}

// TenantByName implements tenant.AdminStore.
func (s *Store) TenantByName(ctx context.Context, op tenant.Operator, name string) (t tenant.Tenant, err error) {
	if err := op.Check(); err != nil {
		return t, err
	}
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		t, err = q.oneTenant(ctx, "name = $1", store.Clean(name))
		return err
	})
	return t, err
}

// ListTenants implements tenant.AdminStore.
func (s *Store) ListTenants(ctx context.Context, op tenant.Operator, after string, n int) (out []tenant.Tenant, err error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		out, err = q.tenants(ctx, "state <> 'deleting' AND name > $1 ORDER BY name LIMIT $2", store.Clean(after), limit(n))
		return err
	})
	return out, err
}

// CreateTenant implements tenant.AdminStore. A zero ID makes a new one.
func (s *Store) CreateTenant(ctx context.Context, op tenant.Operator, t tenant.Tenant) (tenant.Tenant, error) {
	if err := op.Check(); err != nil {
		return tenant.Tenant{}, err
	}
	if err := store.NewTenant(&t, s.now()); err != nil {
		return tenant.Tenant{}, err
	}
	limits, err := document("limits", t.Limits)
	if err != nil {
		return tenant.Tenant{}, err
	}
	err = s.writing(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		_, err := q.exec(ctx, "INSERT INTO tenants (id, name, state, limits, created_at) VALUES ($1, $2, $3, $4, $5)", t.ID, t.Name, string(t.State), limits, t.CreatedAt)
		if unique(err, "tenants_name") || unique(err, "tenants_pkey") {
			err = fault.New(fault.Exists, "a tenant with the name %q exists", t.Name)
		}
		return err
	})
	if err != nil {
		return tenant.Tenant{}, err
	}
	return t, nil
}

// UpdateTenant implements tenant.AdminStore.
func (s *Store) UpdateTenant(ctx context.Context, op tenant.Operator, t tenant.Tenant) (out tenant.Tenant, err error) {
	if err := op.Check(); err != nil {
		return out, err
	}
	if t.State != tenant.Active && t.State != tenant.Suspended {
		return out, fault.InvalidField("state", "must be %q or %q", tenant.Active, tenant.Suspended)
	}
	limits, err := document("limits", t.Limits)
	if err != nil {
		return out, err
	}
	err = s.writing(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		q.later("UPDATE tenants SET state = $2, limits = $3 WHERE id = $1 AND state <> 'deleting'", t.ID, string(t.State), limits)
		out, err = q.oneTenant(ctx, "id = $1", t.ID)
		return err
	})
	return out, err
}

// tenantTables are all tables whose keys start with the tenant, in the order
// in which they are emptied: what is large first, collections last.
var tenantTables = []string{
	"vectors", "notes", "links", "usage", "changesets", "reviews", "jobs", "spool", "audit", "idempotency", "model_use", "api_keys",
	"collection_heads", "collections", "agents",
}

// DeleteTenant implements tenant.AdminStore. It may be called again when it
// was interrupted.
func (s *Store) DeleteTenant(ctx context.Context, op tenant.Operator, id uuid.UUID) error {
	if err := op.Check(); err != nil {
		return err
	}
	if id == uuid.Nil {
		return fault.Missing("tenant") // keys of the platform stand under it
	}
	err := s.writing(ctx, id, func(ctx context.Context, q *session) error {
		// Those that add anything to the tenant are waited for: writers hold a head,
		// others the tenant or a collection.
		q.later("SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE", id)
		n, err := q.exec(ctx, "UPDATE tenants SET state = 'deleting' WHERE id = $1", id)
		if err == nil && n == 0 {
			err = fault.Missing("tenant")
		}
		if err != nil {
			return err
		}
		q.later("SELECT 1 FROM collection_heads WHERE tenant = $1 ORDER BY collection FOR UPDATE", id)
		q.later("SELECT 1 FROM collections WHERE tenant = $1 ORDER BY id FOR UPDATE", id)
		// Nobody can write to a collection from here on, nor claim its jobs.
		q.later("UPDATE collections SET state = 'deleting' WHERE tenant = $1", id)
		q.later("DELETE FROM jobs WHERE tenant = $1", id)
		return nil
	})
	if err != nil {
		return err
	}
	for gone := false; !gone; {
		err := s.writing(ctx, id, func(ctx context.Context, q *session) error {
			left := int64(removalBatch)
			for _, t := range tenantTables {
				var err error
				if left, err = q.removeSome(ctx, t, "", id, left); err != nil || left <= 0 {
					return err
				}
			}
			gone = true
			q.later("DELETE FROM tenants WHERE id = $1", id)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
