package redis

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
)

// stuck is a runner that takes a lane and never comes back.
type stuck struct{}

// Drain implements Drainer.
func (stuck) Drain(context.Context, memory.Due, memory.Stage) bool {
	fmt.Fprintln(os.Stdout, "taken")
	select {}
}

// TestKilledWorker kills a worker's process that has taken a wake-up. The collection
// is woken beside what it left, and when asynq has put that away for good, past it.
func TestKilledWorker(t *testing.T) {
	const child = "SLIPBOX_TEST_WORKER"
	if os.Getenv(child) == "1" {
		srv, err := NewServer(stuck{}, nil, ServerConfig{URL: os.Getenv("WORKER_URL"), Prefix: os.Getenv("WORKER_PREFIX"), Check: 10 * time.Millisecond}, Deps{})
		must(t, err)
		must(t, srv.Run(t.Context()))
		return
	}
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	ref := newRef()
	s.relay.Wake(t.Context(), ref, memory.StageDecide)

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWorker$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), child+"=1", "WORKER_URL="+url, "WORKER_PREFIX="+prefix)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "taken\n" {
		t.Fatalf("the worker says %q: %v", line, err)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait() // it was killed

	name, id := queueName(prefix, memory.StageDecide), ref.Collection.String()
	inspect := s.inspector()
	state := func() asynq.TaskState {
		info, err := inspect.GetTaskInfo(name, id)
		if err != nil {
			return 0
		}
		return info.State
	}
	if state() != asynq.TaskStateActive {
		t.Fatalf("the task of the dead is %v", state())
	}
	a := s.start("a", time.Hour, nil, ServerConfig{})
	s.add(ref, memory.StageDecide)
	until(t, "the job is done beside it", func() bool { return s.outbox.left() == 0 })
	a.stop()

	// Its lease ran out some time ago: a server that starts archives it.
	must(t, s.relay.client.ZAdd(t.Context(), "asynq:{"+name+"}:lease", redis.Z{Score: float64(time.Now().Add(-time.Hour).Unix()), Member: id}).Err())
	s.start("b", time.Hour, nil, ServerConfig{})
	until(t, "it is archived", func() bool { return state() == asynq.TaskStateArchived })
	s.add(ref, memory.StageDecide)
	until(t, "the job is done past it", func() bool { return s.outbox.left() == 0 })
	until(t, "nothing is left of it", func() bool { return state() == 0 })
}
