package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Names of policies that the core knows. PolicyAMEM is the default. Collections with PolicyNone or
// PolicyMemGPT store notes as they are sent.
const (
	PolicyAMEM   = "amem"
	PolicyMemGPT = "memgpt"
	PolicyNone   = "none"
)

// Decides reports whether a policy decides about notes and messages. The others store them as they are
// sent, so a write enqueues no job for them but the one that embeds.
func Decides(policy string) bool { return policy != PolicyNone && policy != PolicyMemGPT }

// PolicySet is a fixed set of policies, by name.
type PolicySet map[string]Policy

// NewPolicySet returns a set of policies. Of two policies with one name, the later one is in the
// set.
func NewPolicySet(list ...Policy) PolicySet {
	set := make(PolicySet, len(list))
	for _, p := range list {
		set[p.Name()] = p
	}
	return set
}

// ByName returns the policy with a name.
func (s PolicySet) ByName(name string) (Policy, bool) {
	p, ok := s[name]
	return p, ok
}

// Names returns the names of the policies, sorted.
func (s PolicySet) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Quota refuses writes that would exceed a tenant's limits, with QuotaExceeded, before work is spent
// on them. It takes no lock on the tenant; near a limit the store checks again (StorageLimits).
type Quota interface {
	// CheckNotes asks for room for n more notes with this many bytes in total.
	CheckNotes(ctx context.Context, s tenant.Scope, n, bytes int64) error
	// CheckJobs asks whether n more notes or messages may wait for their policy. Imports do not ask:
	// they are jobs themselves.
	CheckJobs(ctx context.Context, s tenant.Scope, n int64) error
	// CheckCollections asks for room for one more collection. fork reports whether it is a fork.
	CheckCollections(ctx context.Context, s tenant.Scope, fork bool) error
}

// Agents finds and creates the agents that own collections.
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
	// With is written in the same transaction: it gets what the call has written, or found, and may run more
	// than once. nil: nothing.
	With With
}

// With writes something together with the notes of a call.
type With func(ctx context.Context, tx Tx, written []Note) error

// Write runs it; nil does nothing.
func (w With) Write(ctx context.Context, tx Tx, written ...Note) error {
	if w == nil {
		return nil
	}
	return w(ctx, tx, written)
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
