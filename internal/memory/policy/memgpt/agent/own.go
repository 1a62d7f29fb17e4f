package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// shareOfTools is the part of the window that tools of the tenant's own may have, of what instructions and memory tools
// leave: one in so many. A tool that does not fit is not shown.
const shareOfTools = 2

// equip adds to what an agent works with the tools of the tenant's own that its collection shows.
func (a *Service) equip(ctx context.Context, s tenant.Scope, c *memory.Collection, p *memory.Paging) error {
	if a.tools == nil {
		return nil
	}
	list, err := a.tools.Attached(ctx, s, c.ID)
	if err != nil || len(list) == 0 {
		return err
	}
	shown, _, err := a.fitting(p, list)
	if err != nil {
		return err
	}
	p.Tools, p.Own = append(slices.Clone(p.Tools), shown...), list[:len(shown)]
	return nil
}

// fitting returns the first tools of a list whose descriptions fit into their share of the window, and the tokens of
// the share.
func (a *Service) fitting(p *memory.Paging, list []memory.OwnTool) (shown []memory.Tool, share int, err error) {
	own, err := json.Marshal(p.Tools)
	if err != nil {
		return nil, 0, fault.Wrap(err, fault.Internal, "encode the tools")
	}
	share = (p.Window - a.count(p.Instructions) - a.count(string(own))) / shareOfTools
	left := share
	for i := range list {
		f := memory.Tool{Name: list[i].Name, Description: list[i].Spec.Description, Parameters: list[i].Spec.Parameters}
		raw, err := json.Marshal(f)
		if err != nil {
			return nil, 0, fault.Wrap(err, fault.Internal, "encode a tool")
		}
		if left -= a.count(string(raw)) + 1; left < 0 {
			break
		}
		shown = append(shown, f)
	}
	return shown, share, nil
}

// AttachTool shows a tool of the tenant's own to the agents of a collection (notes:write, base:write). Invalid "tool"
// when it does not fit into the window.
func (a *Service) AttachTool(ctx context.Context, s tenant.Scope, ref, tool string) (memory.OwnTool, error) {
	v, p, err := a.openWritable(ctx, s, ref)
	if err != nil {
		return memory.OwnTool{}, err
	}
	return a.tools.Attach(ctx, s, v.Collection.ID.String(), tool, func(list []memory.OwnTool) error {
		shown, share, err := a.fitting(&p, list)
		if err == nil && len(shown) < len(list) {
			err = fault.InvalidField("tool", "the window of %d tokens has no room for it: tools of the tenant may have %d", p.Window, max(0, share))
		}
		return err
	})
}

// own returns the tool that p shows and the caller runs; nil for another one.
func own(p *memory.Paging, tool string) *memory.OwnTool {
	i := slices.IndexFunc(p.Own, func(t memory.OwnTool) bool { return t.Name == tool })
	if i < 0 {
		return nil
	}
	return &p.Own[i]
}

// executorOf returns what runs a memory tool that p shows; nil when p shows no such tool.
func executorOf(p *memory.Paging, tool string) executor {
	if !slices.ContainsFunc(p.Tools, func(t memory.Tool) bool { return t.Name == tool }) {
		return nil
	}
	return executors()[tool]
}
