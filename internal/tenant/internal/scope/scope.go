// Package scope defines the Scope value and its only constructor. It is internal
// to package tenant, so the compiler ensures that only tenant and tenant/grant
// can create a Scope.
package scope

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Permission allows one group of operations.
type Permission string

// Scope is the tenant, the optional agent and the permissions on whose behalf a
// call is made. Every store method refuses the zero Scope.
type Scope struct {
	tenant uuid.UUID
	agent  uuid.UUID // zero: all agents of the tenant
	limit  Limit
	perms  []Permission
	actor  string
}

// Limit is whose memory a scope is for: ids of an application, of which "" is any. A limited scope reaches the collections that
// have the ids that are set, and nothing else of the tenant.
type Limit struct{ User, Agent, App, Run string }

// IsZero reports whether nothing is limited.
func (l Limit) IsZero() bool { return l == Limit{} }

// And returns the limit of what has the ids of both. ok is false where the two name different ids: nothing has both.
func (l Limit) And(o Limit) (both Limit, ok bool) {
	ok = true
	one := func(a, b string) string {
		ok = ok && (a == "" || b == "" || a == b)
		return cmp.Or(a, b)
	}
	both = Limit{one(l.User, o.User), one(l.Agent, o.Agent), one(l.App, o.App), one(l.Run, o.Run)}
	return both, ok
}

// With returns the limit with an id, by its name in the API. ok is false for a name of none.
func (l Limit) With(name, id string) (_ Limit, ok bool) {
	to := map[string]*string{"user": &l.User, "agent": &l.Agent, "app": &l.App, "run": &l.Run}[name]
	if to == nil {
		return l, false
	}
	*to = id
	return l, true
}

// IDs returns the ids that are set, by their names in the API; nil for none.
func (l Limit) IDs() map[string]string {
	var out map[string]string
	for name, id := range map[string]string{"user": l.User, "agent": l.Agent, "app": l.App, "run": l.Run} {
		if id != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = id
		}
	}
	return out
}

// Text returns a text that no other limit has, as no id has a control character; "" where nothing is limited.
func (l Limit) Text() string {
	switch {
	case l.IsZero():
		return ""
	case l.App == "" && l.Run == "":
		return l.User + "\x00" + l.Agent
	}
	return strings.Join([]string{l.User, l.Agent, l.App, l.Run}, "\x00")
}

// Limited returns the scope with a limit.
func (s Scope) Limited(l Limit) Scope {
	s.limit = l
	return s
}

// Limit returns whose memory the scope is for.
func (s Scope) Limit() Limit { return s.limit }

// IsWhole reports whether the scope reaches everything of its tenant.
func (s Scope) IsWhole() bool { return s.agent == uuid.Nil && s.limit.IsZero() }

// Reader identifies what the scope reaches in its tenant: two scopes of a tenant with the same Reader reach the same. It is the
// agent where nothing is limited.
func (s Scope) Reader() uuid.UUID {
	if s.limit.IsZero() {
		return s.agent
	}
	return uuid.NewSHA1(s.agent, []byte(s.limit.Text()))
}

// New returns a Scope. A zero agent gives access to every agent of the tenant.
func New(tenant, agent uuid.UUID, actor string, perms []Permission) Scope {
	p := slices.Clone(perms)
	slices.Sort(p)
	return Scope{tenant: tenant, agent: agent, actor: actor, perms: slices.Compact(p)}
}

// Tenant returns the tenant that owns everything the scope can access.
func (s Scope) Tenant() uuid.UUID { return s.tenant }

// Agent returns the agent that the scope is bound to, or zero.
func (s Scope) Agent() uuid.UUID { return s.agent }

// HasAgent reports whether the scope is bound to an agent.
func (s Scope) HasAgent() bool { return s.agent != uuid.Nil }

// Actor returns the name of the caller in audit rows and changesets, such as
// "key:01J…" or "job:…".
func (s Scope) Actor() string { return s.actor }

// JobActor begins the actor of jobs; the id of the job follows.
const JobActor = "job:"

// IsJob reports whether a job acts, and no caller waits.
func (s Scope) IsJob() bool { return strings.HasPrefix(s.actor, JobActor) }

// Permissions returns the permissions of the scope, sorted.
func (s Scope) Permissions() []Permission { return slices.Clone(s.perms) }

// Allows reports whether the scope has the permission.
func (s Scope) Allows(p Permission) bool {
	_, ok := slices.BinarySearch(s.perms, p)
	return ok
}

// IsZero reports whether this is the zero Scope, which can access nothing.
func (s Scope) IsZero() bool { return s.tenant == uuid.Nil }

// Check returns Unauthenticated for the zero Scope.
func (s Scope) Check() error {
	if s.IsZero() {
		return fault.New(fault.Unauthenticated, "no tenant scope")
	}
	return nil
}

// Reaches reports whether the scope may read what belongs to the given agent
// (zero: shared base). A scope without an agent may read that of all agents of the
// tenant, a scope with an agent only the agent's own and the shared. A limit is the
// business of memory.Collection.ReachedBy.
func (s Scope) Reaches(owner uuid.UUID) bool {
	return s.tenant != uuid.Nil && (s.agent == uuid.Nil || owner == uuid.Nil || owner == s.agent)
}

// Operator is the scope of the platform itself: it gives access to the tenant
// directory and to nothing inside a tenant. The zero Operator is refused.
type Operator struct{ actor string }

// NewOperator returns an Operator.
func NewOperator(actor string) Operator { return Operator{actor: actor} }

// Actor returns the name of the operator for audit rows and logs.
func (o Operator) Actor() string { return o.actor }

// IsZero reports whether this is the zero Operator.
func (o Operator) IsZero() bool { return o.actor == "" }

// Check returns Unauthenticated for the zero Operator.
func (o Operator) Check() error {
	if o.IsZero() {
		return fault.New(fault.Unauthenticated, "no operator scope")
	}
	return nil
}
