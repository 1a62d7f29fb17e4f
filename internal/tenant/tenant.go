// Package tenant owns tenants (customers) and their agents: creating and
// listing them, their rate limit and quotas, and the Scope that every store
// method takes. It does not depend on notes, HTTP or databases.
//
// Only the subpackage grant creates scopes. Package auth turns credentials
// into scopes, the store implements Directory, AdminStore and AgentStore, and
// package api calls the services.
package tenant

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/tenant/internal/scope"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Scope is the tenant, agent and permissions on whose behalf a call is made.
// See scope.Scope for its methods.
type Scope = scope.Scope

// Limit is whose memory a scope is for. See scope.Limit.
type Limit = scope.Limit

// Operator is the scope of the platform itself. It is not a tenant scope and
// cannot be converted into one.
type Operator = scope.Operator

// Permission allows one group of operations; the API calls permissions scopes.
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

// AllPermissions returns the permissions within a tenant: all but operator.
func AllPermissions() []Permission {
	return []Permission{NotesRead, NotesWrite, CollectionsWrite, BaseWrite, Clone, Admin}
}

// ParsePermissions parses names and removes duplicates. An unknown name is
// Invalid, with a message that lists the valid names.
func ParsePermissions(field string, names []string) ([]Permission, error) {
	valid := append(AllPermissions(), OperatorPerm)
	out := make([]Permission, 0, len(names))
	for _, n := range names {
		p := Permission(n)
		if !slices.Contains(valid, p) {
			return nil, fault.InvalidField(field, "unknown scope %q; use %s", n, wording.Or(valid...))
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// Check returns Unauthenticated for the zero Scope and Forbidden when s lacks
// the permission p.
func Check(s Scope, p Permission) error {
	if err := s.Check(); err != nil {
		return err
	}
	if !s.Allows(p) {
		return fault.New(fault.Forbidden, "the credential lacks the scope %q", p)
	}
	return nil
}

// State is the state of a tenant.
type State string

// The states. While the rows of a deleting tenant are removed, every request
// for it fails with NotFound.
const (
	Active    State = "active"
	Suspended State = "suspended"
	Deleting  State = "deleting"
)

// Limits bound what a tenant may hold or do. Zero means no limit.
type Limits struct {
	RequestsPerMinute int64 `json:"requests_per_minute,omitempty"`
	RequestsPerSecond int64 `json:"requests_per_second,omitempty"` // at each gateway
	Notes             int64 `json:"notes,omitempty"`
	Collections       int64 `json:"collections,omitempty"`
	Forks             int64 `json:"forks,omitempty"`
	StoredBytes       int64 `json:"stored_bytes,omitempty"`
	ModelTokensPerDay int64 `json:"model_tokens_per_day,omitempty"`
	QueuedJobs        int64 `json:"queued_jobs,omitempty"`
	// ParseSecondsPerHour are for turning files into text, at each process that runs jobs.
	ParseSecondsPerHour int64 `json:"parse_seconds_per_hour,omitempty"`
}

// Tenant is a customer.
type Tenant struct {
	ID     uuid.UUID
	Name   string
	State  State
	Limits Limits
	// AllowedHosts are the public hosts that its webhooks may reach, separated by commas; "*": all; "": none.
	AllowedHosts string
	CreatedAt    time.Time
}

// Hosts returns AllowedHosts as a list.
func (t *Tenant) Hosts() []string {
	if t.AllowedHosts == "" {
		return nil
	}
	return strings.Split(t.AllowedHosts, ",")
}

// joinHosts returns a list as the text of AllowedHosts. Invalid for what is not a list of hosts.
func joinHosts(field string, list []string) (string, error) {
	if _, err := outbound.ParseHosts(list...); err != nil {
		return "", fault.InvalidField(field, "%s", err)
	}
	for _, h := range list {
		if strings.TrimSpace(h) != h || h == "" || strings.Contains(h, ",") {
			return "", fault.InvalidField(field, "must be a list of hosts, each without spaces")
		}
	}
	return strings.Join(list, ","), nil
}

// Agent is an identity inside a tenant.
type Agent struct {
	ID          uuid.UUID
	Name        string
	DisplayName string
	CreatedAt   time.Time
}

// Directory is the tenant directory. It is read before a scope exists. Its
// methods return NotFound for absent and deleting tenants.
type Directory interface {
	TenantByID(ctx context.Context, id uuid.UUID) (Tenant, error)
}

// AdminStore stores tenants for the platform. Each method returns
// Unauthenticated for the zero Operator.
type AdminStore interface {
	// CreateTenant returns Exists when the name is taken.
	CreateTenant(ctx context.Context, op Operator, t Tenant) (Tenant, error)
	TenantByName(ctx context.Context, op Operator, name string) (Tenant, error)
	// ListTenants returns a page ordered by name, starting after the given name.
	ListTenants(ctx context.Context, op Operator, after string, limit int) ([]Tenant, error)
	// UpdateTenant writes the state, the limits and the allowed hosts.
	UpdateTenant(ctx context.Context, op Operator, t Tenant) (Tenant, error)
	// DeleteTenant marks the tenant as deleting, then removes all its rows.
	DeleteTenant(ctx context.Context, op Operator, id uuid.UUID) error
	// EndTenantDeletions removes the rows that are left of tenants whose deletion was interrupted.
	EndTenantDeletions(ctx context.Context, op Operator) error
}

// AgentStore stores the agents of a tenant.
type AgentStore interface {
	// EnsureAgent returns the agent with the given name and creates it if absent.
	// A scope bound to an agent may name only that agent.
	EnsureAgent(ctx context.Context, s Scope, name string) (Agent, error)
	// CreateAgent returns Exists when the name is taken.
	CreateAgent(ctx context.Context, s Scope, a Agent) (Agent, error)
	// AgentByRef finds an agent by id or name.
	AgentByRef(ctx context.Context, s Scope, ref string) (Agent, error)
	// ListAgents returns a page ordered by name, starting after the given name.
	ListAgents(ctx context.Context, s Scope, after string, limit int) ([]Agent, error)
	// DeleteAgent deletes the agent with its collections and keys. It returns the jobs that remove their rows.
	DeleteAgent(ctx context.Context, s Scope, id uuid.UUID) (jobs []uuid.UUID, err error)
}
