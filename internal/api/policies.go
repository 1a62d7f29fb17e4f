package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
)

// taskForget is the task of policies that forget.
const taskForget = "forget"

func (h *core) listPolicies(c *gin.Context) error {
	out := wire.PolicyList{Items: []wire.PolicyDescription{}}
	for _, name := range h.Policies.Names() {
		p, ok := h.Policies.ByName(name)
		if !ok {
			continue
		}
		d := p.Describe()
		out.Items = append(out.Items, wire.PolicyDescription{
			Name: name, Title: d.Title, Description: d.Description, Exchanges: d.Exchanges,
			Defaults: object(decodeObject(d.Defaults)), Schema: object(decodeObject(d.Schema)),
		})
	}
	return reply(c, http.StatusOK, out)
}

func (h *core) getCosts(c *gin.Context) error {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return err
	}
	first, last, err := queryDays(c, h.now())
	if err != nil {
		return err
	}
	costs, err := h.Costs.Of(c.Request.Context(), scope(c), ref, first, last)
	if err != nil {
		return err
	}
	out := wire.Costs{
		From: first.Format(time.DateOnly), To: last.Format(time.DateOnly), Purposes: make([]wire.PurposeCost, 0, len(costs.Purposes)),
		Adds: costs.Adds, Answers: costs.Answers, PerAdd: wireCost(costs.PerAdd), PerAnswer: wireCost(costs.PerAnswer),
	}
	for _, u := range costs.Purposes {
		out.Purposes = append(out.Purposes, wire.PurposeCost{
			Purpose: u.Purpose, Calls: u.Calls, PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens,
		})
	}
	return reply(c, http.StatusOK, out)
}

func wireCost(c notes.Cost) wire.AverageCost {
	return wire.AverageCost{Calls: c.Calls, PromptTokens: c.PromptTokens, CompletionTokens: c.CompletionTokens}
}

// forget lets the policy of a collection say what has faded, and let go of it.
func (h *core) forget(c *gin.Context) error {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return err
	}
	body, err := bind[wire.ForgetRequest](c)
	if err != nil {
		return err
	}
	args, err := json.Marshal(wire.ForgetRequest{Mode: body.Mode, Floor: body.Floor, Tau: body.Tau})
	if err != nil {
		return fault.Wrap(err, fault.Internal, "the task cannot be written")
	}
	ctx := c.Request.Context()
	// What was recalled a moment ago must not count as forgotten.
	if err := h.Recall.Flush(ctx); err != nil {
		return err
	}
	dry := or(body.DryRun, false)
	acted, err := h.Engine.Act(ctx, scope(c), ref, memory.Task{Name: taskForget, Args: args}, !dry)
	if err != nil {
		return err
	}
	var said struct {
		Mode      wire.ForgetMode      `json:"mode"`
		Pieces    *int                 `json:"pieces"`
		Forgotten int                  `json:"forgotten"`
		Left      int                  `json:"left"`
		Items     []wire.ForgottenNote `json:"items"`
	}
	if err := json.Unmarshal(acted.Outcome, &said); err != nil {
		return fault.Wrap(err, fault.Internal, "what the policy said cannot be read")
	}
	setRevision(c, acted.Revision)
	return reply(c, http.StatusOK, wire.ForgetAnswer{
		DryRun: dry, Mode: said.Mode, Items: list(said.Items), Forgotten: said.Forgotten, Looked: said.Pieces, Left: optional(said.Left),
		Revision: int64(acted.Revision),
	})
}
