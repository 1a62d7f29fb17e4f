package engine

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Consolidate enqueues a consolidate job at a caller's wish. It needs
// collections:write, and base:write on a shared base.
func (e *Engine) Consolidate(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error) {
	if err := tenant.Check(s, tenant.CollectionsWrite); err != nil {
		return memory.Job{}, err
	}
	v, err := e.store.OpenView(ctx, s, ref, memory.At{})
	if err != nil {
		return memory.Job{}, err
	}
	if v.Collection.Shared() {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return memory.Job{}, err
		}
	}
	o := memory.WriteOptions{Cause: memory.CauseConsolidate, Audit: []memory.AuditEntry{{
		Action: "collection.consolidate", Target: v.Collection.ID.String(),
	}}}
	var job memory.Job
	_, err = e.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		var err error
		job, err = tx.Enqueue(ctx, memory.Job{Kind: memory.JobConsolidate, Stage: memory.StageTask, Collection: v.Collection.ID})
		return err
	})
	if err != nil {
		return memory.Job{}, err
	}
	e.wake()
	return job, nil
}
