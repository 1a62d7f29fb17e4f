package api

import (
	"errors"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Access holds what the routes of tokens, keys, agents, tenants, usage and audit call. All of it is
// required.
type Access struct {
	Tokens  *auth.Tokens
	Keys    *auth.Keys
	Grants  *auth.Grants
	Agents  *tenant.Agents
	Tenants *tenant.Service
	Usage   UsageReader
	Audit   AuditReader
}

// check returns an error that names every missing part.
func (a *Access) check() error {
	var errs []error
	for _, part := range []struct {
		name    string
		missing bool
	}{
		{"tokens", a.Tokens == nil},
		{"keys", a.Keys == nil},
		{"grants", a.Grants == nil},
		{"agents", a.Agents == nil},
		{"tenants", a.Tenants == nil},
		{"usage", a.Usage == nil},
		{"audit", a.Audit == nil},
	} {
		if part.missing {
			errs = append(errs, errors.New("api: access: "+part.name+" is required"))
		}
	}
	return errors.Join(errs...)
}

// access serves the routes of Access.
type access struct {
	*Server
	Access
	core *core // answers removals; nil without one: nobody can wait for them
}

// mountAccess mounts the routes of Access.
func (s *Server) mountAccess(deps Access, core *core) error {
	if err := deps.check(); err != nil {
		return err
	}
	h := &access{Server: s, Access: deps, core: core}
	return s.mountAll(map[string]handler{
		"createToken": withBody(h.createToken),
		"getJWKS":     h.getJWKS,

		"createAPIKey": withBody(h.createAPIKey),
		"listAPIKeys":  h.listAPIKeys,
		"rotateAPIKey": h.rotateAPIKey,
		"revokeAPIKey": h.revokeAPIKey,
		"deleteAPIKey": h.revokeAPIKey,

		"listGrants":  h.listGrants,
		"deleteGrant": h.deleteGrant,

		"createAgent": withBody(h.createAgent),
		"listAgents":  h.listAgents,
		"getAgent":    onRef("agent", h.getAgent),
		"deleteAgent": onRef("agent", h.deleteAgent),

		"createTenant":  withBody(h.createTenant),
		"listTenants":   h.listTenants,
		"getTenant":     h.tenant(h.Tenants.Get),
		"patchTenant":   withBody(h.patchTenant),
		"suspendTenant": h.tenant(h.Tenants.Suspend),
		"resumeTenant":  h.tenant(h.Tenants.Resume),
		"deleteTenant":  onRef("tenant", h.deleteTenant),

		"getUsage":  h.getUsage,
		"listAudit": h.listAudit,
	})
}

// uniformNotFound replaces the words of every NotFound, so that an answer does not reveal whether a
// thing is absent or belongs to another.
func uniformNotFound(err error, what string) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	e := fault.Missing(what)
	e.Err = err
	return e
}

// pageOf returns a page of a listing as it is shown, and the cursor of the next one. list returns up to so many items after a
// position; "" is the start. It is asked for one more than the page has, to see whether there is a next page.
func pageOf[T, W any](s *Server, c *gin.Context, list func(after string, limit int) ([]T, error), position func(*T) string, show func(*T) W) (page []W, next *string, err error) {
	cur, err := s.cursorOf(c)
	if err != nil {
		return nil, nil, err
	}
	after, limit := "", pageLimit(c)
	if cur != nil {
		after = cur.Position
	}
	items, err := list(after, limit+1)
	if err == nil && len(items) > limit {
		items = items[:limit]
		next, err = s.nextCursor(c, position(&items[limit-1]))
	}
	return each(items, show), next, err
}
