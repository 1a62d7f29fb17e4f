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
	const open = " AND state || '' IN ('queued', 'running')"
	q.later(byPlace)
	q.later("UPDATE jobs SET state = 'cancelled', lease = $2, lease_until = NULL, finished_at = $4 WHERE tenant = $1"+open+
		" AND ctid = ANY(ARRAY(SELECT ctid FROM jobs WHERE tenant = $1"+inCollection("collection", open)+" FOR UPDATE))", r.Tenant, uuid.Nil, r.ID, now)
	q.later(byCost)
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

// deleteSome deletes up to left rows of a table that meet a condition, where $1 is the tenant and $2 the limit. It returns how many
// more may be deleted. The condition ends with an order that one index has alone, see byPlace.
func (q *session) deleteSome(ctx context.Context, table, where string, tenantID uuid.UUID, left int64, args ...any) (int64, error) {
	return q.deleteFound(ctx, table, "SELECT ctid FROM "+table+" WHERE tenant = $1"+where, tenantID, left, args...)
}

// deleteFound is deleteSome for rows whose places a statement selects.
func (q *session) deleteFound(ctx context.Context, table, found string, tenantID uuid.UUID, left int64, args ...any) (int64, error) {
	q.later(byPlace)
	n, err := q.exec(ctx, "DELETE FROM "+table+" WHERE tenant = $1 AND ctid = ANY(ARRAY("+found+" LIMIT $2))", append([]any{tenantID, left}, args...)...)
	q.later(byCost)
	return left - n, err
}

// inCollection is the condition that a row is one of collection $3, and the order by it. Equal, the column would be no part of the
// order, which an index without it would have as well.
func inCollection(column, and string) string {
	return " AND " + column + " BETWEEN $3 AND $3" + and + " ORDER BY " + column
}

// removable is the condition of jobs that go with their collection: all but the one that removes it.
const removable = " AND (kind <> 'remove' OR state NOT IN ('queued', 'running'))"

// DeleteCollectionRows implements store.CollectionRemoval.
func (q *session) DeleteCollectionRows(ctx context.Context, r store.CollectionRow, n int) (bool, error) {
	left := int64(n)
	var err error
	for _, t := range rowTables {
		if left, err = q.deleteSome(ctx, t.name, inCollection(t.column, ""), r.Tenant, left, r.ID); err != nil || left <= 0 {
			return false, err
		}
	}
	// Parts of spools are large: fewer of them are deleted at a time. They are those of the jobs that are deleted next.
	parts := min(left, store.SpoolBatch)
	rest, err := q.deleteFound(ctx, "spool", "SELECT x.ctid FROM unnest(ARRAY(SELECT id FROM jobs WHERE tenant = $1"+inCollection("collection", removable)+
		" LIMIT $4)) k (job) CROSS JOIN LATERAL (SELECT ctid FROM spool WHERE tenant = $1 AND job BETWEEN k.job AND k.job ORDER BY job OFFSET 0) x", r.Tenant, parts, r.ID, left)
	if err != nil || rest == 0 {
		return false, err
	}
	left, err = q.deleteSome(ctx, "jobs", inCollection("collection", removable), r.Tenant, left-(parts-rest), r.ID)
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
