package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/tools"
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
	p.Tools, p.Approve = slices.Clone(p.Tools), slices.Clone(p.Approve)
	for i := range list[:len(shown)] {
		p.Tools = append(p.Tools, shown[i])
		if list[i].Spec.Approval == memory.ApproveAlways {
			p.Approve = append(p.Approve, list[i].Name)
		}
	}
	return nil
}

// fitting returns the first tools of a list whose descriptions fit into their share of the window, and the tokens of
// the share.
func (a *Service) fitting(p *memory.Paging, list []memory.HTTPTool) (shown []memory.Tool, share int, err error) {
	own, err := json.Marshal(p.Tools)
	if err != nil {
		return nil, 0, fault.Wrap(err, fault.Internal, "encode the tools")
	}
	share = (p.Window - a.count(p.Instructions) - a.count(string(own))) / shareOfTools
	left := share
	for i := range list {
		f, err := tools.Function(&list[i])
		if err != nil {
			return nil, 0, err
		}
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
func (a *Service) AttachTool(ctx context.Context, s tenant.Scope, ref, tool string) (memory.HTTPTool, error) {
	v, p, err := a.openWritable(ctx, s, ref)
	if err != nil {
		return memory.HTTPTool{}, err
	}
	return a.tools.Attach(ctx, s, v.Collection.ID.String(), tool, func(list []memory.HTTPTool) error {
		shown, share, err := a.fitting(&p, list)
		if err == nil && len(shown) < len(list) {
			err = fault.InvalidField("tool", "the window of %d tokens has no room for it: tools of the tenant may have %d", p.Window, max(0, share))
		}
		return err
	})
}

// executor returns what runs a tool that p shows; nil when p shows no such tool.
func (a *Service) executor(p *memory.Paging, tool string) executor {
	if !slices.ContainsFunc(p.Tools, func(t memory.Tool) bool { return t.Name == tool }) {
		return nil
	}
	if e, known := executors()[tool]; known {
		return e
	}
	return external(tool)
}

// external returns the executor of a tool of the tenant's own. The service gets the id of the call, so that it can know
// a call that is repeated after a crash.
func external(name string) executor {
	return func(ctx context.Context, r *run) (string, error) {
		if err := r.args.problems.Err(); err != nil { // request_heartbeat; the others are checked by the tool's schema
			return "", err
		}
		list, err := r.a.tools.Attached(ctx, r.s, r.view.Collection.ID)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(list, func(t memory.HTTPTool) bool { return t.Name == name })
		if i < 0 { // it was detached meanwhile
			return "", fault.New(fault.Invalid, "there is no tool %q any more", name)
		}
		text, err := r.a.tools.Call(ctx, r.s, &list[i], r.args.given, r.idempotency())
		return clean(text), err
	}
}

// idempotency returns the key under which a service gets the call: its id in a run; else one that follows from the
// request's own key, or a new one.
func (r *run) idempotency() string {
	switch {
	case r.call != "":
		return r.call
	case r.request.Idempotency != nil:
		return uuid.NewSHA1(r.view.Collection.ID, fmt.Appendf(nil, "%s\x00%s", r.s.Agent(), r.request.Idempotency.Key)).String()
	}
	return uuid.NewString()
}
