package sqlite

import (
	"context"

	"github.com/google/uuid"
)

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
