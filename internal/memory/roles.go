package memory

import (
	"context"
	"slices"

	"github.com/slipboxhq/slipbox/internal/fault"
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

// Request holds the conditions of a writing call.
type Request struct {
	Guard Guard // on what the call changes; nil: none
	// Idempotency makes a call that adds something safe to repeat; nil: no key was sent. Calls that
	// can be repeated as they are (patches, deletions, sets of links) do not use it.
	Idempotency *Idempotency
}

// Guard reports whether a write may change what has this entity tag. It runs
// under the lock of the write. A nil Guard allows every write.
type Guard func(etag string) bool

// Check returns a Precondition fault when the guard refuses the tag. what names
// the thing in the message.
func (g Guard) Check(what, etag string) error {
	if g == nil || g(etag) {
		return nil
	}
	return fault.New(fault.Precondition, "the %s has changed since it was read; its entity tag is %s", what, etag)
}
