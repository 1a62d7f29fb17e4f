package redis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hibiken/asynq"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// State is how the wake-ups of a stage are.
type State struct {
	Stage   memory.Stage
	Waiting int // that no worker has taken yet
	Active  int
	Dead    int // whose worker died; each is replaced by the next one of its collection
	Workers int // processes that serve the stage
}

// States asks how all wake-ups are. Errors are those of NewRelay, and
// Unavailable when Redis does not answer.
func States(ctx context.Context, url, prefix string) ([]State, error) {
	client, err := connect(url, time.Second, false)
	if err != nil {
		return nil, err
	}
	defer client.Close() //nolint:errcheck // it is over
	if prefix == "" {
		prefix = defaultPrefix
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "redis does not answer")
	}
	inspect := asynq.NewInspectorFromRedisClient(client)
	servers, err := inspect.Servers()
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "redis does not tell who serves")
	}
	names, err := inspect.Queues()
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "redis does not tell what was asked for")
	}
	out := make([]State, 0, len(memory.Stages()))
	for _, stage := range memory.Stages() {
		s := State{Stage: stage}
		for _, srv := range servers {
			if _, ok := srv.Queues[queueName(prefix, stage)]; ok {
				s.Workers++
			}
		}
		if slices.Contains(names, queueName(prefix, stage)) { // else nothing was told yet
			info, err := inspect.GetQueueInfo(queueName(prefix, stage))
			if err != nil {
				return nil, fault.Wrap(err, fault.Unavailable, "redis does not tell of the stage %s", stage)
			}
			s.Waiting, s.Active, s.Dead = info.Pending, info.Active, info.Archived
		}
		out = append(out, s)
	}
	return out, nil
}

// String tells it in a few words.
func (s State) String() string {
	return fmt.Sprintf("%s: %d waiting, %d at work, %d left by workers that died, %d workers", s.Stage, s.Waiting, s.Active, s.Dead, s.Workers)
}
