package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// Thinking of a model and encoded data are stored at no door: messages in each form, notes, imports, mem0, MCP, both forms of
// OpenAI, chats, items of layers, and events of agents. The words around them are.
func TestWhatWasNotSaidIsStoredAtNoDoor(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	g := startChat(func(set func(*Settings)) *gatewayTest { return startGateway(t, set) }, model)
	picture := strings.Repeat("iVBORw0KGgoAAAANSUhEUg4A", 400)
	thought := "<think>secretplan</think>\n"
	user := func(word string) string { return "The " + word + " is blue. data:image/png;base64," + picture }
	reply := func(word string) string { return thought + "Noted, the " + word + ".\n" + picture }
	model.Always("", llmtest.Text(reply("chat")))
	for _, policy := range g.policyNames() {
		c, config := "/v1/collections/"+policy, object{"analyst": "heuristic"}
		if policy == "none" {
			config = object{}
		}
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": policy, "policy": policy, "external": object{"user": "of-" + policy}, "policy_config": config})
		doors := []struct {
			status     int
			path, body string
		}{
			{http.StatusAccepted, c + "/messages", textOf(t, object{"messages": []object{{"role": "user", "content": user("ant")}, {"role": "assistant", "content": reply("ant")}}})},
			{http.StatusAccepted, c + "/messages", textOf(t, object{"messages": []object{{"user": user("bee"), "assistant": reply("bee")}}})},
			{http.StatusAccepted, c + "/messages", textOf(t, object{"messages": []object{{"role": "assistant", "content": []object{{"type": "thinking", "thinking": "secretplan"}, {"type": "text", "text": reply("cat")}}}}})},
			{http.StatusCreated, c + "/notes", textOf(t, object{"kind": "message", "content": user("dog"), "attributes": object{"role": "user"}})},
			{http.StatusOK, "/mem0/v1/memories/", textOf(t, object{"user_id": "of-" + policy, "messages": []object{{"role": "user", "content": user("elk")}, {"role": "assistant", "content": reply("elk")}}})},
			{http.StatusOK, "/mcp", textOf(t, object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
				"name": "add_messages", "arguments": object{"collection": policy, "messages": []object{{"role": "user", "content": user("fox")}, {"role": "assistant", "content": reply("fox")}}},
			}})},
			{http.StatusOK, "/v1/chat/completions", textOf(t, object{"model": "slipbox@user=of-" + policy, "messages": []object{{"role": "user", "content": user("gnu")}}})},
			{http.StatusOK, "/v1/responses", textOf(t, object{"model": "slipbox@user=of-" + policy, "input": user("hen")})},
			{http.StatusOK, c + "/chat", textOf(t, object{"message": user("ibis")})},
		}
		if policy == "memgpt" {
			doors = append(doors[:len(doors)-1], struct {
				status     int
				path, body string
			}{http.StatusAccepted, c + "/events", textOf(t, object{"type": "message", "content": user("ibis")})})
		}
		if policy == "layered" {
			doors = append(doors, struct {
				status     int
				path, body string
			}{http.StatusOK, c + "/remember", textOf(t, object{"content": reply("jay"), "role": "assistant", "importance": 1})})
		}
		for _, d := range doors {
			if status, _, answer := g.raw(http.MethodPost, d.path, "application/json", d.body); status != d.status {
				t.Errorf("%s %.300s: %d %.600s", d.path, d.body, status, answer)
			}
		}
		line := fmt.Sprintf(`{"id":"0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a%02d","kind":"message","content":%s,"attributes":{"role":"assistant"}}`, len(policy), textOf(t, reply("kite")))
		if status, _, answer := g.raw(http.MethodPost, c+"/import", "application/x-ndjson", line); status != http.StatusAccepted {
			t.Errorf("import: %d %s", status, answer)
		}
	}
	idle := func() bool {
		return len(g.call(http.StatusOK, http.MethodGet, "/v1/jobs?limit=1&state=queued", nil)["items"].([]any))+len(g.call(http.StatusOK, http.MethodGet, "/v1/jobs?limit=1&state=running", nil)["items"].([]any)) == 0
	}
	for _, policy := range g.policyNames() {
		c := "/v1/collections/" + policy
		g.until("all is stored and learned", func() bool {
			_, _, stored := g.raw(http.MethodGet, c+"/messages?limit=200", "", "")
			return idle() && strings.Count(stored, "is blue") >= 7 && strings.Count(stored, "Noted, the") >= 5 && strings.Contains(stored, "the kite")
		})
		for _, path := range []string{"/messages?limit=200", "/notes?limit=200", "/context"} {
			method, body := http.MethodGet, ""
			if path == "/context" {
				method, body = http.MethodPost, `{"query":"What is blue?","token_budget":4000}`
			}
			_, _, seen := g.raw(method, c+path, "application/json", body)
			for _, unsaid := range []string{"secretplan", picture[:48]} {
				if at := strings.Index(seen, unsaid); at >= 0 {
					t.Errorf("%s%s shows %.300s", policy, path, seen[max(0, at-200):])
				}
			}
			if !strings.Contains(seen, "is blue") {
				t.Errorf("%s%s lost what was said: %.400s", policy, path, seen)
			}
		}
	}
}
