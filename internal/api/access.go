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
}

// mountAccess mounts the routes of Access.
func (s *Server) mountAccess(deps Access) error {
	if err := deps.check(); err != nil {
		return err
	}
	h := &access{Server: s, Access: deps}
	return s.mountAll(map[string]handler{
		"createToken": h.createToken,
		"getJWKS":     h.getJWKS,

		"createAPIKey": h.createAPIKey,
		"listAPIKeys":  h.listAPIKeys,
		"rotateAPIKey": h.rotateAPIKey,
		"revokeAPIKey": h.revokeAPIKey,
		"deleteAPIKey": h.revokeAPIKey,

		"listGrants":  h.listGrants,
		"deleteGrant": h.deleteGrant,

		"createAgent": h.createAgent,
		"listAgents":  h.listAgents,
		"getAgent":    h.getAgent,
		"deleteAgent": h.deleteAgent,

		"createTenant":  h.createTenant,
		"listTenants":   h.listTenants,
		"getTenant":     h.getTenant,
		"patchTenant":   h.patchTenant,
		"suspendTenant": h.suspendTenant,
		"resumeTenant":  h.resumeTenant,
		"deleteTenant":  h.deleteTenant,

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

// page reads limit and cursor of a listing. The handler asks for one item more than the limit, to
// see whether there is a next page.
func (h *access) page(c *gin.Context) (after string, limit int, err error) {
	cur, err := h.cursorOf(c)
	if err != nil || cur == nil {
		return "", pageLimit(c), err
	}
	return cur.Position, pageLimit(c), nil
}

// cutPage shortens a page to the limit and returns the position for its cursor; "" on the last page.
func cutPage[T any](items []T, limit int, position func(T) string) ([]T, string) {
	if len(items) <= limit {
		return items, ""
	}
	return items[:limit], position(items[limit-1])
}
