package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
)

func (h *core) listTools(c *gin.Context, v memory.View) error {
	tools, err := h.Agent.Tools(c.Request.Context(), scope(c), &v)
	if err != nil {
		return err
	}
	out := wire.ToolList{Items: make([]wire.Tool, 0, len(tools))}
	for _, t := range tools {
		out.Items = append(out.Items, wire.Tool{
			Type: wire.ToolTypeFunction, Function: wire.ToolFunction{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
		})
	}
	return reply(c, http.StatusOK, out)
}

func (h *core) step(c *gin.Context, ref string, body wire.StepRequest) error {
	call := agent.Call{Tool: body.Tool, Arguments: valueOr(body.Arguments, nil)}
	got, err := h.Agent.Step(c.Request.Context(), scope(c), ref, call, conditions(c))
	if err != nil {
		return err
	}
	out := wire.StepAnswer{Ok: got.OK, Heartbeat: got.Heartbeat, Tokens: got.Tokens, Revision: int64(got.Revision)}
	if got.OK {
		out.Result = &got.Text
	} else {
		out.Error = &got.Error
	}
	return replyAt(c, http.StatusOK, got.Revision, out)
}

func (h *core) getMainContext(c *gin.Context, v memory.View) error {
	m, err := h.Agent.Main(c.Request.Context(), scope(c), v)
	if err != nil {
		return err
	}
	parts := each(m.Parts, func(p *agent.Part) wire.MainPart {
		return wire.MainPart{Part: wire.MainPartPart(p.Name), Tokens: p.Tokens}
	})
	return replyAt(c, http.StatusOK, v.At, wire.MainContext{Window: m.Window, Used: m.Used, Parts: parts})
}
