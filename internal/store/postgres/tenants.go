package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) tenants(ctx context.Context, where string, args ...any) ([]tenant.Tenant, error) {
	return collect(ctx, q, "SELECT id, name, state, limits, allowed_hosts, created_at FROM tenants WHERE "+where, args, store.ScanTenant)
}

// eachTenant calls fn for every tenant, including those that are being removed.
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

// TenantByID implements store.TenantRows.
func (q *session) TenantByID(ctx context.Context, id uuid.UUID) (tenant.Tenant, bool, error) {
	return first(q.tenants(ctx, "id = $1 AND state <> 'deleting'", id))
}

// TenantByName implements store.TenantRows.
func (q *session) TenantByName(ctx context.Context, name string) (tenant.Tenant, bool, error) {
	return first(q.tenants(ctx, "name = $1 AND state <> 'deleting'", store.Clean(name)))
}

// TenantsAfter implements store.TenantRows.
func (q *session) TenantsAfter(ctx context.Context, name string, n int) ([]tenant.Tenant, error) {
	return q.tenants(ctx, "state <> 'deleting' AND name > $1 ORDER BY name LIMIT $2", store.Clean(name), limit(n))
}

// InsertTenant implements store.TenantRows.
func (q *session) InsertTenant(ctx context.Context, t tenant.Tenant) error {
	limits, err := store.Document("limits", t.Limits)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, "INSERT INTO tenants (id, name, state, limits, allowed_hosts, created_at) VALUES ($1, $2, $3, $4, $5, $6)", t.ID, t.Name, string(t.State), limits, t.AllowedHosts, t.CreatedAt)
	if isUniqueViolation(err, "tenants_name") || isUniqueViolation(err, "tenants_pkey") {
		err = fault.New(fault.Exists, "a tenant with the name %q exists", t.Name)
	}
	return err
}

// UpdateTenant implements store.TenantRows.
func (q *session) UpdateTenant(_ context.Context, t tenant.Tenant) error {
	limits, err := store.Document("limits", t.Limits)
	if err != nil {
		return err
	}
	q.later("UPDATE tenants SET state = $2, limits = $3, allowed_hosts = $4 WHERE id = $1 AND state <> 'deleting'", t.ID, string(t.State), limits, t.AllowedHosts)
	return nil
}

// CheckTenant implements store.TenantRemoval.
func (q *session) CheckTenant(ctx context.Context, id uuid.UUID) error {
	q.later("SELECT 1 FROM tenants WHERE id = $1 FOR KEY SHARE", id)
	_, ok, err := q.TenantByID(ctx, id)
	if err == nil && !ok {
		err = fault.Missing("tenant")
	}
	return err
}

// MarkTenantDeleted implements store.TenantRemoval. Writers of notes lock a head; all other writers
// lock the tenant or a collection.
func (q *session) MarkTenantDeleted(ctx context.Context, id uuid.UUID) (bool, error) {
	q.later("SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE", id)
	n, err := q.exec(ctx, "UPDATE tenants SET state = 'deleting' WHERE id = $1", id)
	if err != nil || n == 0 {
		return false, err
	}
	q.later("SELECT 1 FROM collection_heads WHERE tenant = $1 ORDER BY collection FOR UPDATE", id)
	q.later("SELECT 1 FROM collections WHERE tenant = $1 ORDER BY id FOR UPDATE", id)
	// From here on nothing is written to a collection of the tenant, and no job is claimed.
	q.later("UPDATE collections SET state = 'deleting' WHERE tenant = $1", id)
	q.later("DELETE FROM jobs WHERE tenant = $1", id)
	return true, nil
}

// tenantTables are all tables whose keys start with the tenant, in the order in which they are
// emptied: the large ones first, collections last.
var tenantTables = []string{
	"vectors", "notes", "links", "usage", "changesets", "reviews", "attachments", "snapshots", "tools", "deliveries", "webhooks", "grants", "jobs", "spool", "audit", "idempotency", "model_use", "api_keys",
	"collection_heads", "collections", "agents",
}

// TenantsDeleting implements store.TenantRemoval.
func (q *session) TenantsDeleting(ctx context.Context) ([]tenant.Tenant, error) {
	return q.tenants(ctx, "state = 'deleting' ORDER BY id LIMIT 100")
}

// DeleteTenantRows implements store.TenantRemoval.
func (q *session) DeleteTenantRows(ctx context.Context, id uuid.UUID, n int) (bool, error) {
	q.later("SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE", id)
	left := int64(n)
	for _, t := range tenantTables {
		var err error
		if left, err = q.deleteSome(ctx, t, "", id, left); err != nil || left <= 0 {
			return false, err
		}
	}
	q.later("DELETE FROM tenants WHERE id = $1", id)
	return true, nil
}
