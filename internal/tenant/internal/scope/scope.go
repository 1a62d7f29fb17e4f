// Package scope holds the Scope value and its only constructor. It lies below
// internal/tenant so that the compiler, not a convention, keeps every package
// but tenant and tenant/grant from making a Scope.
package scope

import (
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Permission is one thing that a credential may do.
type Permission string

// Scope says on whose behalf a call is made: a tenant, perhaps an agent, and
// permissions. The zero Scope is refused by every store method.
type Scope struct {
	tenant uuid.UUID
	agent  uuid.UUID // zero: all agents of the tenant
	perms  []Permission
	actor  string
}

// New makes a Scope. A zero agent reaches every agent of the tenant.
func New(tenant, agent uuid.UUID, actor string, perms []Permission) Scope {
	p := slices.Clone(perms)
	slices.Sort(p)
	return Scope{tenant: tenant, agent: agent, actor: actor, perms: slices.Compact(p)}
}

// Tenant is the owner of everything the scope can reach.
func (s Scope) Tenant() uuid.UUID { return s.tenant }

// Agent is the agent the credential is bound to; zero when it is bound to none.
func (s Scope) Agent() uuid.UUID { return s.agent }

// HasAgent tells whether the scope is bound to one agent.
func (s Scope) HasAgent() bool { return s.agent != uuid.Nil }

// Actor names the credential for audit rows and changesets, such as
// "key:01J…" or "job:…".
func (s Scope) Actor() string { return s.actor }

// Permissions lists what the scope may do, sorted.
func (s Scope) Permissions() []Permission { return slices.Clone(s.perms) }

// Allows tells whether the permission is held.
func (s Scope) Allows(p Permission) bool {
	_, ok := slices.BinarySearch(s.perms, p)
	return ok
}

// IsZero tells whether this is the zero Scope, which reaches nothing.
func (s Scope) IsZero() bool { return s.tenant == uuid.Nil }

// Check refuses the zero Scope: Unauthenticated.
func (s Scope) Check() error {
	if s.IsZero() {
		return fault.New(fault.Unauthenticated, "no tenant scope")
	}
	return nil
}

// Reaches tells whether a collection of the given owner (zero: shared base)
// can be read: without an agent all of the tenant's, with one the agent's own
// and the shared ones.
func (s Scope) Reaches(owner uuid.UUID) bool {
	return s.tenant != uuid.Nil && (s.agent == uuid.Nil || owner == uuid.Nil || owner == s.agent)
}

// Operator is the platform's own scope: it sees the tenant directory and
// nothing inside a tenant. The zero Operator is refused.
type Operator struct{ actor string }

// NewOperator makes an Operator.
func NewOperator(actor string) Operator { return Operator{actor: actor} }

// Actor names who acts.
func (o Operator) Actor() string { return o.actor }

// IsZero tells whether this is the zero Operator.
func (o Operator) IsZero() bool { return o.actor == "" }

// Check refuses the zero Operator: Unauthenticated.
func (o Operator) Check() error {
	if o.IsZero() {
		return fault.New(fault.Unauthenticated, "no operator scope")
	}
	return nil
}
