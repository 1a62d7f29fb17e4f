package llm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// deltas keeps the pieces of turns, and "|" where the ones before do not count.
type deltas struct{ pieces []string }

func (h *deltas) stream() *memory.TurnStream {
	return &memory.TurnStream{
		Tool: "say", Argument: "message",
		Delta: func(piece string) { h.pieces = append(h.pieces, piece) },
		Reset: func(string) { h.pieces = append(h.pieces, "|") },
	}
}

func say(id, arguments string) llmtest.ToolCall {
	return llmtest.ToolCall{ID: id, Name: "say", Arguments: arguments}
}

// A turn is streamed piece by piece: its text, or the argument of a tool. In the end, the pieces are the text of the turn,
// also when something failed between.
func TestStreamedTurns(t *testing.T) {
	t.Parallel()
	find := llmtest.ToolCall{ID: "f", Name: "find", Arguments: `{"q":"x"}`}
	for name, c := range map[string]struct {
		replies []llmtest.Reply
		json    bool // the endpoint has no tool calls
		want    string
		calls   int
		again   bool // something is taken back
		whole   bool // it comes in one piece
	}{
		"a text":            {replies: []llmtest.Reply{llmtest.Text("You live in Lisbon. ")}, want: "You live in Lisbon."},
		"thoughts":          {replies: []llmtest.Reply{llmtest.Text("<think>hm, where <b> is it?</think>You live in <Lisbon>.")}, want: "You live in <Lisbon>."},
		"thoughts' end":     {replies: []llmtest.Reply{llmtest.Text("where is it?</think>You live in Lisbon.")}, want: "You live in Lisbon.", again: true},
		"a call":            {replies: []llmtest.Reply{llmtest.Tools(say("a", `{"mood":{"message":"no"},"message":"I \"live\"\n in \u00e9\ud83d\ude00 now","request_heartbeat":false}`))}, want: "I \"live\"\n in é😀 now", calls: 1},
		"parallel calls":    {replies: []llmtest.Reply{llmtest.Tools(find, say("a", `{"message":"One moment."}`), find, say("b", `{"message":"Here."}`))}, want: "One moment.\n\nHere.", calls: 4},
		"no words":          {replies: []llmtest.Reply{llmtest.Tools(find)}, want: "", calls: 1},
		"thought and call":  {replies: []llmtest.Reply{llmtest.Also("Let me look.", find)}, want: "", calls: 1, again: true},
		"broken call":       {replies: []llmtest.Reply{llmtest.Tools(say("a", `{"message":"cut off here and th`))}, want: "", calls: 1, again: true},
		"a written call":    {replies: []llmtest.Reply{llmtest.Text("```json\n{\"name\": \"find\", \"arguments\": {\"q\": \"x\"}}\n```")}, want: "", calls: 1},
		"words before it":   {replies: []llmtest.Reply{llmtest.Text("Let me look.\n<tool_call>\n{\"name\": \"find\", \"arguments\": {\"q\": \"x\"}}\n</tool_call>")}, want: "", calls: 1, again: true},
		"about the mark":    {replies: []llmtest.Reply{llmtest.Text("A model writes <tool_call> before a call.")}, want: "A model writes <tool_call> before a call."},
		"code":              {replies: []llmtest.Reply{llmtest.Text("```json\n{\"name\": \"Ada\"}\n```")}, want: "```json\n{\"name\": \"Ada\"}\n```", whole: true},
		"cut, then whole":   {replies: []llmtest.Reply{llmtest.CutBody(), llmtest.Text("You live in Lisbon.")}, want: "You live in Lisbon.", again: true},
		"503, then whole":   {replies: []llmtest.Reply{llmtest.Status(http.StatusServiceUnavailable, 0), llmtest.Text("You live in Lisbon.")}, want: "You live in Lisbon."},
		"silence":           {replies: []llmtest.Reply{llmtest.Text(""), llmtest.Text("You live in Lisbon.")}, want: "You live in Lisbon."},
		"no stream":         {replies: []llmtest.Reply{llmtest.NoChoices(), llmtest.NoChoices(), llmtest.NoChoices(), llmtest.NoChoices(), llmtest.Text("You live in Lisbon.")}, want: "You live in Lisbon.", whole: true},
		"JSON":              {json: true, replies: []llmtest.Reply{llmtest.Text(`{"text": "You live in Lisbon.", "calls": []}`)}, want: "You live in Lisbon."},
		"JSON in a fence":   {json: true, replies: []llmtest.Reply{llmtest.Text("<think>{\"text\":\"no no\"}</think>```json\n{\"text\": \"You live in Lisbon.\", \"calls\": []}\n```")}, want: "You live in Lisbon."},
		"no JSON":           {json: true, replies: []llmtest.Reply{llmtest.Text("You live in Lisbon.")}, want: "You live in Lisbon.", whole: true},
		"JSON call":         {json: true, replies: []llmtest.Reply{llmtest.Text(`{"text": "", "calls": [{"tool": "find", "arguments": "{}"}, {"tool": "say", "arguments": "{\"message\": \"I \\\"live\\\" in \\u00e9 now\"}"}]}`)}, want: `I "live" in é now`, calls: 2},
		"JSON object call":  {json: true, replies: []llmtest.Reply{llmtest.Text(`{"text": "Hm, let me see.", "calls": [{"tool": "say", "arguments": {"message": "I live here"}}]}`)}, want: "I live here", calls: 1, again: true},
		"JSON, other order": {json: true, replies: []llmtest.Reply{llmtest.Text(`{"calls": [{"arguments": "{\"message\": \"I live here\"}", "tool": "say"}], "text": "Hm, let me see."}`)}, want: "I live here", calls: 1, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			m := f.model(t)
			call := llmtest.Tool
			if c.json {
				f.srv.RefuseField("tools")
				call = "step"
			}
			f.srv.Script(call, c.replies...)
			var h deltas
			d := dialogue()
			d.Stream = h.stream()
			got := must.Get(m.Converse(t.Context(), f.scope, d))(t)
			all := strings.Join(h.pieces, "\x00")
			last := all[strings.LastIndex(all, "|")+1:]
			if text := strings.ReplaceAll(last, "\x00", ""); text != c.want || d.Stream.Text(&got.Turn) != c.want || len(got.Turn.Calls) != c.calls {
				t.Errorf("streamed %q, the turn is %+v; want %q", h.pieces, got.Turn, c.want)
			}
			if again := strings.Contains(all, "|"); again != c.again {
				t.Errorf("taken back: %t; streamed %q", again, h.pieces)
			}
			if pieces := len(strings.Split(strings.Trim(last, "\x00"), "\x00")); c.want != "" && (pieces < 2) != c.whole {
				t.Errorf("it came in %d pieces: %q", pieces, h.pieces)
			}
			if got.PromptTokens == 0 {
				t.Errorf("counted %d and %d tokens", got.PromptTokens, got.CompletionTokens)
			}
		})
	}
}

// What was streamed of a turn that fails is taken back. An endpoint that refuses streams, or a field beside
// them, is asked without.
func TestStreamedTurnsThatFail(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.model(t)
	var h deltas
	d := dialogue()
	d.Stream = h.stream()
	f.srv.Always(llmtest.Tool, llmtest.CutBody())
	if _, err := m.Converse(t.Context(), f.scope, d); err == nil || len(h.pieces) < 2 || h.pieces[len(h.pieces)-1] != "|" {
		t.Errorf("%v, streamed %q", err, h.pieces)
	}
	for _, field := range []string{"stream_options", "stream"} {
		f := setup(t)
		m := f.model(t)
		f.srv.Handle(llmtest.Tool, func(r llmtest.Request) llmtest.Reply {
			if r.StreamUsage && field == "stream_options" || r.Stream && field == "stream" {
				return llmtest.StatusText(http.StatusBadRequest, "Unsupported parameter: '"+field+"'.")
			}
			return llmtest.Text("You live in Lisbon.")
		})
		for range 2 {
			h = deltas{}
			d.Stream = h.stream()
			got, err := m.Converse(t.Context(), f.scope, d)
			if err != nil || got.Turn.Text != "You live in Lisbon." || strings.Join(h.pieces, "") != got.Turn.Text || got.PromptTokens == 0 || got.CompletionTokens == 0 {
				t.Errorf("%s: %+v, %v, streamed %q", field, got, err, h.pieces)
			}
		}
		if n := f.srv.Calls(llmtest.Tool); n != 3 {
			t.Errorf("%s: %d requests", field, n)
		}
	}
}
