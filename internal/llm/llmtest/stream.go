package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// toolCalls returns tool calls in the form of a message.
func (r Reply) toolCalls() []any {
	out := make([]any, len(r.tools))
	for i, t := range r.tools {
		out[i] = map[string]any{"id": t.ID, "type": "function", "function": map[string]any{"name": t.Name, "arguments": t.Arguments}}
	}
	return out
}

// deltas splits an answer into the pieces of a stream: the role, one word at a time, and tool calls
// with their arguments in two pieces.
func (r Reply) deltas() []map[string]any {
	out := []map[string]any{{"role": "assistant", "content": ""}}
	for _, word := range strings.SplitAfter(r.content, " ") {
		if word != "" {
			out = append(out, map[string]any{"content": word})
		}
	}
	for _, word := range strings.SplitAfter(r.thought, " ") {
		if word != "" {
			out = append(out, map[string]any{r.field: word})
		}
	}
	if r.refusal != "" {
		out = append(out, map[string]any{"refusal": r.refusal})
	}
	for i, t := range r.tools {
		half := len(t.Arguments) / 2
		out = append(out,
			map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": t.ID, "type": "function", "function": map[string]any{"name": t.Name, "arguments": t.Arguments[:half]}}}},
			map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": t.Arguments[half:]}}}})
	}
	return out
}

// stream sends an answer as server-sent events, as chat completions do with
// "stream": true. cut stops after half of them, without an end.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, req Request, rep Reply, cut bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	control := http.NewResponseController(w)
	event := func(choices []any, more map[string]any) {
		body := map[string]any{"id": "chatcmpl-fake", "object": "chat.completion.chunk", "model": req.Model, "choices": choices}
		if req.StreamUsage {
			body["usage"] = nil
		}
		maps.Copy(body, more)
		b, err := json.Marshal(body)
		if err != nil {
			panic(fmt.Sprintf("llmtest: %v", err))
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", b)
		_ = control.Flush() // a client that has left is not a failure of a test
	}
	deltas := rep.deltas()
	if cut {
		deltas = deltas[:(len(deltas)+1)/2]
	}
	for _, d := range deltas {
		if rep.pace > 0 && !s.wait(r, rep.pace) {
			return
		}
		event([]any{map[string]any{"index": 0, "delta": d, "finish_reason": nil}}, nil)
	}
	if cut {
		return
	}
	finish := rep.finish
	if finish == "" {
		finish = "stop"
	}
	event([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}, nil)
	usage := map[string]any{}
	s.count(usage, wordsOf(req), len(strings.Fields(rep.content)))
	if req.StreamUsage && len(usage) > 0 {
		event([]any{}, usage)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
	_ = control.Flush()
}
