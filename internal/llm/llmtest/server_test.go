package llmtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)
	return do(t, req)
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	return do(t, req)
}

func do(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

func TestLooksLikeOllama(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t)
	for url, want := range map[string]string{
		s.OllamaURL() + "/":         "Ollama is running",
		s.OllamaURL() + "/api/tags": `"name":"fake:latest"`,
		s.URL() + "/models":         `"id":"fake"`,
	} {
		if code, body := get(t, url); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", url, code, body)
		}
	}
	s.Down(true)
	if code, _ := get(t, s.OllamaURL()+"/api/tags"); code != 0 {
		t.Errorf("down, and still %d", code)
	}
	s.Down(false)
	if code, _ := get(t, s.OllamaURL()+"/api/tags"); code != 200 {
		t.Errorf("up again, and %d", code)
	}
}

func chat(call, user string) string {
	b, err := json.Marshal(map[string]any{
		"model": "m", "messages": []llmtest.Message{{Role: "system", Content: "JSON"}, {Role: "user", Content: user}},
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": call, "strict": true, "schema": map[string]any{
			"type": "object", "properties": map[string]any{"parts": map[string]any{"type": "array"}, "sure": map[string]any{"type": "boolean"}},
		}}},
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Unscripted answers, scripts in order, then the handler.
func TestReplies(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t)
	content := func(call, user string) string {
		t.Helper()
		_, body := post(t, s.URL()+"/chat/completions", chat(call, user))
		var r struct {
			Choices []struct {
				Message llmtest.Message `json:"message"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Choices) != 1 {
			t.Fatalf("%v in %s", err, body)
		}
		return r.Choices[0].Message.Content
	}
	if got := content("analyze", `{"content": "Bees survive the frost in straw."}`); !strings.Contains(got, "straw") || strings.Contains(got, "content") {
		t.Errorf("analyze: %s", got)
	}
	if got := content("relevance", `[{"handle":0},{"handle":1}]`); got != `{"scores":[{"id":0,"score":0.9},{"id":1,"score":0.45}]}` {
		t.Errorf("relevance: %s", got)
	}
	if got := content("split", "x"); got != `{"parts":[],"sure":false}` {
		t.Errorf("split: %s", got)
	}
	s.Handle("split", func(r llmtest.Request) llmtest.Reply { return llmtest.Text("of " + r.User) })
	s.Script("split", llmtest.Text("one"), llmtest.Text("two"))
	for _, want := range []string{"one", "two", "of x", "of x"} {
		if got := content("split", "x"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if s.Calls("split") != 5 || s.Calls("analyze") != 1 || len(s.Requests()) != 7 {
		t.Errorf("%d requests", len(s.Requests()))
	}
	if in, out := s.Tokens(); in == 0 || out == 0 {
		t.Errorf("tokens %d, %d", in, out)
	}
	s.RequireKey("k")
	if code, _ := post(t, s.URL()+"/chat/completions", chat("split", "x")); code != 401 {
		t.Errorf("without a key: %d", code)
	}
}
