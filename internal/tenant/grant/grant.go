// Package grant is the only package that creates tenant scopes. The linter and
// an architecture test restrict its importers to auth (a verified credential),
// the job runner (a leased job), app (administration on the command line) and
// the conformance suite.
package grant

import (
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/internal/scope"
)

// Scope returns a scope for a tenant. A zero agent gives access to all agents of
// the tenant. actor names the caller in audit rows and changesets.
func Scope(tenantID, agent uuid.UUID, actor string, perms ...tenant.Permission) tenant.Scope {
	return scope.New(tenantID, agent, actor, perms)
}

// Limited returns a scope that reaches only the collections with the ids of an application in the limit.
func Limited(tenantID, agent uuid.UUID, l tenant.Limit, actor string, perms ...tenant.Permission) tenant.Scope {
	return scope.New(tenantID, agent, actor, perms).Limited(l)
}

// Job returns the scope of a job of a tenant: all agents and all permissions of
// the tenant, with the job as actor.
func Job(tenantID, job uuid.UUID) tenant.Scope {
	return scope.New(tenantID, uuid.Nil, scope.JobActor+job.String(), tenant.AllPermissions())
}

// Operator returns an operator scope. It gives access to tenants, never to what
// they store.
func Operator(actor string) tenant.Operator { return scope.NewOperator(actor) }
