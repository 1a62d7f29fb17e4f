package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

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
