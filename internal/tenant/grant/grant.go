// Package grant is the only maker of tenant scopes. Who may import it is held
// by the linter and by an architecture test: auth (a verified credential), the
// job runner (a leased job), app (administration on the command line) and the
// conformance suite.
package grant

import (
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/internal/scope"
)

// Scope makes a scope for a tenant. A zero agent reaches all agents of the
// tenant; actor names who acts, for audit rows and changesets.
func Scope(tenantID, agent uuid.UUID, actor string, perms ...tenant.Permission) tenant.Scope {
	return scope.New(tenantID, agent, actor, perms)
}

// Job makes the scope of a job runner acting for a tenant: all agents, all
// permissions of a tenant, named by the job.
func Job(tenantID, job uuid.UUID) tenant.Scope {
	return scope.New(tenantID, uuid.Nil, "job:"+job.String(), tenant.AllPermissions())
}

// Operator makes the operator scope: tenants as such, never what they hold.
func Operator(actor string) tenant.Operator { return scope.NewOperator(actor) }
