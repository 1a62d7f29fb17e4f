package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
)

// importAgentFile fills the memory of an agent from Letta's agent file.
func (h *core) importAgentFile(c *gin.Context) error {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return err
	}
	r, err := h.Letta.Import(c.Request.Context(), scope(c), ref, rawBody(c), query(c).Get("agent"))
	if err != nil {
		return err
	}
	out := wire.AgentFileReport{
		Agent: r.Agent, Blocks: r.Blocks, Messages: r.Messages, Passages: r.Passages, ToolRules: r.Rules, Tools: r.Tools, NotCarried: make([]wire.NotCarried, len(r.Left)),
		Job: *wireJobRef(&r.Job),
	}
	for i, l := range r.Left {
		out.NotCarried[i] = wire.NotCarried{Path: l.Path, Reason: l.Reason}
	}
	return reply(c, http.StatusAccepted, out)
}

// exportAgentFile returns the memory of an agent in that format.
func (h *core) exportAgentFile(c *gin.Context) error {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return err
	}
	file, err := h.Letta.Export(c.Request.Context(), scope(c), ref)
	if err != nil {
		return err
	}
	c.Data(http.StatusOK, mediaJSON, file)
	return nil
}
