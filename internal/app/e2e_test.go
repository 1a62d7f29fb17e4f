package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// gatewayTest is a gateway or worker in this process, on a port of its own.
type gatewayTest struct {
	running

	t       *testing.T
	url     string
	key     string
	handler http.Handler // the one that serves url

	listening func() bool // whether it gets news of other processes; nil for a worker
}

type object = map[string]any

// call makes a request and fails unless the answer has the status.
func (g *gatewayTest) call(want int, method, path string, body any) object {
	g.t.Helper()
	status, out := g.try(method, path, body)
	if status != want {
		g.t.Fatalf("%s %s: status %d, want %d: %v", method, path, status, want, out)
	}
	return out
}

// try makes a request and returns its answer. answer is nil when the body is no JSON object.
func (g *gatewayTest) try(method, path string, body any) (status int, answer object) {
	g.t.Helper()
	return g.tryWith(http.Header{}, method, path, body)
}

func (g *gatewayTest) tryWith(header http.Header, method, path string, body any) (status int, answer object) {
	g.t.Helper()
	text := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			g.t.Error(err)
		}
		text = string(b)
		header.Set("Content-Type", "application/json")
	}
	return g.send(header, method, path, text)
}

// post sends a body of another type and fails unless it is accepted.
func (g *gatewayTest) post(path, contentType, body string) object {
	g.t.Helper()
	status, out := g.send(http.Header{"Content-Type": {contentType}}, http.MethodPost, path, body)
	if status != http.StatusAccepted {
		g.t.Fatalf("POST %s: status %d: %v", path, status, out)
	}
	return out
}

// send makes a request. Any goroutine may call it.
func (g *gatewayTest) send(header http.Header, method, path, body string) (status int, answer object) {
	g.t.Helper()
	answer = object{}
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Error(err)
		return 0, answer
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+g.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Error(err)
		return 0, answer
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Error(err)
	}
	if kind := resp.Header.Get("Content-Type"); strings.Contains(kind, "json") && !strings.Contains(kind, "ndjson") && len(raw) > 0 {
		if err := json.Unmarshal(raw, &answer); err != nil {
			g.t.Errorf("%s %s: %v: %s", method, path, err, raw)
		}
	}
	return resp.StatusCode, answer
}

// add adds a note and waits for the end of its job.
func (g *gatewayTest) add(collection, content string) object {
	g.t.Helper()
	return g.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+collection+"/notes?wait=evolved", object{"content": content})
}

func (g *gatewayTest) search(collection, query, mode string) []string {
	g.t.Helper()
	answer := g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+collection+"/search", object{"query": query, "mode": mode})
	var ids []string
	for _, h := range answer["hits"].([]any) {
		ids = append(ids, h.(object)["note"].(object)["id"].(string))
	}
	return ids
}

// C072: add, evolve and search work with a local model, without a key and without a network: all
// calls go to the local endpoint.
func TestLocalModelEndToEnd(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		model.EmbedDim(384)
		model.Always("analyze", llmtest.JSON(object{
			"keywords": []string{"beehive", "frost", "straw"}, "context": "A beekeeper prepares for winter.", "tags": []string{"nature", "winter", "care"},
		}))
		model.Always("evolve", llmtest.Think(object{
			"should_evolve": true, "actions": []string{"strengthen", "update_neighbor"}, "suggested_connections": []int{0},
			"tags_to_update": []string{"bees"}, "new_context_neighborhood": []string{"A beekeeper's year."},
			"new_tags_neighborhood": [][]string{{"bees", "year"}}, "new_keywords_neighborhood": [][]string{{"beehive"}}, "confidence": 0.95,
		}))
		g := start(func(c *Settings) {
			c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "ollama", model.OllamaURL(), "llama3.2"
			c.LLM.EmbedProvider, c.LLM.EmbedModel = "ollama", "all-minilm"
		})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "bees"})
		first := g.add("bees", "I wrapped the beehive in straw before the first frost.")["note"].(object)
		second := g.add("bees", "The bees survived; the straw kept the frost out of the hive.")["note"].(object)
		if first["analyst"] != "model" || second["state"] != "evolved" {
			t.Fatalf("first: %v\nsecond: %v", first, second)
		}
		links := second["links"].([]any)
		if len(links) != 1 || links[0].(object)["target"] != first["id"] {
			t.Errorf("links of the second note: %v, want one to %v", links, first["id"])
		}
		changed := g.call(http.StatusOK, http.MethodGet, "/v1/collections/bees/notes/"+first["id"].(string), nil)
		if changed["context"] != "A beekeeper's year." {
			t.Errorf("the neighbour's context is %q", changed["context"])
		}
		if ids := g.search("bees", "straw around the hive", "vector"); len(ids) != 2 {
			t.Errorf("search by meaning found %v, want both notes", ids)
		}
		for _, r := range model.Requests() {
			if r.Key != "" {
				t.Errorf("a key was sent: %q", r.Key)
			}
		}
		g.until("the tokens are in the tenant's usage", func() bool {
			return strings.Contains(fmt.Sprint(g.call(http.StatusOK, http.MethodGet, "/v1/usage", nil)["model"]), "evolve")
		})
	})
}

// While the model is down, a note is stored, found by words, and pending with an error that names
// the endpoint (C009, C074). When the model is back, the note is evolved.
func TestModelDownAndBack(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		model.Down(true)
		g := start(func(c *Settings) {
			c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", model.URL(), "some-model"
			c.LLM.MaxTries, c.LLM.RetryWait, c.LLM.BreakerFailures, c.LLM.BreakerPause = 1, time.Millisecond, 2, 200*time.Millisecond
		})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
		id := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": "The ferry to Texel leaves at nine."})["note"].(object)["id"].(string)
		get := func() object { return g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/notes/"+id, nil) }
		g.until("the note is pending", func() bool { return get()["state"] == "pending" })
		host := strings.TrimPrefix(model.OllamaURL(), "http://")
		if reason := fmt.Sprint(get()["error"]); !strings.Contains(reason, "the model's endpoint") || strings.Contains(reason, host) {
			t.Errorf("the error does not say that it is the model's endpoint, or tells its address: %q", reason)
		}
		if ids := g.search("c", "ferry", "lexical"); len(ids) != 1 {
			t.Errorf("found %v by words, want the note", ids)
		}
		if n := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c", nil)["counts"].(object)["pending"]; n != 1.0 {
			t.Errorf("counts.pending is %v, want 1", n)
		}
		model.Down(false)
		g.until("the note is evolved", func() bool { return get()["state"] == "evolved" })
	})
}

// While the embedder is down, a note is stored and found by words at once. Its vector is added
// later, and it is never searched with the vector of another embedder.
func TestEmbedderDownAndBack(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		model.EmbedDim(64)
		model.Down(true)
		g := start(func(c *Settings) {
			c.LLM.EmbedProvider, c.LLM.EmbedBaseURL, c.LLM.EmbedModel, c.LLM.EmbedDim = "openai", model.URL(), "some-embedder", 64
			c.LLM.MaxTries, c.LLM.RetryWait, c.LLM.BreakerFailures, c.LLM.BreakerPause = 1, time.Millisecond, 2, 200*time.Millisecond
		})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "none"})
		id := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": "The ferry to Texel leaves at nine.", "infer": false})["note"].(object)["id"].(string)
		if ids := g.search("c", "ferry", "lexical"); len(ids) != 1 || ids[0] != id {
			t.Errorf("found %v by words, want %s", ids, id)
		}
		model.Down(false)
		g.until("the note has its vector", func() bool {
			return g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/notes/"+id+"?include=embedding", nil)["embedding"] != nil
		})
		if ids := g.search("c", "ferry to Texel", "vector"); len(ids) != 1 || ids[0] != id {
			t.Errorf("found %v by meaning, want %s", ids, id)
		}
	})
}

// A collection may name one of the models in the settings.
func TestNamedModel(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		main, fast := llmtest.New(t), llmtest.New(t)
		g := start(func(c *Settings) {
			c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", main.URL(), "main"
			c.Models = map[string]config.Model{"fast": {BaseURL: fast.URL(), Model: "small"}}
		})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy_config": object{"model": "fast"}})
		g.add("c", "The ferry to Texel leaves at nine.")
		if main.Calls("analyze") != 0 || fast.Calls("analyze") != 1 {
			t.Errorf("calls of analyze: main %d, fast %d; want 0 and 1", main.Calls("analyze"), fast.Calls("analyze"))
		}
		refused := g.call(http.StatusUnprocessableEntity, http.MethodPost, "/v1/collections", object{"name": "d", "policy_config": object{"model": "slow"}})
		if !strings.Contains(fmt.Sprint(refused["errors"]), "policy_config.model") || !strings.Contains(fmt.Sprint(refused), "fast") {
			t.Errorf("an unknown model is refused with %v", refused)
		}
	})
}
