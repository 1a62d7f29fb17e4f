package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
)

// taskForget is the name of the forgetting task of policies.
const taskForget = "forget"

// maxErased is how many notes one request erases.
const maxErased = 100

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
			Reading:  new(wireReading(memory.ReadingOf(p, nil))),
			Defaults: nonNilObject(decodeObject(d.Defaults)), Schema: nonNilObject(decodeObject(d.Schema)),
		})
	}
	return reply(c, http.StatusOK, out)
}

func wireReading(r memory.Reading) wire.PolicyReading {
	return wire.PolicyReading{
		Kinds: named[wire.Kind](r.Kinds), Pinned: each(r.Pinned, func(p *memory.Pin) wire.Kind { return wire.Kind(p.Kind) }), Recent: r.Recent, K: wire.Optional(r.K),
		ByDate: r.ByDate, Graph: r.Graph, Messages: r.Messages, ExpandLinks: r.ExpandLinks, PieceChars: r.PieceChars,
	}
}

func (h *core) getCosts(c *gin.Context, ref string) error {
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
		Days: make([]wire.DayCost, 0, len(costs.Days)), Adds: costs.Adds, Answers: costs.Answers, PerAdd: wireCost(costs.PerAdd), PerAnswer: wireCost(costs.PerAnswer),
	}
	for _, u := range costs.Purposes {
		out.Purposes = append(out.Purposes, wire.PurposeCost{
			Purpose: u.Purpose, Calls: u.Calls, PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens,
		})
	}
	for _, d := range costs.Days {
		out.Days = append(out.Days, wire.DayCost{Day: d.Day, Adds: d.Adds, Calls: d.Calls, PromptTokens: d.PromptTokens, CompletionTokens: d.CompletionTokens})
	}
	return reply(c, http.StatusOK, out)
}

func wireCost(c notes.Cost) wire.AverageCost {
	return wire.AverageCost{Calls: c.Calls, PromptTokens: c.PromptTokens, CompletionTokens: c.CompletionTokens}
}

// forget runs the collection's forgetting task, or only reports what it would delete. What it would delete can be erased: then what a
// broken request leaves has faded still, and the next one erases it.
func (h *core) forget(c *gin.Context, ref string, body wire.ForgetRequest) error {
	args, err := json.Marshal(wire.ForgetRequest{Mode: body.Mode, Floor: body.Floor, Tau: body.Tau})
	if err != nil {
		return fault.Wrap(err, fault.Internal, "the task cannot be encoded")
	}
	ctx := c.Request.Context()
	// Notes that were recalled a moment ago must not be forgotten.
	if err := h.Recall.Flush(ctx); err != nil {
		return err
	}
	dry, erase := valueOr(body.DryRun, false), valueOr(body.Erase, false)
	endTurn(c) // the policy may ask a model
	acted, err := h.Engine.Act(ctx, scope(c), ref, memory.Task{Name: taskForget, Args: args}, !dry && !erase)
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
		return fault.Wrap(err, fault.Internal, "the policy's result cannot be decoded")
	}
	if more := len(said.Items) - maxErased; erase && more > 0 {
		said.Items, said.Forgotten, said.Left = said.Items[:maxErased], said.Forgotten-more, said.Left+more
	}
	out := wire.ForgetAnswer{DryRun: dry, Mode: said.Mode, Items: nonNilList(said.Items), Forgotten: said.Forgotten, Looked: said.Pieces, Left: wire.Optional(said.Left)}
	if erase && !dry {
		erased, err := h.Notes.EraseAll(ctx, scope(c), ref, each(said.Items, func(n *wire.ForgottenNote) uuid.UUID { return n.Note }))
		if err != nil {
			return err
		}
		acted.Revision = max(acted.Revision, erased.Revision)
		setSources(c, erased.Said)
		out.Erasure = new(wireErasure(&erased))
	}
	if !dry {
		countRecords(c, said.Forgotten)
	}
	out.Revision = int64(acted.Revision)
	return replyAt(c, http.StatusOK, acted.Revision, out)
}
