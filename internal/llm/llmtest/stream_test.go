package llmtest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// streamed sends a streaming request and joins the pieces of the answer.
func streamed(t *testing.T, s *llmtest.Server) (_ string, tools int, usage, done bool, code int) {
	t.Helper()
	code, body := post(t, s.URL()+"/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},
		"tools":[{"type":"function","function":{"name":"f"}}],
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Hello "},{"type":"text","text":"there"}]},{"role":"assistant","content":null}]}`)
	var said strings.Builder
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			done = true
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					ToolCalls []any  `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
			Usage map[string]int `json:"usage"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		usage = usage || chunk.Usage["total_tokens"] > 0
		for _, c := range chunk.Choices {
			said.WriteString(c.Delta.Content)
			tools += len(c.Delta.ToolCalls)
		}
	}
	return said.String(), tools, usage, done, code
}

func TestStreams(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t)
	said, _, usage, done, _ := streamed(t, s)
	if said != "You said: Hello there. I saw a system message of 2 words." || !usage || !done {
		t.Errorf("%q, usage %v, done %v", said, usage, done)
	}
	if r := s.Requests()[0]; !r.Stream || !r.StreamUsage || r.Tools != 1 || r.User != "Hello there" {
		t.Errorf("seen as %+v", r)
	}
	s.Script(llmtest.Tool, llmtest.Tools(llmtest.ToolCall{ID: "1", Name: "f", Arguments: `{"a":1}`}), llmtest.CutBody(), llmtest.Status(429, time.Second),
		llmtest.Slow(time.Millisecond, llmtest.Paced(time.Millisecond, llmtest.Text("one two"))))
	if _, tools, _, done, _ := streamed(t, s); tools != 2 || !done {
		t.Errorf("%d pieces of a call, done %v", tools, done)
	}
	if said, _, _, done, _ := streamed(t, s); done || strings.Contains(said, "system") {
		t.Errorf("cut, and still %q, done %v", said, done)
	}
	if _, _, _, _, code := streamed(t, s); code != 429 {
		t.Errorf("status %d", code)
	}
	if said, _, _, done, _ := streamed(t, s); said != "one two" || !done {
		t.Errorf("slow: %q, done %v", said, done)
	}
}

// Calls of the policies for conversations are answered from their material.
func TestConversationCalls(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t)
	for _, c := range []struct{ call, data, want string }{
		{"extract", `{"max_facts":5,"new":[{"role":"user","name":"Ana","content":"How are you? I moved to Rome."}]}`, `{"facts":["Ana: I moved to Rome."]}`},
		{"extract", `{"new":["2026-03-04 Wednesday, Ana: How are you? I moved to Rome.","2026-03-04 Wednesday, Assistant: Fine. Rome is big."]}`, `{"facts":["Ana: I moved to Rome.","Rome is big."]}`},
		{"decide", `{"fact":"Ana likes tea.","similar":[{"handle":0,"text":"Ana likes jazz."},{"handle":1,"text":"ana likes tea."}]}`, `{"operation":"NOOP","target":1,"text":null,"why":"it is known"}`},
		{"decide", `{"fact":"Ana likes tea.","similar":[]}`, `{"operation":"ADD","target":null,"text":null,"why":"nothing is about it"}`},
		{"summarize", `{"max_chars":50,"memories":[{"date":"2023-05-08","text":"Ana likes tea."}]}`, `{"summary":"2023-05-08: Ana likes tea."}`},
		{"daily_summary", `{"date":"2023-05-08","turns":[{"speaker":"Ana","text":"Tea!"}]}`, `{"events":["Ana: Tea!"],"summary":"Ana: Tea!"}`},
		{"entities", `{"facts":["Ana lives in Rome"]}`, `{"entities":[{"entity":"Ana","entity_type":"person"},{"entity":"Rome","entity_type":"person"}]}`},
		{"relations", `{"facts":[{"text":"Ana lives in Rome"}],"entities":["Ana",{"entity":"Rome"}]}`, `{"relations":[{"destination":"Rome","relationship":"lives_in","source":"Ana"}]}`},
		{"conflicts", `{}`, `{"invalidate":[]}`},
	} {
		_, body := post(t, s.URL()+"/chat/completions", chat(c.call, "Do it.\n<memory-data>\n"+c.data+"\n</memory-data>"))
		var r struct {
			Choices []struct {
				Message llmtest.Message `json:"message"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Choices) != 1 {
			t.Fatalf("%v in %s", err, body)
		}
		if got := r.Choices[0].Message.Content; got != c.want {
			t.Errorf("%s: %s, want %s", c.call, got, c.want)
		}
	}
}
