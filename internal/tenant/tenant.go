// Package tenant owns customers: who they are, what they may use, and the
// Scope that every store method takes. It knows nothing of notes, HTTP or
// databases. Scopes are made only through the subpackage grant.
package tenant

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant/internal/scope"
)

// Scope says on whose behalf a call is made. See scope.Scope for its methods.
type Scope = scope.Scope

// Operator is the platform's own scope; it is no tenant scope and cannot be
// turned into one.
type Operator = scope.Operator

// Permission is one thing a credential may do; the API calls them scopes.
type Permission = scope.Permission

// The permissions.
const (
	NotesRead        Permission = "notes:read"
	NotesWrite       Permission = "notes:write"
	CollectionsWrite Permission = "collections:write"
	BaseWrite        Permission = "base:write" // write to shared bases
	Clone            Permission = "clone"
	Admin            Permission = "admin"    // keys, agents, usage, audit of the tenant
	OperatorPerm     Permission = "operator" // the platform: tenants
)

// AllPermissions lists those of a tenant, all but operator.
func AllPermissions() []Permission {
	return []Permission{NotesRead, NotesWrite, CollectionsWrite, BaseWrite, Clone, Admin}
}

// ParsePermissions checks names and drops repeats. An unknown name is a fault
// that lists the valid ones.
func ParsePermissions(field string, names []string) ([]Permission, error) {
	valid := append(AllPermissions(), OperatorPerm)
	out := make([]Permission, 0, len(names))
	for _, n := range names {
		p := Permission(n)
		if !slices.Contains(valid, p) {
			return nil, fault.InvalidField(field, "unknown scope %q; valid are %v", n, valid)
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// Check refuses the zero Scope (Unauthenticated) and a missing permission
// (Forbidden).
func Check(s Scope, p Permission) error {
	if err := s.Check(); err != nil {
		return err
	}
	if !s.Allows(p) {
		return fault.New(fault.Forbidden, "the credential lacks the scope %q", p)
	}
	return nil
}

// State of a tenant.
type State string

// The states. A deleting tenant is 404 to everyone while its rows go.
const (
	Active    State = "active"
	Suspended State = "suspended"
	Deleting  State = "deleting"
)

// Limits bound what a tenant may hold or do. Zero means no limit.
type Limits struct {
	RequestsPerMinute int64 `json:"requests_per_minute,omitempty"`
	Notes             int64 `json:"notes,omitempty"`
	Collections       int64 `json:"collections,omitempty"`
	Forks             int64 `json:"forks,omitempty"`
	StoredBytes       int64 `json:"stored_bytes,omitempty"`
	ModelTokensPerDay int64 `json:"model_tokens_per_day,omitempty"`
}

// Tenant is a customer.
type Tenant struct {
	ID        uuid.UUID
	Name      string
	State     State
	Limits    Limits
	CreatedAt time.Time
}

// Agent is an identity inside a tenant.
type Agent struct {
	ID          uuid.UUID
	Name        string
	DisplayName string
	CreatedAt   time.Time
}

// Directory is the tenant directory, read before a scope exists. Its methods
// answer NotFound for absent and deleting tenants.
type Directory interface {
	TenantByID(ctx context.Context, id uuid.UUID) (Tenant, error)
}

// AdminStore keeps tenants for the platform. Each method refuses the zero Operator.
type AdminStore interface {
	CreateTenant(ctx context.Context, op Operator, t Tenant) (Tenant, error) // Exists
	TenantByName(ctx context.Context, op Operator, name string) (Tenant, error)
	ListTenants(ctx context.Context, op Operator, after string, limit int) ([]Tenant, error) // by name
	UpdateTenant(ctx context.Context, op Operator, t Tenant) (Tenant, error)                 // state and limits
	DeleteTenant(ctx context.Context, op Operator, id uuid.UUID) error                       // marks deleting, then removes every row
}

// AgentStore keeps the agents of a tenant.
type AgentStore interface {
	EnsureAgent(ctx context.Context, s Scope, name string) (Agent, error)              // made when first named; a scope bound to an agent may only name itself
	CreateAgent(ctx context.Context, s Scope, a Agent) (Agent, error)                  // Exists
	AgentByRef(ctx context.Context, s Scope, ref string) (Agent, error)                // id or name
	ListAgents(ctx context.Context, s Scope, after string, limit int) ([]Agent, error) // by name
	DeleteAgent(ctx context.Context, s Scope, id uuid.UUID) error                      // with its collections and keys
}
