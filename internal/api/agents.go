package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (h *access) createAgent(c *gin.Context, body wire.AgentInput) error {
	a, err := h.Agents.Create(c.Request.Context(), scope(c), tenant.NewAgent{Name: body.Name, DisplayName: valueOr(body.DisplayName, "")})
	if err != nil {
		return err
	}
	return reply(c, http.StatusCreated, wireAgent(&a))
}

func (h *access) listAgents(c *gin.Context) error {
	page, next, err := pageOf(h.Server, c, func(after string, limit int) ([]tenant.Agent, error) {
		return h.Agents.List(c.Request.Context(), scope(c), after, limit)
	}, func(a *tenant.Agent) string { return a.Name }, wireAgent)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.AgentList{Items: page, NextCursor: next})
}

func (h *access) getAgent(c *gin.Context, ref string) error {
	a, err := h.Agents.Get(c.Request.Context(), scope(c), ref)
	if err != nil {
		return uniformNotFound(err, "agent")
	}
	return reply(c, http.StatusOK, wireAgent(&a))
}

func (h *access) deleteAgent(c *gin.Context, ref string) error {
	return h.core.remove(c, func(ctx context.Context) ([]uuid.UUID, error) {
		jobs, err := h.Agents.Delete(ctx, scope(c), ref)
		return jobs, uniformNotFound(err, "agent")
	})
}

func wireAgent(a *tenant.Agent) wire.Agent {
	return wire.Agent{ID: a.ID, Name: a.Name, DisplayName: wire.Optional(a.DisplayName), CreatedAt: wire.Time(a.CreatedAt)}
}
