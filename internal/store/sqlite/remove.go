package sqlite

import (
	"context"
	"time"

	"github.com/slipboxhq/slipbox/internal/store"
)

// Forks implements store.CollectionRemoval.
func (q *session) Forks(ctx context.Context, c store.CollectionRow, now time.Time) ([]store.CollectionRow, error) {
	return q.collections(ctx, `WHERE c.tenant = ? AND c.parent = ? AND c.parent <> zeroblob(16) AND c.state <> 'deleting' AND (c.expires_at = 0 OR +c.expires_at > ?
 OR EXISTS (SELECT 1 FROM collections k WHERE k.tenant = c.tenant AND k.parent = c.id AND k.state <> 'deleting')) ORDER BY c.id`, c.Tenant, c.ID, now)
}

// Holders implements store.CollectionRemoval.
func (q *session) Holders(ctx context.Context, c store.CollectionRow) ([]store.CollectionRow, error) {
	return q.collections(ctx, "WHERE c.tenant = ? AND c.lineage <> '' AND c.state <> 'deleting' AND instr(c.lineage, ?) > 0 ORDER BY c.id", c.Tenant, c.ID.String())
}

// MarkCollectionDeleted implements store.CollectionRemoval.
func (q *session) MarkCollectionDeleted(ctx context.Context, r store.CollectionRow, now time.Time) error {
	if _, err := q.exec(ctx, "UPDATE collections SET state = 'deleting' WHERE tenant = ? AND id = ?", r.Tenant, r.ID); err != nil {
		return err
	}
	_, err := q.exec(ctx, "UPDATE collections SET fork_of = zeroblob(16), fork_revision = 0 WHERE tenant = ? AND fork_of = ? AND lineage <> ''", r.Tenant, r.ID)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, "UPDATE jobs SET state = 'cancelled', lease = zeroblob(16), lease_until = 0, finished_at = ? WHERE tenant = ? AND collection = ? AND state IN ('queued', 'running')",
		now, r.Tenant, r.ID)
	return err
}

// rowTables are the tables whose rows belong to one collection, by the
// column that names it.
var rowTables = []struct{ name, key, column string }{
	{"vectors", "tenant, layer, note, from_rev, embedder", "layer"},
	{"notes", "tenant, layer, id, from_rev", "layer"},
	{"links", "tenant, layer, source, relation, target, from_rev", "layer"},
	{"usage", "tenant, layer, note", "layer"},
	{"changesets", "tenant, collection, revision", "collection"},
	{"reviews", "tenant, id", "collection"},
	{"attachments", "tenant, collection, block", "collection"},
	{"snapshots", "tenant, collection, name", "collection"},
}

// DeleteCollectionRows implements store.CollectionRemoval.
func (q *session) DeleteCollectionRows(ctx context.Context, r store.CollectionRow, n int) (bool, error) {
	if q.low > 0 {
		n = min(n, q.low)
	}
	left := int64(n)
	for _, t := range rowTables {
		removed, err := q.exec(ctx, "DELETE FROM "+t.name+" WHERE ("+t.key+") IN (SELECT "+t.key+" FROM "+t.name+" WHERE tenant = ? AND "+t.column+" = ? LIMIT +?)",
			r.Tenant, r.ID, left)
		if err != nil {
			return false, err
		}
		if left -= removed; left <= 0 {
			return false, nil
		}
	}
	removed, err := q.exec(ctx, `DELETE FROM spool WHERE (tenant, job, name, part) IN (SELECT s.tenant, s.job, s.name, s.part FROM jobs j
 JOIN spool s ON s.tenant = j.tenant AND s.job = j.id WHERE j.tenant = ? AND j.collection = ? LIMIT +?)`, r.Tenant, r.ID, min(left, store.SpoolBatch))
	if err != nil {
		return false, err
	}
	if left -= removed; left <= 0 || removed == store.SpoolBatch {
		return false, nil
	}
	removed, err = q.exec(ctx, `DELETE FROM jobs WHERE (tenant, id) IN (SELECT tenant, id FROM jobs WHERE tenant = ? AND collection = ?
 AND (kind <> 'remove' OR state NOT IN ('queued', 'running')) LIMIT +?)`, r.Tenant, r.ID, left)
	if err != nil {
		return false, err
	}
	if left -= removed; left <= 0 {
		return false, nil
	}
	for _, text := range []string{
		`INSERT INTO model_use (tenant, day, collection, purpose, calls, prompt_tokens, completion_tokens)
 SELECT tenant, day, zeroblob(16), purpose, calls, prompt_tokens, completion_tokens FROM model_use WHERE tenant = ?1 AND collection = ?2
 ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, prompt_tokens = prompt_tokens + excluded.prompt_tokens, completion_tokens = completion_tokens + excluded.completion_tokens`,
		"DELETE FROM model_use WHERE tenant = ?1 AND collection = ?2",
		"DELETE FROM collection_heads WHERE tenant = ?1 AND collection = ?2",
		"DELETE FROM collections WHERE tenant = ?1 AND id = ?2",
	} {
		if _, err := q.exec(ctx, text, r.Tenant, r.ID); err != nil {
			return false, err
		}
	}
	return true, nil
}
