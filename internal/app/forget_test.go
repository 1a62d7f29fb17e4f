package app

import (
	"net/http"
	"strings"
	"testing"
)

// Without a model a wish to forget is not understood, in any language: nothing that is known vanishes by it, by any policy, and
// each call that is offered in its place deletes what it names (decision 0087).
func TestWishToForget(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	for _, policy := range g.policyNames() {
		c := "/v1/collections/" + policy
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": policy, "policy": policy, "external": object{"user": "of-" + policy}})
		tell := func(text string) object {
			return g.call(http.StatusAccepted, http.MethodPost, c+"/messages?wait=evolved", object{"messages": []object{{"role": "user", "name": "Nora", "content": text}, {"role": "assistant", "content": "I see."}}})
		}
		tell("My salary is 85,000 francs a year.")
		for _, wish := range []string{
			"Please forget my salary.", "Forget everything you know about me.", "Vergiss bitte mein Gehalt.", "请忘记我的工资。", "Olvida mi salario, por favor.", "給料のことは忘れてください。", "Забудь про мою зарплату.",
		} {
			for _, l := range listOf(tell(wish)["learned"]) {
				if event := l.(object)["event"]; event != "ADD" {
					t.Errorf("%s, %s: %v", policy, wish, l)
				}
			}
		}
		knows := func() bool {
			return strings.Contains(textOf(t, g.call(http.StatusOK, http.MethodPost, c+"/context", object{"query": "What is Nora's salary?"})), "85,000")
		}
		if !knows() {
			t.Errorf("%s: the salary is gone", policy)
		}
		forget := func(arguments object) string {
			arguments["collection"] = policy
			_, _, answer := g.raw(http.MethodPost, "/mcp", "application/json", textOf(t, object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "forget", "arguments": arguments}}))
			return answer
		}
		if offered := forget(object{"query": "salary"}); !strings.Contains(offered, "85,000") || !strings.Contains(offered, "Nothing was deleted yet") || !knows() {
			t.Errorf("%s: MCP offers %s", policy, offered)
		}
		var ids []string
		for _, n := range g.call(http.StatusOK, http.MethodGet, c+"/notes?limit=200", nil)["items"].([]any) {
			if n := n.(object); strings.Contains(textOf(t, n), "85,000") {
				ids = append(ids, n["id"].(string))
			}
		}
		forget(object{"notes": ids})
		if knows() {
			t.Errorf("%s: the salary is there after MCP's forget", policy)
		}
	}
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}
