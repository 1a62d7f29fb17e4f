package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A key of a user is for that user's memory at every door: the API, MCP, OpenAI's form, mem0's clients, and programs that its
// holder lets in by OAuth.
func TestKeyOfAUser(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(nil)
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "of-tom", "policy": "none", "external": object{"user": "tom@example.com"}})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections/of-tom/notes", object{"content": "Tom collects kettles."})
		made := g.call(http.StatusCreated, http.MethodPost, "/v1/api-keys", object{"external": object{"user": "ida@example.com"}})
		key, _ := made["key"].(string)
		ida := *g
		ida.key = key
		ask := func(method, path string, body any) (int, string) {
			status, answer := ida.try(method, path, body)
			return status, fmt.Sprint(answer)
		}
		header := http.Header{"Slipbox-Create": {"none"}}
		if status, answer := ida.tryWith(header, http.MethodPost, "/v1/collections/by/notes?user=ida@example.com", object{"content": "Ida restores kettles."}); status != http.StatusCreated {
			t.Fatalf("its first note: %d %v", status, answer)
		}
		for _, q := range []object{{"query": "kettles", "collections": []string{"of-tom"}}, {"query": "kettles", "external": object{"user": "tom@example.com"}}} {
			if status, body := ask(http.MethodPost, "/v1/search", q); status != http.StatusNotFound || strings.Contains(body, "Tom") {
				t.Errorf("search of %v: %d %s", q, status, body)
			}
		}
		if _, body := ask(http.MethodPost, "/v1/search", object{"query": "kettles", "external": object{"user": "ida@example.com"}}); !strings.Contains(body, "Ida restores") {
			t.Errorf("its own: %s", body)
		}
		for model, wants := range map[string]int{"slipbox": http.StatusOK, "slipbox@user=ida@example.com": http.StatusOK, "slipbox@user=tom@example.com": http.StatusNotFound, "slipbox@of-tom": http.StatusNotFound} {
			status, body := ask(http.MethodPost, "/v1/chat/completions", object{"model": model, "messages": []object{{"role": "user", "content": "Who restores kettles?"}}})
			if status != wants || strings.Contains(body, "Tom") || wants == http.StatusOK && !strings.Contains(body, "Ida restores") {
				t.Errorf("%s: %d %s", model, status, body)
			}
		}
		if status, body := ask(http.MethodGet, "/mem0/v1/entities/", nil); status != http.StatusOK || strings.Contains(body, "tom@") || !strings.Contains(body, "ida@") {
			t.Errorf("entities: %d %s", status, body)
		}

		p := oauthProgram(t, g, g.url, "https://claude.example/cb")
		if got := p.said(key, "search_notes", object{"query": "kettles"}); !strings.Contains(got, "Ida restores") || strings.Contains(got, "Tom") {
			t.Errorf("the key at /mcp: %s", got)
		}
		if _, _, answer := p.tool(key, "search_notes", object{"query": "kettles", "external": object{"user": "tom@example.com"}}); strings.Contains(fmt.Sprint(answer), "Tom collects") {
			t.Errorf("another user's at /mcp: %v", answer)
		}
		for _, in := range [][]string{{"whose", "all"}, {"user", "ida@example.com"}} {
			access, refresh := p.tokens(allows(key, in...))
			if got := p.said(access, "list_collections", object{}); strings.Contains(got, "of-tom") {
				t.Errorf("allowed %v: %s", in, got)
			}
			if status, next := p.refresh(refresh); status != http.StatusOK || next["access_token"] == nil {
				t.Errorf("refresh: %d %v", status, next)
			}
		}
		if resp, page := p.consent(p.address(), allows(key, "user", "tom@example.com")); resp.StatusCode != http.StatusForbidden || !strings.Contains(page, "another user") {
			t.Errorf("another user: %d %s", resp.StatusCode, page)
		}
		ida.call(http.StatusForbidden, http.MethodGet, "/v1/webhooks", nil)
		g.call(http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+fmt.Sprint(made["id"]), nil)
		if status, _, _ := p.tool(key, "list_collections", object{}); status != http.StatusUnauthorized {
			t.Errorf("revoked: %d", status)
		}
	})
}
