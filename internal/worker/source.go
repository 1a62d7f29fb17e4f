package worker

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// source is the outbox of the store as the job runner uses it.
type source struct {
	store memory.Queue
	clock memory.Clock
}

// Due lists collections with work.
func (q *source) Due(ctx context.Context, limit int) ([]memory.Due, error) {
	return q.store.DueCollections(ctx, q.clock().UTC(), limit)
}

// Claim leases jobs.
func (q *source) Claim(ctx context.Context, c memory.Due, stage memory.Stage, token uuid.UUID, until time.Time, limit int) ([]memory.Job, error) {
	jobs, err := q.store.ClaimJobs(ctx, jobScope(c.Tenant, uuid.Nil), c.Collection, stage, token, until.UTC(), limit)
	if fault.Is(err, fault.NotFound) {
		return nil, nil // the collection was deleted meanwhile, and its jobs with it
	}
	return jobs, err
}

// Heartbeat prolongs a lease.
func (q *source) Heartbeat(ctx context.Context, j memory.Job, until time.Time) (bool, error) {
	err := q.store.Heartbeat(ctx, jobScope(j.Tenant, j.ID), j.ID, j.Lease, until.UTC())
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// NextDue returns when the next waiting job is due.
func (q *source) NextDue(ctx context.Context) (time.Time, error) { return q.store.NextDue(ctx) }

// jobScope is the scope of a job: its tenant's, all agents.
func jobScope(tenantID, job uuid.UUID) tenant.Scope { return grant.Job(tenantID, job) }
