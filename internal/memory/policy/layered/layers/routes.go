package layers

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
)

// Routes returns the operation that stores one item in the layers of a collection. What is in them is recalled as in every
// policy with layers.
func (l *Service) Routes() route.Set {
	return route.Set{Handlers: map[string]route.Handler{"remember": l.remember}}
}

// remembered is an answer to a request.
type remembered struct {
	Stored    []layered.Stored   `json:"stored"`
	Skipped   []layered.Skipped  `json:"skipped"`
	Conflicts []layered.Conflict `json:"conflicts"`
	Turn      int64              `json:"turn,omitempty"`
	Revision  memory.Revision    `json:"revision"`
}

func (l *Service) remember(ctx context.Context, r *route.Request) (route.Reply, error) {
	ref, err := r.Collection.Ref()
	if err != nil {
		return route.Reply{}, err
	}
	body, err := route.Bind[map[string]any](r)
	if err != nil {
		return route.Reply{}, err
	}
	if at, ok := body["occurred_at"].(string); ok {
		if body["occurred_at"], err = memory.ParseEventTime("occurred_at", at, l.Clock()); err != nil {
			return route.Reply{}, err
		}
	}
	content, _ := body["content"].(string)
	args, err := json.Marshal(body)
	if err != nil {
		return route.Reply{}, fault.Wrap(err, fault.Internal, "the task cannot be encoded")
	}
	r.EndTurn() // the policy may ask a model
	done, err := l.Remember(ctx, r.Scope, ref, args, int64(len(content)), r.Conditions)
	if err != nil {
		return route.Reply{}, err
	}
	r.Wrote(len(done.Stored))
	return route.Reply{Revision: new(done.Revision), Body: remembered{
		Stored: append([]layered.Stored{}, done.Stored...), Skipped: append([]layered.Skipped{}, done.Skipped...),
		Conflicts: append([]layered.Conflict{}, done.Conflicts...), Turn: done.Turn, Revision: done.Revision,
	}}, nil
}
