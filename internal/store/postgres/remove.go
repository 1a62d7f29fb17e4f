package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// Forks implements store.CollectionRemoval.
func (q *session) Forks(ctx context.Context, c store.CollectionRow, now time.Time) ([]store.CollectionRow, error) {
	return q.collections(ctx, `WHERE c.tenant = $1 AND c.parent = $3 AND c.parent <> `+zeroID+` AND c.state <> 'deleting' AND (c.expires_at IS NULL OR c.expires_at > $2
 OR EXISTS (SELECT 1 FROM collections k WHERE k.tenant = c.tenant AND k.parent = c.id AND k.state <> 'deleting')) ORDER BY c.id`, c.Tenant, now, c.ID)
}

// Holders implements store.CollectionRemoval.
func (q *session) Holders(ctx context.Context, c store.CollectionRow) ([]store.CollectionRow, error) {
	return q.collections(ctx, "WHERE c.tenant = $1 AND c.lineage <> '' AND c.state <> 'deleting' AND position($2 IN c.lineage) > 0 ORDER BY c.id", c.Tenant, c.ID.String())
}

// MarkCollectionDeleted implements store.CollectionRemoval. It goes with the next statement.
func (q *session) MarkCollectionDeleted(_ context.Context, r store.CollectionRow, now time.Time) error {
	q.later("UPDATE collections SET state = 'deleting' WHERE tenant = $1 AND id = $2", r.Tenant, r.ID)
	q.later("UPDATE collections SET fork_of = "+zeroID+", fork_revision = 0 WHERE tenant = $1 AND fork_of = $2 AND lineage <> ''", r.Tenant, r.ID)
	// The condition is in a form that is not that of the index of a tenant's open jobs.
	q.later("UPDATE jobs SET state = 'cancelled', lease = $3, lease_until = NULL, finished_at = $4 WHERE tenant = $1 AND collection = $2 AND state || '' IN ('queued', 'running')",
		r.Tenant, r.ID, uuid.Nil, now)
	return nil
}

// rowTables are the tables whose rows belong to one collection, by the
// column that names it.
var rowTables = []struct{ name, column string }{
	{"vectors", "layer"},
	{"notes", "layer"},
	{"links", "layer"},
	{"usage", "layer"},
	{"changesets", "collection"},
	{"reviews", "collection"},
	{"attachments", "collection"},
	{"snapshots", "collection"},
}

// deleteSome deletes up to left rows of a table that meet a condition, where $1 is the tenant and
// $2 the limit. It returns how many more may be deleted. For them to be found by their places, pages cost nothing: a planner that knows
// nothing of the tenant would read all that it has to find them.
func (q *session) deleteSome(ctx context.Context, table, where string, tenantID uuid.UUID, left int64, args ...any) (int64, error) {
	q.later(byPlace)
	n, err := q.exec(ctx, "DELETE FROM "+table+" WHERE tenant = $1 AND ctid = ANY(ARRAY(SELECT ctid FROM "+table+" WHERE tenant = $1"+where+" LIMIT $2))",
		append([]any{tenantID, left}, args...)...)
	q.later(byCost)
	return left - n, err
}

// DeleteCollectionRows implements store.CollectionRemoval.
func (q *session) DeleteCollectionRows(ctx context.Context, r store.CollectionRow, n int) (bool, error) {
	left := int64(n)
	var err error
	for _, t := range rowTables {
		if left, err = q.deleteSome(ctx, t.name, " AND "+t.column+" = $3", r.Tenant, left, r.ID); err != nil || left <= 0 {
			return false, err
		}
	}
	// Parts of spools are large: fewer of them are deleted at a time.
	parts := min(left, store.SpoolBatch)
	rest, err := q.deleteSome(ctx, "spool", " AND job IN (SELECT j.id FROM jobs j WHERE j.tenant = $1 AND j.collection = $3)", r.Tenant, parts, r.ID)
	if err != nil || rest == 0 {
		return false, err
	}
	left, err = q.deleteSome(ctx, "jobs", " AND collection = $3 AND (kind <> 'remove' OR state NOT IN ('queued', 'running'))", r.Tenant, left-(parts-rest), r.ID)
	if err != nil || left <= 0 {
		return false, err
	}
	for _, text := range []string{
		`INSERT INTO model_use AS m (tenant, day, collection, purpose, calls, prompt_tokens, completion_tokens)
 SELECT tenant, day, ` + zeroID + `, purpose, calls, prompt_tokens, completion_tokens FROM model_use WHERE tenant = $1 AND collection = $2 ORDER BY day, purpose
 ON CONFLICT (tenant, day, collection, purpose) DO UPDATE SET ` + moreUse,
		"DELETE FROM model_use WHERE tenant = $1 AND collection = $2",
		"DELETE FROM collection_heads WHERE tenant = $1 AND collection = $2",
		"DELETE FROM collections WHERE tenant = $1 AND id = $2",
	} {
		q.later(text, r.Tenant, r.ID)
	}
	return true, nil
}

// ExpiredCollections implements memory.CollectionStore.
func (s *Store) ExpiredCollections(ctx context.Context, now time.Time, n int) ([]memory.Due, error) {
	return s.due(ctx, "SELECT tenant, collection FROM expired_collections($1, $2)", store.Micros(now), functionLimit(n))
}

// EphemeralCollections implements memory.CollectionStore.
func (s *Store) EphemeralCollections(ctx context.Context, n int) ([]memory.Due, error) {
	return s.due(ctx, "SELECT tenant, collection FROM ephemeral_collections($1)", functionLimit(n))
}
