package letta

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Routes returns the operations that import and export an agent's memory as Letta's agent file.
func (l *Service) Routes() route.Set {
	return route.Set{Handlers: map[string]route.Handler{"importAgentFile": l.importFile, "exportAgentFile": l.exportFile}}
}

// report is a Report as callers see it.
type report struct {
	Agent      string    `json:"agent"`
	Blocks     []string  `json:"blocks"`
	Messages   int       `json:"messages"`
	Passages   int       `json:"passages"`
	Rules      int       `json:"tool_rules"`
	Tools      []string  `json:"tools"`
	NotCarried []Left    `json:"not_carried"`
	Job        reportJob `json:"job"`
}

type reportJob struct {
	ID    uuid.UUID       `json:"id"`
	State memory.JobState `json:"state"`
}

func (l *Service) importFile(ctx context.Context, r *route.Request) (route.Reply, error) {
	ref, err := r.Collection.Ref()
	if err != nil {
		return route.Reply{}, err
	}
	done, err := l.Import(ctx, r.Scope, ref, r.Body, r.Query.Get("agent"))
	return route.Reply{Status: route.Accepted, Body: report{
		Agent: done.Agent, Blocks: done.Blocks, Messages: done.Messages, Passages: done.Passages, Rules: done.Rules, Tools: done.Tools,
		NotCarried: append([]Left{}, done.Left...), Job: reportJob{done.Job.ID, done.Job.State},
	}}, err
}

func (l *Service) exportFile(ctx context.Context, r *route.Request) (route.Reply, error) {
	ref, err := r.Collection.Ref()
	if err != nil {
		return route.Reply{}, err
	}
	file, err := l.Export(ctx, r.Scope, ref)
	return route.Reply{Body: json.RawMessage(file)}, err
}
