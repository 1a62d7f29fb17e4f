package memory

import (
	"context"
	"slices"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Names of policies that the core itself knows. PolicyAMEM is the default;
// with PolicyNone a collection stores notes as they are given.
const (
	PolicyAMEM = "amem"
	PolicyNone = "none"
)

// Policies finds policies by name.
type Policies interface {
	ByName(name string) (Policy, bool)
	Names() []string // sorted
}

// PolicySet is a fixed set of policies; it implements Policies.
type PolicySet map[string]Policy

// NewPolicySet gathers policies under their names; of two with one name the
// later wins.
func NewPolicySet(list ...Policy) PolicySet {
	set := make(PolicySet, len(list))
	for _, p := range list {
		set[p.Name()] = p
	}
	return set
}

// ByName finds a policy.
func (s PolicySet) ByName(name string) (Policy, bool) {
	p, ok := s[name]
	return p, ok
}

// Names lists the policies, sorted.
func (s PolicySet) Names() []string {
	names := make([]string, 0, len(s))
	for n := range s {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Quota refuses what would pass a tenant's limits, with QuotaExceeded. It may
// overshoot by a bounded amount: nothing tenant-wide is locked.
type Quota interface {
	// CheckNotes asks for room for n more notes of so many bytes in all.
	CheckNotes(ctx context.Context, s tenant.Scope, n, bytes int64) error
	// CheckCollections asks for room for one more collection, which may be a fork.
	CheckCollections(ctx context.Context, s tenant.Scope, fork bool) error
}

// Agents finds and makes the agents that collections belong to.
type Agents interface {
	EnsureAgent(ctx context.Context, s tenant.Scope, name string) (tenant.Agent, error)
	AgentByRef(ctx context.Context, s tenant.Scope, ref string) (tenant.Agent, error)
}

// Request is what a writing call carries beside its body.
type Request struct {
	// Match is the value of If-Match as it was sent; "" does not guard.
	Match Match
	// Idempotency is nil when no key was sent.
	Idempotency *Idempotency
}
