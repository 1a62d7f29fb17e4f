package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) tenants(ctx context.Context, where string, args ...any) (out []tenant.Tenant, err error) {
	err = q.each(ctx, "SELECT id, name, state, limits, created_at FROM tenants WHERE "+where, args, func(rows *sql.Rows) error {
		var t tenant.Tenant
		var limits string
		var created int64
		if err := rows.Scan(&t.ID, &t.Name, &t.State, &limits, &created); err != nil {
			return err
		}
		t.CreatedAt = timeOf(created)
		err := json.Unmarshal([]byte(limits), &t.Limits)
		out = append(out, t)
		return err
	})
	return out, err
}

// tenant finds one that is not being removed.
func (q *session) tenant(ctx context.Context, where string, arg any) (tenant.Tenant, error) {
	found, err := q.tenants(ctx, where+" AND state <> 'deleting'", arg)
	if err == nil && len(found) == 0 {
		err = fault.Missing("tenant")
	}
	if err != nil {
		return tenant.Tenant{}, err
	}
	return found[0], nil
}

// TenantByID implements tenant.Directory.
func (s *Store) TenantByID(ctx context.Context, id uuid.UUID) (t tenant.Tenant, err error) {
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		t, err = q.tenant(ctx, "id = ?", blob(id))
		return err
	})
	return t, err
}

// TenantByName implements tenant.AdminStore.
func (s *Store) TenantByName(ctx context.Context, op tenant.Operator, name string) (t tenant.Tenant, err error) {
	if err := op.Check(); err != nil {
		return t, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		t, err = q.tenant(ctx, "name = ?", name)
		return err
	})
	return t, err
}

// ListTenants implements tenant.AdminStore.
func (s *Store) ListTenants(ctx context.Context, op tenant.Operator, after string, n int) (out []tenant.Tenant, err error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
		out, err = q.tenants(ctx, "state <> 'deleting' AND name > ? ORDER BY name LIMIT ?", after, limit(n))
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
	limits, err := store.Document("limits", t.Limits)
	if err != nil {
		return tenant.Tenant{}, err
	}
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		found, err := q.tenants(ctx, "id = ? OR name = ? AND state <> 'deleting'", blob(t.ID), t.Name)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return fault.New(fault.Exists, "a tenant with the name %q exists", t.Name)
		}
		_, err = q.exec(ctx, "INSERT INTO tenants (id, name, state, limits, created_at) VALUES (?, ?, ?, ?, ?)",
			blob(t.ID), t.Name, string(t.State), limits, micros(t.CreatedAt))
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
	limits, err := store.Document("limits", t.Limits)
	if err != nil {
		return out, err
	}
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		if _, err := q.tenant(ctx, "id = ?", blob(t.ID)); err != nil {
			return err
		}
		if _, err := q.exec(ctx, "UPDATE tenants SET state = ?, limits = ? WHERE id = ?", string(t.State), limits, blob(t.ID)); err != nil {
			return err
		}
		out, err = q.tenant(ctx, "id = ?", blob(t.ID))
		return err
	})
	return out, err
}

// tenantTables are all tables whose keys start with the tenant, in the order
// in which they are emptied: what is large first, collections last.
var tenantTables = []struct{ name, key string }{
	{"vectors", "tenant, layer, note, from_rev, embedder"},
	{"notes", "tenant, layer, id, from_rev"},
	{"links", "tenant, layer, source, relation, target, from_rev"},
	{"usage", "tenant, layer, note"},
	{"changesets", "tenant, collection, revision"},
	{"reviews", "tenant, id"},
	{"jobs", "tenant, id"},
	{"spool", "tenant, job, name, part"},
	{"audit", "tenant, id"},
	{"idempotency", "tenant, agent, method, path, key"},
	{"model_use", "tenant, day, collection, purpose"},
	{"api_keys", "tenant, id"},
	{"collection_heads", "tenant, collection"},
	{"collections", "tenant, id"},
	{"agents", "tenant, id"},
}

// removalBatch is how many rows one transaction of a tenant's removal takes.
const removalBatch = 2000

// DeleteTenant implements tenant.AdminStore. It may be called again when it
// was interrupted.
func (s *Store) DeleteTenant(ctx context.Context, op tenant.Operator, id uuid.UUID) error {
	if err := op.Check(); err != nil {
		return err
	}
	if id == uuid.Nil {
		return fault.Missing("tenant") // keys of the platform stand under it
	}
	err := s.writing(ctx, func(ctx context.Context, q *session) error {
		n, err := q.exec(ctx, "UPDATE tenants SET state = 'deleting' WHERE id = ?", blob(id))
		if err == nil && n == 0 {
			err = fault.Missing("tenant")
		}
		if err != nil {
			return err
		}
		// Nobody can write to a collection from here on, nor claim its jobs.
		if _, err := q.exec(ctx, "UPDATE collections SET state = 'deleting' WHERE tenant = ?", blob(id)); err != nil {
			return err
		}
		_, err = q.exec(ctx, "DELETE FROM jobs WHERE tenant = ?", blob(id))
		return err
	})
	if err != nil {
		return err
	}
	for gone := false; !gone; {
		err := s.writing(ctx, func(ctx context.Context, q *session) error {
			left := int64(removalBatch)
			for _, t := range tenantTables {
				n, err := q.exec(ctx, "DELETE FROM "+t.name+" WHERE ("+t.key+") IN (SELECT "+t.key+" FROM "+t.name+" WHERE tenant = ? LIMIT ?)", blob(id), left)
				if err != nil {
					return err
				}
				if left -= n; left <= 0 {
					return nil
				}
			}
			gone = true
			_, err := q.exec(ctx, "DELETE FROM tenants WHERE id = ?", blob(id))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
