package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// DeleteCollection implements memory.CollectionStore. Each fork is made independent in a
// transaction of its own, so that others may write in between.
func (b *Base) DeleteCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry) (job memory.Job, err error) {
	for {
		again := false
		err := b.free(ctx, s, func(ctx context.Context, q Session) (err error) {
			job, again, err = deleteCollection(ctx, q, s, id, materialise, audit, b.now())
			return err
		})
		if err != nil || !again {
			return job, err
		}
	}
}

// deleteCollection marks a collection as deleted, or makes one of its forks independent; then
// again is true.
func deleteCollection(ctx context.Context, q Session, s tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry, now time.Time) (job memory.Job, again bool, err error) {
	// Waits for those who fork it, copy it or count its use; they find it deleted afterwards.
	q.LockHead(s.Tenant(), id)
	q.LockCollection(s.Tenant(), id)
	r, err := Reach(ctx, q, s, id)
	if err != nil {
		return job, false, err
	}
	if r.State == memory.CollectionDeleting {
		return job, false, fault.Missing("collection")
	}
	forks, err := q.Forks(ctx, r, now)
	if err != nil {
		return job, false, err
	}
	if len(forks) == 0 {
		shown, err := q.Attachments(ctx, r.Tenant, tenant.Scope{}, memory.AttachmentQuery{Home: r.ID}, now)
		if err != nil {
			return job, false, err
		}
		if len(shown) > 0 && !materialise {
			named, err := q.Attachments(ctx, r.Tenant, s, memory.AttachmentQuery{Home: r.ID}, now)
			if err != nil {
				return job, false, err
			}
			return job, false, memory.StillAttached(len(shown), named)
		}
		err = all(ctx, q, []any{r.Tenant, r.ID}, "DELETE FROM attachments WHERE tenant = $1 AND collection = $2", "DELETE FROM attachments WHERE tenant = $1 AND home = $2")
		if err != nil {
			return job, false, err
		}
		if err := q.MarkCollectionDeleted(ctx, r, now); err != nil {
			return job, false, err
		}
		if job, err = enqueue(ctx, q, r.Tenant, memory.Job{Collection: r.ID, Kind: memory.JobRemove, Stage: memory.StageTask}, now); err != nil {
			return job, false, err
		}
		return job, false, auditTarget(ctx, q, s, r.ID, audit, now)
	}
	if !materialise {
		return job, false, fault.New(fault.HasForks, "forks read this collection (%d); make them independent with forks=materialise", len(forks))
	}
	q.LockHead(s.Tenant(), forks[0].ID)
	q.LockCollection(s.Tenant(), forks[0].ID)
	fork, ok, err := q.Collection(ctx, s.Tenant(), forks[0].ID)
	if err != nil {
		return job, false, err
	}
	if !ok || fork.State == memory.CollectionDeleting || fork.Reads.Collection != r.ID {
		return job, true, ErrRollback // it was deleted while its writer was waited for
	}
	layers, err := q.Layers(ctx, fork, fork.Head)
	if err != nil {
		return job, false, err
	}
	return job, true, q.Flatten(ctx, fork, layers, 2)
}

// RemoveRows implements memory.CollectionStore. The job that removes is kept until it is
// released; what was spent on models is kept as the tenant's.
func (b *Base) RemoveRows(ctx context.Context, s tenant.Scope, id uuid.UUID, limit int) (gone bool, err error) {
	if limit <= 0 {
		limit = removalBatch
	}
	err = b.free(ctx, s, func(ctx context.Context, q Session) error {
		q.LockHead(s.Tenant(), id)
		r, err := Reach(ctx, q, s, id)
		if err != nil {
			return err
		}
		if r.State != memory.CollectionDeleting {
			return fault.New(fault.Conflict, "the collection is not being deleted")
		}
		gone, err = q.DeleteCollectionRows(ctx, r, limit)
		return err
	})
	return gone, err
}
