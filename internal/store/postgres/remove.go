package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// forks lists the collections that read c through their lineage and are not
// being removed: its children. One that has expired counts only while a
// child of its own still reads through it.
func (q *session) forks(ctx context.Context, c row, now time.Time) ([]row, error) {
	return q.collections(ctx, `WHERE c.tenant = $1 AND c.parent = $3 AND c.parent <> `+zeroID+` AND c.state <> 'deleting' AND (c.expires_at IS NULL OR c.expires_at > $2
 OR EXISTS (SELECT 1 FROM collections k WHERE k.tenant = c.tenant AND k.parent = c.id AND k.state <> 'deleting')) ORDER BY c.id`, c.tenant, now, c.ID)
}

// DeleteCollection implements memory.CollectionStore. Each fork is made
// independent in a transaction of its own, so that others may write between.
func (s *Store) DeleteCollection(ctx context.Context, sc tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry) error {
	if err := sc.Check(); err != nil {
		return err
	}
	for {
		again := false
		err := s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
			again = false
			now := s.now()
			// Those that fork it, copy it or count its use are waited for, and see
			// afterwards what became of it.
			q.lock(sc.Tenant(), id)
			q.takeCollection(sc.Tenant(), id)
			r, err := q.reach(ctx, sc, id)
			if err != nil {
				return err
			}
			if r.State == memory.CollectionDeleting {
				return fault.Missing("collection")
			}
			forks, err := q.forks(ctx, r, now)
			if err != nil {
				return err
			}
			if len(forks) == 0 {
				return q.markDeleted(ctx, sc, r, audit, now)
			}
			if !materialise {
				return fault.New(fault.HasForks, "%d forks read this collection; make them independent with forks=materialise", len(forks))
			}
			again = true
			q.lock(sc.Tenant(), forks[0].ID)
			f, ok, err := q.collection(ctx, sc.Tenant(), forks[0].ID)
			if err != nil || !ok || f.State == memory.CollectionDeleting || f.Parent != r.ID {
				return orDone(err) // it went while its writer was waited for
			}
			return q.flatten(ctx, f)
		})
		if err != nil || !again {
			return err
		}
	}
}

func (q *session) markDeleted(ctx context.Context, sc tenant.Scope, r row, audit memory.AuditEntry, now time.Time) error {
	q.later("UPDATE collections SET state = 'deleting' WHERE tenant = $1 AND id = $2", r.tenant, r.ID)
	q.later("UPDATE jobs SET state = 'cancelled', lease = $3, lease_until = NULL, finished_at = $4 WHERE tenant = $1 AND collection = $2 AND state IN ('queued', 'running')",
		r.tenant, r.ID, uuid.Nil, now)
	if _, err := q.enqueue(ctx, r.tenant, memory.Job{Collection: r.ID, Kind: memory.JobRemove, Stage: memory.StageTask}, now); err != nil {
		return err
	}
	audit.Target = cmp.Or(audit.Target, r.ID.String())
	return q.audit(ctx, sc, now, audit)
}

// removalBatch is how many rows one transaction of a removal takes.
const removalBatch = 2000

// rowTables are the tables whose rows belong to one collection, by the
// column that names it.
var rowTables = []struct{ name, column string }{
	{"vectors", "layer"},
	{"notes", "layer"},
	{"links", "layer"},
	{"usage", "layer"},
	{"changesets", "collection"},
	{"reviews", "collection"},
}

// removeSome removes up to left rows of a table that meet a condition, where
// $1 is the tenant and $2 the bound, and tells how many may still go.
func (q *session) removeSome(ctx context.Context, table, where string, tenantID uuid.UUID, left int64, args ...any) (int64, error) {
	n, err := q.exec(ctx, "DELETE FROM "+table+" WHERE tenant = $1 AND ctid = ANY(ARRAY(SELECT ctid FROM "+table+" WHERE tenant = $1"+where+" LIMIT $2))",
		append([]any{tenantID, left}, args...)...)
	return left - n, err
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
	err = s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		gone = false
		q.lock(sc.Tenant(), id)
		r, err := q.reach(ctx, sc, id)
		if err != nil {
			return err
		}
		if r.State != memory.CollectionDeleting {
			return fault.New(fault.Conflict, "the collection is not being deleted")
		}
		left := int64(n)
		for _, t := range rowTables {
			if left, err = q.removeSome(ctx, t.name, " AND "+t.column+" = $3", r.tenant, left, id); err != nil || left <= 0 {
				return err
			}
		}
		if left, err = q.removeSpools(ctx, r, left); err != nil || left <= 0 {
			return err
		}
		left, err = q.removeSome(ctx, "jobs", " AND collection = $3 AND (kind <> 'remove' OR state NOT IN ('queued', 'running'))", r.tenant, left, id)
		if err != nil || left <= 0 {
			return err
		}
		gone = true
		for _, text := range []string{
			`INSERT INTO model_use AS m (tenant, day, collection, purpose, calls, prompt_tokens, completion_tokens)
 SELECT tenant, day, ` + zeroID + `, purpose, calls, prompt_tokens, completion_tokens FROM model_use WHERE tenant = $1 AND collection = $2 ORDER BY day, purpose
 ON CONFLICT (tenant, day, collection, purpose) DO UPDATE SET ` + moreUse,
			"DELETE FROM model_use WHERE tenant = $1 AND collection = $2",
			"DELETE FROM collection_heads WHERE tenant = $1 AND collection = $2",
			"DELETE FROM collections WHERE tenant = $1 AND id = $2",
		} {
			q.later(text, r.tenant, id)
		}
		return nil
	})
	return gone, err
}

// removeSpools removes parts of the jobs of a collection; they are large, so
// that fewer of them go at a time. More are left when nothing may go any more.
func (q *session) removeSpools(ctx context.Context, r row, left int64) (int64, error) {
	n := min(left, spoolBatch)
	rest, err := q.removeSome(ctx, "spool", " AND job IN (SELECT j.id FROM jobs j WHERE j.tenant = $1 AND j.collection = $3)", r.tenant, n, r.ID)
	if err != nil || rest == 0 {
		return 0, err
	}
	return left - (n - rest), nil
}

// ExpiredCollections implements memory.CollectionStore.
func (s *Store) ExpiredCollections(ctx context.Context, now time.Time, n int) ([]memory.Due, error) {
	return s.due(ctx, "SELECT tenant, collection FROM expired_collections($1, $2)", trunc(now), most(n))
}

// EphemeralCollections implements memory.CollectionStore.
func (s *Store) EphemeralCollections(ctx context.Context, n int) ([]memory.Due, error) {
	return s.due(ctx, "SELECT tenant, collection FROM ephemeral_collections($1)", most(n))
}
