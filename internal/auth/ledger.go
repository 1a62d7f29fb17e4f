package auth

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// LedgerStore is the part of memory.Ledger that TenantLedger calls.
type LedgerStore interface {
	Audit(ctx context.Context, s tenant.Scope, e memory.AuditEntry) error
	ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]memory.ModelUse, error)
	TenantUsage(ctx context.Context, s tenant.Scope) (memory.TenantUsage, error)
}

// TenantLedger implements tenant.AuditLog and tenant.UsageSource. Both need the
// scope of a whole tenant, which package tenant cannot create.
type TenantLedger struct {
	store LedgerStore
	clock memory.Clock
}

// NewTenantLedger returns a TenantLedger.
func NewTenantLedger(store LedgerStore, clock memory.Clock) (*TenantLedger, error) {
	if store == nil || clock == nil {
		return nil, errors.New("auth: a TenantLedger needs a store and a clock")
	}
	return &TenantLedger{store: store, clock: clock}, nil
}

// Record writes to the audit log of the scope's tenant.
func (l *TenantLedger) Record(ctx context.Context, s tenant.Scope, e tenant.Event) error {
	return l.store.Audit(ctx, s, memory.AuditEntry{Action: e.Action, Target: e.Target, Detail: e.Detail})
}

// RecordOperator writes to the audit log of the tenant that an operator changed.
// The scope that it creates for this has no permissions.
func (l *TenantLedger) RecordOperator(ctx context.Context, op tenant.Operator, tenantID uuid.UUID, e tenant.Event) error {
	if err := op.Check(); err != nil {
		return err
	}
	return l.Record(ctx, grant.Scope(tenantID, uuid.Nil, op.Actor()), e)
}

// TenantUsage sums what a whole tenant stores, and the model tokens that it used
// on the current UTC day.
func (l *TenantLedger) TenantUsage(ctx context.Context, tenantID uuid.UUID) (tenant.Usage, error) {
	s := grant.Scope(tenantID, uuid.Nil, "quota", tenant.Admin)
	held, err := l.store.TenantUsage(ctx, s)
	if err != nil {
		return tenant.Usage{}, err
	}
	day := l.clock().UTC().Format("2006-01-02")
	used, err := l.store.ModelUse(ctx, s, day, day)
	if err != nil {
		return tenant.Usage{}, err
	}
	u := tenant.Usage{Notes: held.Notes, Collections: held.Collections, Forks: held.Forks, StoredBytes: held.StoredBytes, QueuedJobs: held.QueuedJobs}
	for _, m := range used {
		u.ModelTokens += m.PromptTokens + m.CompletionTokens
	}
	return u, nil
}
