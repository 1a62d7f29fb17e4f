package worker

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// UpkeepStore is what upkeep asks of a store.
type UpkeepStore interface {
	memory.Writer
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}

// Upkeep starts work over a whole collection that a caller asks for.
type Upkeep struct {
	Store UpkeepStore
}

// Consolidate enqueues the rebuild of index and stale vectors
// (collections:write, and base:write for a shared collection).
func (u Upkeep) Consolidate(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error) {
	if err := tenant.Check(s, tenant.CollectionsWrite); err != nil {
		return memory.Job{}, err
	}
	c, err := u.Store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return memory.Job{}, err
	}
	if c.Shared() {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return memory.Job{}, err
		}
	}
	var job memory.Job
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "collection.consolidate", Target: c.ID.String()}}}
	_, err = u.Store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		var err error
		job, err = tx.Enqueue(ctx, memory.Job{Collection: c.ID, Kind: memory.JobConsolidate, Stage: memory.StageTask})
		return err
	})
	return job, err
}
