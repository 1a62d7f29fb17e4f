package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// TenantByID implements tenant.Directory.
func (ob *observed) TenantByID(ctx context.Context, id uuid.UUID) (out tenant.Tenant, err error) {
	ctx, end := ob.begin(ctx, "TenantByID", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.TenantByID(ctx, id)
}

// CreateTenant implements tenant.AdminStore.
func (ob *observed) CreateTenant(ctx context.Context, op tenant.Operator, t tenant.Tenant) (out tenant.Tenant, err error) {
	ctx, end := ob.begin(ctx, "CreateTenant", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.CreateTenant(ctx, op, t)
}

// TenantByName implements tenant.AdminStore.
func (ob *observed) TenantByName(ctx context.Context, op tenant.Operator, name string) (out tenant.Tenant, err error) {
	ctx, end := ob.begin(ctx, "TenantByName", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.TenantByName(ctx, op, name)
}

// ListTenants implements tenant.AdminStore.
func (ob *observed) ListTenants(ctx context.Context, op tenant.Operator, after string, limit int) (out []tenant.Tenant, err error) {
	ctx, end := ob.begin(ctx, "ListTenants", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.ListTenants(ctx, op, after, limit)
}

// UpdateTenant implements tenant.AdminStore.
func (ob *observed) UpdateTenant(ctx context.Context, op tenant.Operator, t tenant.Tenant) (out tenant.Tenant, err error) {
	ctx, end := ob.begin(ctx, "UpdateTenant", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.UpdateTenant(ctx, op, t)
}

// DeleteTenant implements tenant.AdminStore.
func (ob *observed) DeleteTenant(ctx context.Context, op tenant.Operator, id uuid.UUID) (err error) {
	ctx, end := ob.begin(ctx, "DeleteTenant", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.DeleteTenant(ctx, op, id)
}

// EnsureAgent implements tenant.AgentStore.
func (ob *observed) EnsureAgent(ctx context.Context, s tenant.Scope, name string) (out tenant.Agent, err error) {
	ctx, end := ob.begin(ctx, "EnsureAgent", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.EnsureAgent(ctx, s, name)
}

// CreateAgent implements tenant.AgentStore.
func (ob *observed) CreateAgent(ctx context.Context, s tenant.Scope, a tenant.Agent) (out tenant.Agent, err error) {
	ctx, end := ob.begin(ctx, "CreateAgent", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.CreateAgent(ctx, s, a)
}

// AgentByRef implements tenant.AgentStore.
func (ob *observed) AgentByRef(ctx context.Context, s tenant.Scope, ref string) (out tenant.Agent, err error) {
	ctx, end := ob.begin(ctx, "AgentByRef", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.AgentByRef(ctx, s, ref)
}

// ListAgents implements tenant.AgentStore.
func (ob *observed) ListAgents(ctx context.Context, s tenant.Scope, after string, limit int) (out []tenant.Agent, err error) {
	ctx, end := ob.begin(ctx, "ListAgents", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.ListAgents(ctx, s, after, limit)
}

// DeleteAgent implements tenant.AgentStore.
func (ob *observed) DeleteAgent(ctx context.Context, s tenant.Scope, id uuid.UUID) (err error) {
	ctx, end := ob.begin(ctx, "DeleteAgent", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.DeleteAgent(ctx, s, id)
}

// CreateKey implements auth.KeyStore.
func (ob *observed) CreateKey(ctx context.Context, s tenant.Scope, k auth.Key, audit memory.AuditEntry) (err error) {
	ctx, end := ob.begin(ctx, "CreateKey", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.CreateKey(ctx, s, k, audit)
}

// KeyByID implements auth.KeyStore.
func (ob *observed) KeyByID(ctx context.Context, tenantID, id uuid.UUID) (out auth.Key, err error) {
	ctx, end := ob.begin(ctx, "KeyByID", tenantID, uuid.Nil)
	defer end(&err)
	return ob.Store.KeyByID(ctx, tenantID, id)
}

// ListKeys implements auth.KeyStore.
func (ob *observed) ListKeys(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) (out []auth.Key, err error) {
	ctx, end := ob.begin(ctx, "ListKeys", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.ListKeys(ctx, s, after, limit)
}

// UpdateKey implements auth.KeyStore.
func (ob *observed) UpdateKey(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*auth.Key) error) (out auth.Key, err error) {
	ctx, end := ob.begin(ctx, "UpdateKey", s.Tenant(), uuid.Nil)
	defer end(&err)
	return ob.Store.UpdateKey(ctx, s, id, audit, fn)
}

// CreateOperatorKey implements auth.KeyStore.
func (ob *observed) CreateOperatorKey(ctx context.Context, op tenant.Operator, k auth.Key) (err error) {
	ctx, end := ob.begin(ctx, "CreateOperatorKey", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.CreateOperatorKey(ctx, op, k)
}

// ListOperatorKeys implements auth.KeyStore.
func (ob *observed) ListOperatorKeys(ctx context.Context, op tenant.Operator, after uuid.UUID, limit int) (out []auth.Key, err error) {
	ctx, end := ob.begin(ctx, "ListOperatorKeys", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.ListOperatorKeys(ctx, op, after, limit)
}

// UpdateOperatorKey implements auth.KeyStore.
func (ob *observed) UpdateOperatorKey(ctx context.Context, op tenant.Operator, id uuid.UUID, fn func(*auth.Key) error) (out auth.Key, err error) {
	ctx, end := ob.begin(ctx, "UpdateOperatorKey", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.UpdateOperatorKey(ctx, op, id, fn)
}

// SigningKeys implements auth.SigningKeyStore.
func (ob *observed) SigningKeys(ctx context.Context) (out []auth.SigningKey, err error) {
	ctx, end := ob.begin(ctx, "SigningKeys", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.SigningKeys(ctx)
}

// AddSigningKey implements auth.SigningKeyStore.
func (ob *observed) AddSigningKey(ctx context.Context, k auth.SigningKey, sawNewest string, verifyFor time.Duration) (err error) {
	ctx, end := ob.begin(ctx, "AddSigningKey", uuid.Nil, uuid.Nil)
	defer end(&err)
	return ob.Store.AddSigningKey(ctx, k, sawNewest, verifyFor)
}
