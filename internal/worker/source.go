package worker

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// source is the outbox of the store as the runner sees it.
type source struct {
	store memory.Queue
	clock memory.Clock
}

// Due lists collections with work.
func (q *source) Due(ctx context.Context, limit int) ([]queue.Ref, error) {
	due, err := q.store.DueCollections(ctx, q.clock().UTC(), limit)
	if err != nil {
		return nil, err
	}
	refs := make([]queue.Ref, len(due))
	for i, d := range due {
		refs[i] = queue.Ref{Tenant: d.Tenant, Collection: d.Collection}
	}
	return refs, nil
}

// Claim leases jobs.
func (q *source) Claim(ctx context.Context, r queue.Ref, stage queue.Stage, token uuid.UUID, until time.Time, limit int) ([]memory.Job, error) {
	jobs, err := q.store.ClaimJobs(ctx, jobScope(r.Tenant, uuid.Nil), r.Collection, memory.Stage(stage), token, until.UTC(), limit)
	if fault.Is(err, fault.NotFound) {
		return nil, nil // the collection went meanwhile, and its jobs with it
	}
	return jobs, err
}

// Heartbeat prolongs a lease.
func (q *source) Heartbeat(ctx context.Context, l queue.Lease, until time.Time) (bool, error) {
	err := q.store.Heartbeat(ctx, jobScope(l.Ref.Tenant, l.Job), l.Job, l.Token, until.UTC())
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// NextDue tells when the next waiting job is due.
func (q *source) NextDue(ctx context.Context) (time.Time, error) { return q.store.NextDue(ctx) }

// ID of a job.
func (q *source) ID(j memory.Job) uuid.UUID { return j.ID }

// Kind of a job.
func (q *source) Kind(j memory.Job) string { return string(j.Kind) }

// jobScope is the scope of a job: its tenant's, all agents.
func jobScope(tenantID, job uuid.UUID) tenant.Scope { return grant.Job(tenantID, job) }
