package letta

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
)

// Routes returns the operations that import and export an agent's memory as Letta's agent file.
func (l *Service) Routes() route.Set {
	return route.Set{Handlers: map[string]route.Handler{"importAgentFile": l.importFile, "exportAgentFile": l.exportFile}}
}

func (l *Service) importFile(ctx context.Context, r *route.Request) (route.Reply, error) {
	ref, err := r.Collection.Ref()
	if err != nil {
		return route.Reply{}, err
	}
	done, err := l.Import(ctx, r.Scope, ref, r.Body, r.Query.Get("agent"))
	out := wire.AgentFileReport{
		Agent: done.Agent, Blocks: done.Blocks, Messages: done.Messages, Passages: done.Passages, ToolRules: done.Rules, Tools: done.Tools,
		NotCarried: make([]wire.NotCarried, len(done.Left)), Job: wire.JobRef{ID: done.Job.ID, State: wire.JobState(done.Job.State)},
	}
	for i, left := range done.Left {
		out.NotCarried[i] = wire.NotCarried{Path: left.Path, Reason: left.Reason}
	}
	return route.Reply{Status: route.Accepted, Body: out}, err
}

func (l *Service) exportFile(ctx context.Context, r *route.Request) (route.Reply, error) {
	ref, err := r.Collection.Ref()
	if err != nil {
		return route.Reply{}, err
	}
	file, err := l.Export(ctx, r.Scope, ref)
	return route.Reply{Body: json.RawMessage(file)}, err
}
