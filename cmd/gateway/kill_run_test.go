package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// TestKillRun kills the real binary at random moments of an agent's run: while the model answers, between a turn and its
// calls, between two results. The run continues from what is committed: each call has taken effect once, none is
// lost, and the transcript is whole. SLIPBOX_KILL_SEED sets the moments, KILL_ROUNDS half of how many, up to 20.
func TestKillRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds: left out of -short")
	}
	kills := min(20, 2*envInt(t, "KILL_ROUNDS", 10))
	entries := 4 * kills
	seed := uint64(envInt(t, "SLIPBOX_KILL_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	model := llmtest.New(t)
	var asked atomic.Int64
	turns := make(chan int64, 1000)
	// The model reads from its own context what is done, and does the next thing.
	model.Handle(llmtest.Tool, func(r llmtest.Request) llmtest.Reply {
		defer func() { turns <- asked.Add(1) }()
		done := strings.Count(r.System, "entry ")
		if done >= entries {
			return llmtest.Calling("send_message", object{"message": "all done"})
		}
		next := done + 1
		return llmtest.Tools(
			llmtest.ToolCall{ID: "a", Name: "core_memory_append", Arguments: fmt.Sprintf(`{"label":"human","content":"entry %d.","request_heartbeat":true}`, next)},
			llmtest.ToolCall{ID: "b", Name: "send_message", Arguments: fmt.Sprintf(`{"message":"progress %d."}`, next)})
	})
	env := []string{"SLIPBOX_LLM_BASE_URL=" + model.URL(), "SLIPBOX_LLM_MODEL=fake", "SLIPBOX_EMBEDDER=hash"}
	data := t.TempDir()
	p := serve(t, data, env)
	key := newKey(t, data)
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "agent", "policy": "memgpt", "policy_config": object{"max_steps": 500, "window": 100_000}})
	run, ok := p.must(t, key, 202, "POST", "/v1/collections/agent/events", object{"content": "Write all entries."})["run"].(string)
	if !ok {
		t.Fatal("the event started no run")
	}
	for range kills {
		for target := asked.Load() + 2 + int64(rng.IntN(2)); ; {
			select {
			case n := <-turns:
				if n < target {
					continue
				}
			case <-p.Done:
				t.Fatal("the gateway ended by itself")
			}
			break
		}
		select {
		case <-time.After(time.Duration(rng.IntN(12)) * time.Millisecond):
		case <-p.Done:
		}
		p.Kill()
		p = serve(t, data, env)
	}
	var got object
	p.Await(t, "the run was over", func() bool {
		status, out := p.call(t.Context(), key, http.MethodGet, "/v1/collections/agent/runs/"+run, nil)
		got = out
		return status == http.StatusOK && out["state"] != "queued" && out["state"] != "running"
	})
	if got["stop_reason"] != "terminal_tool" {
		t.Fatalf("the run is %v, %v: %v", got["state"], got["stop_reason"], got["error"])
	}
	var value []string
	for i := range entries {
		value = append(value, fmt.Sprintf("entry %d.", i+1))
	}
	if block := p.must(t, key, 200, "GET", "/v1/collections/agent/blocks/human", nil); block["value"] != strings.Join(value, "\n") {
		t.Errorf("the block has %v", block["value"])
	}
	steps, _ := got["steps"].([]any)
	if len(steps) != 2*entries+1 {
		t.Errorf("%d steps, want %d", len(steps), 2*entries+1)
	}
	for i, s := range steps {
		step, _ := s.(object)
		if step["ok"] != true || step["result"] == nil || step["index"] != float64(i/2+1) {
			t.Errorf("step %d is %v", i, step)
		}
	}
	said := map[any]int{}
	for cursor := ""; ; {
		page := p.must(t, key, 200, "GET", "/v1/collections/agent/messages?limit=200&role=assistant"+cursor, nil)
		items, _ := page["items"].([]any)
		for _, m := range items {
			message, _ := m.(object)
			said[message["content"]]++
		}
		next, more := page["next_cursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + next
	}
	for i := range entries {
		if n := said[fmt.Sprintf("progress %d.", i+1)]; n != 1 {
			t.Errorf("message %d was sent %d times", i+1, n)
		}
	}
	if stdout, stderr, code := runCheck(t, p, data); code != 0 {
		t.Errorf("the store is not whole: %s%s", stdout, stderr)
	}
}

// C155: 200 calls wait for approval when the gateway stops. It stops at once, the calls are there when it is back, and those
// that are approved then are run.
func TestApprovalsOutliveTheGateway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds: left out of -short")
	}
	const runs, atOnce = 13, 16
	model := llmtest.New(t)
	model.Handle(llmtest.Tool, func(r llmtest.Request) llmtest.Reply {
		if r.Messages[len(r.Messages)-1].Role == "tool" {
			return llmtest.Calling("send_message", object{"message": "all done"})
		}
		var calls []llmtest.ToolCall
		for i := range atOnce {
			calls = append(calls, llmtest.ToolCall{ID: fmt.Sprint(i), Name: "archival_insert", Arguments: fmt.Sprintf(`{"content":"entry %d","request_heartbeat":true}`, i)})
		}
		return llmtest.Tools(calls...)
	})
	env := []string{"SLIPBOX_LLM_BASE_URL=" + model.URL(), "SLIPBOX_LLM_MODEL=fake", "SLIPBOX_EMBEDDER=hash"}
	data := t.TempDir()
	p := serve(t, data, env)
	key := newKey(t, data)
	const agent = "/v1/collections/agent"
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "agent", "policy": "memgpt", "policy_config": object{"approve": []string{"archival_insert"}, "window": 100_000}})
	for i := range runs {
		p.must(t, key, 202, "POST", agent+"/events", object{"content": fmt.Sprintf("Write the entries, for the %d. time.", i)})
	}
	var open []any
	waiting := func() bool {
		open, _ = p.must(t, key, 200, "GET", agent+"/calls", nil)["items"].([]any)
		return len(open) == runs*atOnce
	}
	p.Await(t, "all calls wait", waiting)
	if code := p.Stop(t); code != 0 {
		t.Errorf("the gateway stopped with %d", code)
	}
	p = serve(t, data, env)
	if !waiting() {
		t.Fatalf("%d calls wait after the restart, want %d", len(open), runs*atOnce)
	}
	first, _ := open[0].(object)
	for _, o := range open[:atOnce] {
		approval, _ := o.(object)
		if approval["run"] != first["run"] {
			t.Fatalf("the calls are not in order: %v", open)
		}
		p.must(t, key, 200, "POST", fmt.Sprintf("%s/runs/%v/results", agent, first["run"]), object{"results": []any{object{"call": approval["id"], "approve": true}}})
	}
	var got object
	p.Await(t, "the run is over", func() bool {
		got = p.must(t, key, 200, "GET", fmt.Sprintf("%s/runs/%v", agent, first["run"]), nil)
		return got["state"] == "done"
	})
	if steps, _ := got["steps"].([]any); got["stop_reason"] != "terminal_tool" || len(steps) != atOnce+1 {
		t.Errorf("the run is %v", got)
	}
	if passages, _ := p.must(t, key, 200, "GET", agent+"/notes?kind=passage", nil)["items"].([]any); len(passages) != atOnce {
		t.Errorf("%d passages", len(passages))
	}
}

// runCheck stops a gateway and checks its store.
func runCheck(t *testing.T, p *process, data string) (stdout, stderr string, code int) {
	t.Helper()
	p.Stop(t)
	return run(t, nil, "check", "--data", data)
}
