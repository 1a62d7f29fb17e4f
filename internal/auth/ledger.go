package auth

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// LedgerStore is what TenantLedger needs of memory.Ledger.
type LedgerStore interface {
	Audit(ctx context.Context, s tenant.Scope, e memory.AuditEntry) error
	ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]memory.ModelUse, error)
	TenantUsage(ctx context.Context, s tenant.Scope) (memory.TenantUsage, error)
}

// TenantLedger gives the tenant package its audit log and its sums of usage,
// which need the scope of a whole tenant. It is tenant.AuditLog and
// tenant.UsageSource.
type TenantLedger struct {
	store LedgerStore
	clock memory.Clock
}

// NewTenantLedger makes a TenantLedger.
func NewTenantLedger(store LedgerStore, clock memory.Clock) (*TenantLedger, error) {
	if store == nil || clock == nil {
		return nil, errors.New("auth: a TenantLedger needs a store and a clock")
	}
	return &TenantLedger{store: store, clock: clock}, nil
}

// Record writes an audit row of the scope's tenant.
func (l *TenantLedger) Record(ctx context.Context, s tenant.Scope, e tenant.Event) error {
	return l.store.Audit(ctx, s, memory.AuditEntry{Action: e.Action, Target: e.Target, Detail: e.Detail})
}

// RecordOperator writes an operator's act into the audit log of the tenant
// acted on. The scope made for it may do nothing else.
func (l *TenantLedger) RecordOperator(ctx context.Context, op tenant.Operator, tenantID uuid.UUID, e tenant.Event) error {
	if err := op.Check(); err != nil {
		return err
	}
	return l.Record(ctx, grant.Scope(tenantID, uuid.Nil, op.Actor()), e)
}

// TenantUsage sums what a whole tenant holds, and the model tokens of the
// current UTC day.
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
	u := tenant.Usage{Notes: held.Notes, Collections: held.Collections, Forks: held.Forks, StoredBytes: held.StoredBytes}
	for _, m := range used {
		u.ModelTokens += m.PromptTokens + m.CompletionTokens
	}
	return u, nil
}
