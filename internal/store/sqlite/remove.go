package sqlite

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// forks lists the collections that read c through their lineage and are not
// being removed: its children. One that has expired counts only while a
// child of its own still reads through it.
func (q *session) forks(ctx context.Context, c row, now int64) ([]row, error) {
	return q.collections(ctx, `WHERE c.tenant = ? AND c.parent = ? AND c.parent <> zeroblob(16) AND c.state <> 'deleting' AND (c.expires_at = 0 OR c.expires_at > ?
 OR EXISTS (SELECT 1 FROM collections k WHERE k.tenant = c.tenant AND k.parent = c.id AND k.state <> 'deleting')) ORDER BY c.id`, blob(c.tenant), blob(c.ID), now)
}

// DeleteCollection implements memory.CollectionStore. Each fork is made
// independent in a transaction of its own, so that others may write between.
func (s *Store) DeleteCollection(ctx context.Context, sc tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry) error {
	if err := sc.Check(); err != nil {
		return err
	}
	for {
		again := false
		err := s.writing(ctx, func(ctx context.Context, q *session) error {
			again = false
			now := s.now()
			r, err := q.reach(ctx, sc, id)
			if err != nil {
				return err
			}
			if r.State == memory.CollectionDeleting {
				return fault.Missing("collection")
			}
			forks, err := q.forks(ctx, r, micros(now))
			if err != nil {
				return err
			}
			if len(forks) > 0 {
				if !materialise {
					return fault.New(fault.HasForks, "%d forks read this collection; make them independent with forks=materialise", len(forks))
				}
				again = true
				return q.flatten(ctx, forks[0])
			}
			return q.markDeleted(ctx, sc, r, audit, micros(now))
		})
		if err != nil || !again {
			return err
		}
	}
}

func (q *session) markDeleted(ctx context.Context, sc tenant.Scope, r row, audit memory.AuditEntry, now int64) error {
	key := []any{blob(r.tenant), blob(r.ID)}
	if _, err := q.exec(ctx, "UPDATE collections SET state = 'deleting' WHERE tenant = ? AND id = ?", key...); err != nil {
		return err
	}
	_, err := q.exec(ctx, "UPDATE jobs SET state = 'cancelled', lease = zeroblob(16), lease_until = 0, finished_at = ? WHERE tenant = ? AND collection = ? AND state IN ('queued', 'running')",
		append([]any{now}, key...)...)
	if err != nil {
		return err
	}
	if _, err := q.enqueue(ctx, r.tenant, memory.Job{Collection: r.ID, Kind: memory.JobRemove, Stage: memory.StageTask}, timeOf(now)); err != nil {
		return err
	}
	audit.Target = cmp.Or(audit.Target, r.ID.String())
	return q.audit(ctx, sc, timeOf(now), audit)
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
}

// RemoveRows implements memory.CollectionStore. The job that removes stays
// until it is released; what was spent on models stays as the tenant's.
func (s *Store) RemoveRows(ctx context.Context, sc tenant.Scope, id uuid.UUID, n int) (gone bool, err error) {
	if err := sc.Check(); err != nil {
		return false, err
	}
	if n <= 0 {
		n = removalBatch
	}
	err = s.writing(ctx, func(ctx context.Context, q *session) error {
		gone = false
		r, err := q.reach(ctx, sc, id)
		if err != nil {
			return err
		}
		if r.State != memory.CollectionDeleting {
			return fault.New(fault.Conflict, "the collection is not being deleted")
		}
		left := int64(n)
		for _, t := range rowTables {
			removed, err := q.exec(ctx, "DELETE FROM "+t.name+" WHERE ("+t.key+") IN (SELECT "+t.key+" FROM "+t.name+" WHERE tenant = ? AND "+t.column+" = ? LIMIT ?)",
				blob(r.tenant), blob(id), left)
			if err != nil {
				return err
			}
			if left -= removed; left <= 0 {
				return nil
			}
		}
		removed, err := q.exec(ctx, `DELETE FROM spool WHERE (tenant, job, name, part) IN (SELECT s.tenant, s.job, s.name, s.part FROM jobs j
 JOIN spool s ON s.tenant = j.tenant AND s.job = j.id WHERE j.tenant = ? AND j.collection = ? LIMIT ?)`, blob(r.tenant), blob(id), min(left, spoolBatch))
		if err != nil {
			return err
		}
		if left -= removed; left <= 0 || removed == spoolBatch {
			return nil
		}
		removed, err = q.exec(ctx, `DELETE FROM jobs WHERE (tenant, id) IN (SELECT tenant, id FROM jobs WHERE tenant = ? AND collection = ?
 AND (kind <> 'remove' OR state NOT IN ('queued', 'running')) LIMIT ?)`, blob(r.tenant), blob(id), left)
		if err != nil {
			return err
		}
		if left -= removed; left <= 0 {
			return nil
		}
		gone = true
		for _, text := range []string{
			`INSERT INTO model_use (tenant, day, collection, purpose, calls, prompt_tokens, completion_tokens)
 SELECT tenant, day, zeroblob(16), purpose, calls, prompt_tokens, completion_tokens FROM model_use WHERE tenant = ?1 AND collection = ?2
 ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, prompt_tokens = prompt_tokens + excluded.prompt_tokens, completion_tokens = completion_tokens + excluded.completion_tokens`,
			"DELETE FROM model_use WHERE tenant = ?1 AND collection = ?2",
			"DELETE FROM collection_heads WHERE tenant = ?1 AND collection = ?2",
			"DELETE FROM collections WHERE tenant = ?1 AND id = ?2",
		} {
			if _, err := q.exec(ctx, text, blob(r.tenant), blob(id)); err != nil {
				return err
			}
		}
		return nil
	})
	return gone, err
}
