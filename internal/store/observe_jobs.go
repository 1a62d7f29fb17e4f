package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// DueCollections implements memory.Queue.
func (ob *observed) DueCollections(ctx context.Context, now time.Time, limit int) (out []memory.Due, err error) {
	ctx, end := ob.begin(ctx, "DueCollections", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.DueCollections(ctx, now, limit)
}

// ClaimJobs implements memory.Queue.
func (ob *observed) ClaimJobs(ctx context.Context, s tenant.Scope, collection uuid.UUID, stage memory.Stage, lease uuid.UUID, until time.Time, limit int) (out []memory.Job, err error) {
	ctx, end := ob.begin(ctx, "ClaimJobs", s.Tenant(), collection)
	defer end(&err)
	return ob.Store.ClaimJobs(ctx, s, collection, stage, lease, until, limit)
}

// Heartbeat implements memory.Queue.
func (ob *observed) Heartbeat(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, until time.Time) (err error) {
	ctx, end := ob.begin(ctx, "Heartbeat", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.Heartbeat(ctx, s, job, lease, until)
}

// ReleaseJob implements memory.Queue.
func (ob *observed) ReleaseJob(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, as memory.JobEnd) (err error) {
	ctx, end := ob.begin(ctx, "ReleaseJob", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.ReleaseJob(ctx, s, job, lease, as)
}

// SetProgress implements memory.Queue.
func (ob *observed) SetProgress(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, p memory.Progress) (err error) {
	ctx, end := ob.begin(ctx, "SetProgress", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.SetProgress(ctx, s, job, lease, p)
}

// VoidLeases implements memory.Queue.
func (ob *observed) VoidLeases(ctx context.Context) (out int, err error) {
	ctx, end := ob.begin(ctx, "VoidLeases", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.VoidLeases(ctx)
}

// NextDue implements memory.Queue.
func (ob *observed) NextDue(ctx context.Context) (out time.Time, err error) {
	ctx, end := ob.begin(ctx, "NextDue", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.NextDue(ctx)
}

// Backlog implements memory.Queue.
func (ob *observed) Backlog(ctx context.Context) (out []memory.Backlog, err error) {
	ctx, end := ob.begin(ctx, "Backlog", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.Backlog(ctx)
}

// Job implements memory.Queue.
func (ob *observed) Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (out memory.Job, err error) {
	ctx, end := ob.begin(ctx, "Job", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.Job(ctx, s, id)
}

// ListJobs implements memory.Queue.
func (ob *observed) ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) (out []memory.Job, err error) {
	ctx, end := ob.begin(ctx, "ListJobs", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.ListJobs(ctx, s, q)
}

// JobsAhead implements memory.Queue.
func (ob *observed) JobsAhead(ctx context.Context, s tenant.Scope, job uuid.UUID) (out int, err error) {
	ctx, end := ob.begin(ctx, "JobsAhead", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.JobsAhead(ctx, s, job)
}

// RetryJob implements memory.Queue.
func (ob *observed) RetryJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (out memory.Job, err error) {
	ctx, end := ob.begin(ctx, "RetryJob", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.RetryJob(ctx, s, id, audit)
}

// CancelJob implements memory.Queue.
func (ob *observed) CancelJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (out memory.Job, err error) {
	ctx, end := ob.begin(ctx, "CancelJob", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.CancelJob(ctx, s, id, audit)
}

// PutPart implements memory.Spool.
func (ob *observed) PutPart(ctx context.Context, s tenant.Scope, job uuid.UUID, spool memory.SpoolName, n int, data []byte) (err error) {
	ctx, end := ob.begin(ctx, "PutPart", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.PutPart(ctx, s, job, spool, n, data)
}

// Parts implements memory.Spool.
func (ob *observed) Parts(ctx context.Context, s tenant.Scope, job uuid.UUID, spool memory.SpoolName, fn func(data []byte) error) (err error) {
	ctx, end := ob.begin(ctx, "Parts", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.Parts(ctx, s, job, spool, fn)
}

// DropParts implements memory.Spool.
func (ob *observed) DropParts(ctx context.Context, s tenant.Scope, job uuid.UUID, spool memory.SpoolName, n int) (out int, err error) {
	ctx, end := ob.begin(ctx, "DropParts", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.DropParts(ctx, s, job, spool, n)
}

// SweepParts implements memory.Spool.
func (ob *observed) SweepParts(ctx context.Context, s tenant.Scope, before time.Time) (err error) {
	ctx, end := ob.begin(ctx, "SweepParts", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.SweepParts(ctx, s, before)
}

// StaleParts implements memory.Spool.
func (ob *observed) StaleParts(ctx context.Context, before time.Time, limit int) (out []uuid.UUID, err error) {
	ctx, end := ob.begin(ctx, "StaleParts", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.StaleParts(ctx, before, limit)
}

// Review implements memory.ReviewStore.
func (ob *observed) Review(ctx context.Context, s tenant.Scope, id uuid.UUID) (out memory.Review, err error) {
	ctx, end := ob.begin(ctx, "Review", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.Review(ctx, s, id)
}

// ListReviews implements memory.ReviewStore.
func (ob *observed) ListReviews(ctx context.Context, s tenant.Scope, q memory.ReviewQuery) (out []memory.Review, err error) {
	ctx, end := ob.begin(ctx, "ListReviews", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.ListReviews(ctx, s, q)
}

// Replayed implements memory.Ledger.
func (ob *observed) Replayed(ctx context.Context, s tenant.Scope, k memory.Idempotency) (out memory.Idempotency, ok bool, err error) {
	ctx, end := ob.begin(ctx, "Replayed", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.Replayed(ctx, s, k)
}

// Audit implements memory.Ledger.
func (ob *observed) Audit(ctx context.Context, s tenant.Scope, e memory.AuditEntry) (err error) {
	ctx, end := ob.begin(ctx, "Audit", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.Audit(ctx, s, e)
}

// ListAudit implements memory.Ledger.
func (ob *observed) ListAudit(ctx context.Context, s tenant.Scope, q memory.AuditQuery) (out []memory.AuditEntry, err error) {
	ctx, end := ob.begin(ctx, "ListAudit", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.ListAudit(ctx, s, q)
}

// AddModelUse implements memory.Ledger.
func (ob *observed) AddModelUse(ctx context.Context, s tenant.Scope, u []memory.ModelUse) (err error) {
	ctx, end := ob.begin(ctx, "AddModelUse", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.AddModelUse(ctx, s, u)
}

// ModelUse implements memory.Ledger.
func (ob *observed) ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) (out []memory.ModelUse, err error) {
	ctx, end := ob.begin(ctx, "ModelUse", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.ModelUse(ctx, s, fromDay, toDay)
}

// TenantUsage implements memory.Ledger.
func (ob *observed) TenantUsage(ctx context.Context, s tenant.Scope) (out memory.TenantUsage, err error) {
	ctx, end := ob.begin(ctx, "TenantUsage", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.TenantUsage(ctx, s)
}
