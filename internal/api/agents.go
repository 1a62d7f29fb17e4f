package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (h *access) createAgent(c *gin.Context) error {
	body, err := bind[wire.AgentInput](c)
	if err != nil {
		return err
	}
	a, err := h.Agents.Create(c.Request.Context(), scope(c), tenant.NewAgent{Name: body.Name, DisplayName: valueOr(body.DisplayName, "")})
	if err != nil {
		return err
	}
	return reply(c, http.StatusCreated, wireAgent(a))
}

func (h *access) listAgents(c *gin.Context) error {
	after, limit, err := h.page(c)
	if err != nil {
		return err
	}
	agents, err := h.Agents.List(c.Request.Context(), scope(c), after, limit+1)
	if err != nil {
		return err
	}
	agents, next := cutPage(agents, limit, func(a tenant.Agent) string { return a.Name })
	out := wire.AgentList{Items: make([]wire.Agent, 0, len(agents))}
	for _, a := range agents {
		out.Items = append(out.Items, wireAgent(a))
	}
	if out.NextCursor, err = h.nextCursor(c, next); err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

func (h *access) getAgent(c *gin.Context) error {
	ref, err := pathRef(c, "agent")
	if err != nil {
		return err
	}
	a, err := h.Agents.Get(c.Request.Context(), scope(c), ref)
	if err != nil {
		return uniformNotFound(err, "agent")
	}
	return reply(c, http.StatusOK, wireAgent(a))
}

func (h *access) deleteAgent(c *gin.Context) error {
	ref, err := pathRef(c, "agent")
	if err != nil {
		return err
	}
	if err := h.Agents.Delete(c.Request.Context(), scope(c), ref); err != nil {
		return uniformNotFound(err, "agent")
	}
	return noContent(c)
}

func wireAgent(a tenant.Agent) wire.Agent {
	return wire.Agent{ID: a.ID, Name: a.Name, DisplayName: wire.Optional(a.DisplayName), CreatedAt: wire.Time(a.CreatedAt)}
}
