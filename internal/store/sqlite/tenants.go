package sqlite

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) tenants(ctx context.Context, where string, args ...any) ([]tenant.Tenant, error) {
	return collect(ctx, q, "SELECT id, name, state, limits, allowed_hosts, created_at FROM tenants WHERE "+where, args, store.ScanTenant)
}

// TenantByID implements store.TenantRows.
func (q *session) TenantByID(ctx context.Context, id uuid.UUID) (tenant.Tenant, bool, error) {
	return first(q.tenants(ctx, "id = ? AND state <> 'deleting'", id))
}

// TenantByName implements store.TenantRows.
func (q *session) TenantByName(ctx context.Context, name string) (tenant.Tenant, bool, error) {
	return first(q.tenants(ctx, "name = ? AND state <> 'deleting'", name))
}

// TenantsAfter implements store.TenantRows.
func (q *session) TenantsAfter(ctx context.Context, name string, n int) ([]tenant.Tenant, error) {
	return q.tenants(ctx, "state <> 'deleting' AND name > ? ORDER BY name LIMIT +?", name, limit(n))
}

// InsertTenant implements store.TenantRows.
func (q *session) InsertTenant(ctx context.Context, t tenant.Tenant) error {
	limits, err := store.Document("limits", t.Limits)
	if err != nil {
		return err
	}
	found, err := q.tenants(ctx, "id = ? OR name = ? AND state <> 'deleting'", t.ID, t.Name)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fault.New(fault.Exists, "a tenant with the name %q exists", t.Name)
	}
	_, err = q.exec(ctx, "INSERT INTO tenants (id, name, state, limits, allowed_hosts, created_at) VALUES (?, ?, ?, ?, ?, ?)", t.ID, t.Name, t.State, limits, t.AllowedHosts, t.CreatedAt)
	return err
}

// UpdateTenant implements store.TenantRows.
func (q *session) UpdateTenant(ctx context.Context, t tenant.Tenant) error {
	limits, err := store.Document("limits", t.Limits)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, "UPDATE tenants SET state = ?, limits = ?, allowed_hosts = ? WHERE id = ? AND state <> 'deleting'", t.State, limits, t.AllowedHosts, t.ID)
	return err
}

// CheckTenant implements store.TenantRemoval.
func (q *session) CheckTenant(ctx context.Context, id uuid.UUID) error {
	_, ok, err := q.TenantByID(ctx, id)
	if err == nil && !ok {
		err = fault.Missing("tenant")
	}
	return err
}

// MarkTenantDeleted implements store.TenantRemoval.
func (q *session) MarkTenantDeleted(ctx context.Context, id uuid.UUID) (bool, error) {
	n, err := q.exec(ctx, "UPDATE tenants SET state = 'deleting' WHERE id = ?", id)
	if err != nil || n == 0 {
		return false, err
	}
	// From here on nothing is written to a collection of the tenant, and no job is claimed.
	if _, err := q.exec(ctx, "UPDATE collections SET state = 'deleting' WHERE tenant = ?", id); err != nil {
		return false, err
	}
	_, err = q.exec(ctx, "DELETE FROM jobs WHERE tenant = ?", id)
	return true, err
}

// tenantTables are all tables whose keys start with the tenant, in the order in which they are
// emptied: the large ones first, collections last.
var tenantTables = []struct{ name, key string }{
	{"vectors", "tenant, layer, note, from_rev, embedder"},
	{"notes", "tenant, layer, id, from_rev"},
	{"links", "tenant, layer, source, relation, target, from_rev"},
	{"usage", "tenant, layer, note"},
	{"changesets", "tenant, collection, revision"},
	{"reviews", "tenant, id"},
	{"attachments", "tenant, collection, block"},
	{"snapshots", "tenant, collection, name"},
	{"tools", "tenant, id"},
	{"deliveries", "tenant, webhook, id"},
	{"webhooks", "tenant, id"},
	{"grants", "tenant, id"},
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

// TenantsDeleting implements store.TenantRemoval.
func (q *session) TenantsDeleting(ctx context.Context) ([]tenant.Tenant, error) {
	return q.tenants(ctx, "state = 'deleting' ORDER BY id LIMIT 100")
}

// DeleteTenantRows implements store.TenantRemoval.
func (q *session) DeleteTenantRows(ctx context.Context, id uuid.UUID, n int) (bool, error) {
	if q.low > 0 {
		n = min(n, q.low)
	}
	left := int64(n)
	for _, t := range tenantTables {
		deleted, err := q.exec(ctx, "DELETE FROM "+t.name+" WHERE ("+t.key+") IN (SELECT "+t.key+" FROM "+t.name+" WHERE tenant = ? LIMIT +?)", id, left)
		if err != nil {
			return false, err
		}
		if left -= deleted; left <= 0 {
			return false, nil
		}
	}
	_, err := q.exec(ctx, "DELETE FROM tenants WHERE id = ?", id)
	return true, err
}
