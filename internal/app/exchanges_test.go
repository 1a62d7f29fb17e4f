package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// C103: where a policy recalls whole exchanges, both sides of one are one hit, which shows both, whichever side the question
// names, at every door that finds something, also in a fork, in the past and within a filter.
func TestExchangesAreHits(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(nil)
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "memorybank"})
		ids := map[string]string{}
		for day, talk := range [][2]string{
			{"Which kiln should I buy?", "The Skutt 818 fires stoneware and fits in a shed."},
			{"My shed has no power line.", "An electrician can lay one from the house."},
			{"我想给花园买一口窑。", "斯库特的窑放得进小屋。"},
			{"I sold the old bicycle.", "Good for the shed, it needs the room."},
		} {
			at := fmt.Sprintf("2026-03-0%dT09:00:00Z", day+1)
			got := g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/c/messages?wait=evolved", object{"messages": []object{
				{"role": "user", "name": "Nora", "content": talk[0], "occurred_at": at}, {"role": "assistant", "content": talk[1], "occurred_at": at},
			}})
			for i, m := range got["messages"].([]any) {
				ids[talk[i]] = m.(object)["id"].(string)
			}
		}
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/clone", object{"name": "fork", "mode": "fork"})
		head := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c", nil)["head_revision"]
		messages := object{"field": "kind", "op": "eq", "value": "message"}
		for _, c := range []struct {
			path string
			body object
		}{
			{"/v1/collections/c/search", object{}}, {"/v1/collections/fork/search", object{}}, {"/v1/search", object{"collections": []string{"c"}}},
			{"/v1/collections/c/search", object{"mode": "vector"}}, {"/v1/collections/c/search", object{"mode": "lexical"}}, {"/v1/collections/c/search", object{"as_of": head}},
		} {
			c.body["query"], c.body["k"], c.body["filter"] = "Skutt kiln shed", 3, messages
			hits := g.call(http.StatusOK, http.MethodPost, c.path, c.body)["hits"].([]any)
			if len(hits) != 3 {
				t.Errorf("%s %v: %d hits", c.path, c.body, len(hits))
			}
			seen := map[string]int{}
			for _, h := range hits {
				for _, one := range h.(object)["exchange"].([]any) {
					seen[one.(object)["id"].(string)]++
				}
			}
			first := textOf(t, hits[0])
			if len(seen) != 6 || !strings.Contains(first, "Which kiln") || !strings.Contains(first, "Skutt 818") {
				t.Errorf("%s %v: %d messages in %s", c.path, c.body, len(seen), textOf(t, hits))
			}
			for id, n := range seen {
				if n != 1 {
					t.Errorf("%s %v: the message %s is shown %d times", c.path, c.body, id, n)
				}
			}
		}
		mine := object{"query": "kiln", "filter": object{"and": []any{messages, object{"field": "attributes.role", "op": "eq", "value": "user"}}}}
		if got := textOf(t, g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/search", mine)); strings.Contains(got, "Skutt") {
			t.Errorf("what the filter leaves out is shown: %s", got)
		}
		// Persons who talk to each other are recalled message by message.
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "two", "policy": "memorybank", "policy_config": object{"persons": "several"}})
		g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/two/messages?wait=evolved", object{"messages": []object{
			{"role": "user", "name": "Nora", "content": "The kiln is hot."}, {"role": "user", "name": "Tom", "content": "Then open the kiln."},
		}})
		for _, h := range g.call(http.StatusOK, http.MethodPost, "/v1/collections/two/search", object{"query": "kiln"})["hits"].([]any) {
			if h.(object)["exchange"] != nil {
				t.Errorf("messages of two persons are one hit: %v", h)
			}
		}
		g.checkExchangesElsewhere(ids["Which kiln should I buy?"], ids["The Skutt 818 fires stoneware and fits in a shed."])
	})
}

// checkExchangesElsewhere looks at the other doors: MCP, and the list of messages, where each is its own.
func (g *gatewayTest) checkExchangesElsewhere(question, answer string) {
	g.t.Helper()
	_, _, tool := g.raw(http.MethodPost, "/mcp", "application/json", textOf(g.t, object{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "search_notes", "arguments": object{"collection": "c", "query": "Which kiln should I buy?"}},
	}))
	for _, want := range []string{"in the same exchange: The Skutt 818", question, answer} {
		if !strings.Contains(tool, want) {
			g.t.Errorf("%q is not in what MCP found: %s", want, tool)
		}
	}
	listed := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/messages?query=kiln+Skutt&limit=8", nil)["items"].([]any)
	if len(listed) != 8 {
		g.t.Errorf("%d of 8 messages are listed", len(listed))
	}
}
