package app

import (
	"bufio"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// A gateway hears what an agent says while a worker's model speaks. A call that waits when the worker stops is approved at another
// gateway, and another worker continues the run (C155).
func TestAgentsOverProcesses(t *testing.T) {
	t.Parallel()
	s, model := newServers(t, true), llmtest.New(t)
	withModel := func(c *Settings) {
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", model.URL(), "main"
	}
	a, b := s.gateway(withModel), s.gateway(withModel)
	for _, g := range []*gatewayTest{a, b} {
		g.until("the gateway gets news", g.listening)
	}
	a.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "memgpt"})
	run, ok := a.call(http.StatusAccepted, http.MethodPost, "/v1/collections/c/events", object{"content": "Where does the ferry leave?", "stream": true})["run"].(string)
	if !ok {
		t.Fatal("no run was started")
	}
	reading, whole := make(chan struct{}), make(chan struct{})
	model.Handle(llmtest.Tool, func(llmtest.Request) llmtest.Reply {
		<-reading
		return llmtest.Calling("send_message", object{"message": "The ferry to Texel leaves at nine."})
	})
	var events []string
	go func() {
		defer close(whole)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/v1/collections/c/runs/"+run, nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+b.key)
		req.Header.Set("Accept", "text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		var once sync.Once
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			once.Do(func() { close(reading) })
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				events = append(events, name)
			}
		}
	}()
	worker := s.worker(withModel)
	<-whole
	if all := strings.Join(events, " "); !strings.HasPrefix(all, "run ") || !strings.Contains(all, " delta ") || !strings.HasSuffix(all, " run") {
		t.Errorf("the stream was %s", all)
	}

	a.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "careful", "policy": "memgpt", "policy_config": object{"approve": []string{"archival_insert"}}})
	model.Script(llmtest.Tool, llmtest.Calling("archival_insert", object{"content": "The ferry leaves at nine.", "request_heartbeat": true}))
	waits := a.call(http.StatusOK, http.MethodPost, "/v1/collections/careful/events", object{"content": "Remember it.", "wait": "done"})
	if waits["state"] != "requires_action" {
		t.Fatalf("the run is %v", waits)
	}
	worker.stop()
	open := b.call(http.StatusOK, http.MethodGet, "/v1/collections/careful/calls", nil)["items"].([]any)
	if len(open) != 1 {
		t.Fatalf("%d calls wait", len(open))
	}
	b.call(http.StatusOK, http.MethodPost, "/v1/collections/careful/runs/"+waits["id"].(string)+"/results", object{"results": []any{object{"call": open[0].(object)["id"], "approve": true}}})
	s.worker(withModel)
	var done object
	a.until("the run is over", func() bool {
		done = a.call(http.StatusOK, http.MethodGet, "/v1/collections/careful/runs/"+waits["id"].(string), nil)
		return done["state"] == "done"
	})
	if steps := done["steps"].([]any); done["stop_reason"] != "terminal_tool" || len(steps) != 2 || steps[0].(object)["ok"] != true {
		t.Errorf("the run is %v", done)
	}
}

// C139, C140: each agent has the model and the embedder of its own settings; a supervisor and a worker with different ones
// share a block of their organization. A model is named as the settings do, or by its handle.
func TestAgentsWithModelsOfTheirOwn(t *testing.T) {
	t.Parallel()
	main, small, vectors := llmtest.New(t), llmtest.New(t), llmtest.New(t)
	vectors.EmbedDim(256)
	g := startGateway(t, func(c *Settings) {
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", main.URL(), "gpt-4o"
		c.LLM.EmbedProvider, c.LLM.EmbedBaseURL, c.LLM.EmbedModel, c.LLM.EmbedDim = "openai", vectors.URL(), "words", 256
		c.Models = map[string]config.Model{"small": {BaseURL: small.URL(), Model: "gpt-4o-mini"}, "routed": {BaseURL: small.URL(), Model: "meta/llama-3"}}
	})
	block := g.call(http.StatusCreated, http.MethodPost, "/v1/blocks", object{"label": "organization", "value": "Nothing yet."})["id"]
	var agents []string // ids
	for _, agent := range []struct{ name, model, embedder string }{
		{"supervisor", "", "hash-384-v2"}, {"worker", "small", "words@256"}, {"planner", "openai/gpt-4o", "words@256"}, {"counter", "openai/gpt-4o-mini", "hash-384-v2"}, {"router", "meta/llama-3", "words@256"},
	} {
		made := g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{
			"name": agent.name, "policy": "memgpt", "policy_config": object{"model": agent.model}, "blocks": []any{block}, "embedder": agent.embedder,
		})
		if made["embedder"] != agent.embedder {
			t.Errorf("the embedder of %s is %v", agent.name, made["embedder"])
		}
		agents = append(agents, made["id"].(string))
	}
	said := func(agent, want string) {
		t.Helper()
		if run := g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+agent+"/events", object{"content": "Go.", "wait": "done"}); run["reply"] != want {
			t.Errorf("%s: %v", agent, run)
		}
	}
	main.Script(llmtest.Tool, llmtest.Calling("core_memory_replace", object{"label": "organization", "old": "Nothing yet.", "new": "Count the boats.", "request_heartbeat": true}))
	main.Always(llmtest.Tool, llmtest.Calling("send_message", object{"message": "Planned."}))
	small.Handle(llmtest.Tool, func(r llmtest.Request) llmtest.Reply {
		if !strings.Contains(r.System, "Count the boats.") {
			t.Error("the worker does not see the plan")
		}
		return llmtest.Calling("send_message", object{"message": "Counted."})
	})
	said("supervisor", "Planned.")
	said("worker", "Counted.")
	said("planner", "Planned.")
	said("counter", "Counted.")
	said("router", "Counted.")
	if main.Calls(llmtest.Tool) != 3 || small.Calls(llmtest.Tool) != 3 {
		t.Errorf("the main model was asked %d times, the others %d times", main.Calls(llmtest.Tool), small.Calls(llmtest.Tool))
	}
	client := &eval.Client{BaseURL: g.url, Key: g.key}
	for _, id := range agents {
		g.until("the jobs of the agents are done", func() bool {
			n, err := client.OpenJobs(t.Context(), id)
			return err == nil && n == 0
		})
	}
	// What each keeps has vectors of its own embedder.
	for _, agent := range []string{"supervisor", "worker"} {
		before := vectors.Calls(llmtest.Embed)
		g.add(agent, "The boats of the "+agent+" are blue.")
		if asked := vectors.Calls(llmtest.Embed) > before; asked != (agent == "worker") {
			t.Errorf("the embedder's endpoint was asked for the %s: %t", agent, asked)
		}
	}
	g.call(http.StatusUnprocessableEntity, http.MethodPost, "/v1/collections", object{"name": "x", "policy": "memgpt", "policy_config": object{"model": "large"}})
	g.call(http.StatusUnprocessableEntity, http.MethodPost, "/v1/collections", object{"name": "x", "policy": "memgpt", "policy_config": object{"model": "openai/large"}})
	g.call(http.StatusUnprocessableEntity, http.MethodPost, "/v1/collections", object{"name": "x", "policy": "memgpt", "embedder": "large"})
}

// A request that waits for a run waits for its own, however many jobs are ahead of it.
func TestWaitBehindOthers(t *testing.T) {
	t.Parallel()
	model, gate := llmtest.New(t), make(chan struct{})
	g := startGateway(t, func(c *Settings) {
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", model.URL(), "main"
	})
	model.Handle(llmtest.Tool, func(llmtest.Request) llmtest.Reply {
		<-gate
		return llmtest.Calling("send_message", object{"message": "Yes."})
	})
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "busy", "policy": "memgpt"})
	const events = 5
	for range events {
		g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/busy/events", object{"content": "Anything new?"})
	}
	answer := make(chan object, 1)
	go func() {
		answer <- g.call(http.StatusOK, http.MethodPost, "/v1/collections/busy/events", object{"content": "And now?", "wait": "done"})
	}()
	g.until("the event is stored", func() bool {
		return len(g.call(http.StatusOK, http.MethodGet, "/v1/collections/busy/runs", nil)["items"].([]any)) == events+1
	})
	close(gate)
	if run := <-answer; run["state"] != "done" || run["reply"] != "Yes." {
		t.Errorf("the run is %v", run)
	}
}
