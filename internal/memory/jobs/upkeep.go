package jobs

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Store is what upkeep requires of a store.
type Store interface {
	memory.Writer
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}

// Upkeep starts work over a whole collection at a caller's request.
type Upkeep struct {
	Store     Store
	Embedders memory.Embedders
	Policies  memory.PolicySet // nil: none
	// ModelFor returns the model that the config of a collection selects; nil: there is none.
	ModelFor func(*memory.Collection) memory.Model
}

// Refresh enqueues that a model takes up what was answered without one in a collection (collections:write, and base:write
// for a shared collection). While such a job waits or runs, that job is returned. Without a model it is a Conflict that
// names the setting.
func (u Upkeep) Refresh(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error) {
	c, err := u.resolveChangeable(ctx, s, ref)
	if err != nil {
		return memory.Job{}, err
	}
	if u.ModelFor == nil || u.ModelFor(&c).Analyst() != memory.AnalystModel {
		return memory.Job{}, fault.New(fault.Conflict,
			"the collection has no model; set SLIPBOX_LLM and SLIPBOX_LLM_MODEL, and let the collection's policy_config have the analyst auto")
	}
	var job memory.Job
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "collection.refresh", Target: c.ID.String()}}}
	_, err = u.Store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		unended, err := tx.Unended(ctx, memory.JobRefresh)
		if err != nil {
			return err
		}
		if len(unended) > 0 { // one at most
			job = unended[0]
			return nil
		}
		job, err = tx.Enqueue(ctx, memory.Job{Collection: c.ID, Kind: memory.JobRefresh, Stage: memory.StageTask})
		return err
	})
	return job, err
}

// Consolidate enqueues the consolidation of the collection's policy, or, where it has none, the rebuild of index and
// stale vectors (collections:write, and base:write for a shared collection). A consolidation that is queued already is
// returned.
func (u Upkeep) Consolidate(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error) {
	c, err := u.resolveChangeable(ctx, s, ref)
	if err != nil {
		return memory.Job{}, err
	}
	wanted := memory.Job{Collection: c.ID, Kind: memory.JobConsolidate, Stage: memory.StageTask}
	var task memory.Task
	if u.Policies != nil {
		p, _ := u.Policies.ByName(c.Policy)
		if own, ok := p.(memory.Consolidator); ok {
			task = own.Consolidate()
			wanted.Kind = memory.JobPolicy
			if wanted.Payload, err = json.Marshal(task); err != nil {
				return memory.Job{}, fault.Wrap(err, fault.Internal, "the job could not be encoded")
			}
		}
	}
	var job memory.Job
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "collection.consolidate", Target: c.ID.String()}}}
	_, err = u.Store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		if wanted.Kind == memory.JobPolicy {
			waiting, err := tx.Unended(ctx, memory.JobPolicy)
			if err != nil {
				return err
			}
			for i := range waiting {
				var t memory.Task
				if job = waiting[i]; job.State == memory.JobQueued && json.Unmarshal(job.Payload, &t) == nil && t.Name == task.Name {
					return nil
				}
			}
		}
		var err error
		job, err = tx.Enqueue(ctx, wanted)
		return err
	})
	return job, err
}

// resolveChangeable resolves a collection that the scope may change.
func (u Upkeep) resolveChangeable(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error) {
	if err := tenant.Check(s, tenant.CollectionsWrite); err != nil {
		return memory.Collection{}, err
	}
	c, err := u.Store.ResolveCollection(ctx, s, ref)
	if err == nil && c.Shared() {
		err = tenant.Check(s, tenant.BaseWrite)
	}
	return c, err
}

// Reembed enqueues the change of a collection to another embedder or, with its current one, the
// computing of missing vectors (collections:write, and base:write for a shared collection). While
// such a job waits or runs, that job is returned; a job to another embedder is a Conflict. An
// embedder that is not configured is Invalid "embedder".
func (u Upkeep) Reembed(ctx context.Context, s tenant.Scope, ref, embedder string) (memory.Job, error) {
	c, err := u.resolveChangeable(ctx, s, ref)
	if err != nil {
		return memory.Job{}, err
	}
	em, ok := u.Embedders.ByName(embedder)
	if !ok {
		return memory.Job{}, fault.InvalidField("embedder", "unknown embedder %q; use %s", embedder, wording.Or(u.Embedders.Names()...))
	}
	if em.Name() == c.Embedder && em.Dim() != c.Dim {
		return memory.Job{}, fault.InvalidField("embedder", "%q has %d dimensions now, the collection's vectors have %d; give it another name", c.Embedder, em.Dim(), c.Dim)
	}
	payload, err := json.Marshal(memory.ReembedJob{Embedder: em.Name()})
	if err != nil {
		return memory.Job{}, fault.Wrap(err, fault.Internal, "the job could not be encoded")
	}
	var job memory.Job
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "collection.reembed", Target: c.ID.String(), Detail: map[string]any{"embedder": em.Name()}}}}
	_, err = u.Store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		unended, err := tx.Unended(ctx, memory.JobReembed)
		if err != nil {
			return err
		}
		if len(unended) > 0 { // one at most
			var p memory.ReembedJob
			if job = unended[0]; json.Unmarshal(job.Payload, &p) != nil || p.Embedder != em.Name() {
				return fault.New(fault.Conflict, "the collection is being changed to the embedder %q by job %s; cancel that first, or wait for its end", p.Embedder, job.ID)
			}
			return nil
		}
		job, err = tx.Enqueue(ctx, memory.Job{Collection: c.ID, Kind: memory.JobReembed, Stage: memory.StageTask, Payload: payload})
		return err
	})
	return job, err
}
