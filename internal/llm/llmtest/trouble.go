package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// troubles are what an endpoint refuses, besides fields. The server has them under its lock.
type troubles struct {
	oneSystem, noSystem bool
	alternate           bool
	status              int // of a refused system message
	window, inputs      int
	tooLong             int // status of a text beyond the window, or of too many
	noIndex             bool
	header, key         string
	mostTokens          int
}

// OneSystem refuses a system message that is not the first message, and the role developer, as some chat templates do.
func (s *Server) OneSystem() {
	s.set(func() { s.troubles.oneSystem, s.troubles.status = true, http.StatusBadRequest })
}

// NoSystem refuses every system message with a status: templates of some servers fail with 500.
func (s *Server) NoSystem(status int) {
	s.set(func() { s.troubles.oneSystem, s.troubles.noSystem, s.troubles.status = true, true, status })
}

// Alternate refuses two messages of one side in a row, as the templates of Gemma and Mistral do.
func (s *Server) Alternate() { s.set(func() { s.troubles.alternate = true }) }

// Window refuses texts to embed that have more characters, and more texts in one request (0: any number), with a status and
// words that no client knows.
func (s *Server) Window(characters, inputs, status int) {
	s.set(func() { s.troubles.window, s.troubles.inputs, s.troubles.tooLong = characters, inputs, status })
}

// OmitIndexes leaves the index out of vectors, which are in order.
func (s *Server) OmitIndexes() { s.set(func() { s.troubles.noIndex = true }) }

// RequireHeader refuses requests without this key in this header (401), or with one in Authorization (400).
func (s *Server) RequireHeader(name, key string) {
	s.set(func() { s.troubles.header, s.troubles.key = name, key })
}

// MostTokens refuses requests that allow longer answers.
func (s *Server) MostTokens(n int) { s.set(func() { s.troubles.mostTokens = n }) }

// refuse returns the refusal of a request.
func (t *troubles) refuse(req *Request) (Reply, bool) {
	if t.header != "" {
		switch {
		case req.Key != "":
			return StatusText(http.StatusBadRequest, "Authorization is not supported"), true
		case req.Header.Get(t.header) != t.key:
			return StatusText(http.StatusUnauthorized, "Access denied due to missing subscription key"), true
		}
	}
	if t.mostTokens > 0 && req.MaxTokens > t.mostTokens {
		return StatusText(http.StatusBadRequest, fmt.Sprintf("max_tokens is too large: %d. This model supports at most %d completion tokens", req.MaxTokens, t.mostTokens)), true
	}
	for i, m := range req.Messages {
		if t.oneSystem && (m.Role == "developer" || m.Role == "system" && (i > 0 || t.noSystem)) {
			return StatusText(t.status, "System message must be at the beginning."), true
		}
	}
	for i, m := range req.Messages {
		if t.alternate && i > 0 && m.Role != "tool" && m.Role == req.Messages[i-1].Role {
			return StatusText(http.StatusBadRequest, "Conversation roles must alternate user/assistant/user/assistant/..."), true
		}
	}
	if t.inputs > 0 && len(req.Inputs) > t.inputs {
		return StatusText(t.tooLong, "zu viele"), true
	}
	for _, in := range req.Inputs {
		if t.window > 0 && utf8.RuneCountInString(in) > t.window {
			return StatusText(t.tooLong, "zu lang"), true
		}
	}
	return Reply{}, false
}

// Thinking returns a function for Handle: a model that thinks. An answer that may have fewer tokens than it needs is cut off
// before its text begins.
func Thinking(needs int, then Reply) func(Request) Reply {
	return func(r Request) Reply {
		if r.MaxTokens > 0 && r.MaxTokens < needs {
			return CutThoughts("The user wants to know")
		}
		then.thought, then.field = "The user wants to know, so I say.", "reasoning_content"
		return then
	}
}

// CutThoughts answers with thoughts that were cut off, and no text.
func CutThoughts(thought string) Reply {
	return Reply{kind: kindMessage, thought: thought, field: "reasoning_content", finish: "length"}
}

// InThoughts answers with a text in a field of thoughts: reasoning_content, or reasoning.
func InThoughts(field, text string) Reply {
	return Reply{kind: kindMessage, thought: text, field: field, finish: "stop"}
}

// Inside answers 200 with an error inside, in the form of an aggregator; of a stream it is the first event.
func Inside(code int, message string, retryAfter time.Duration) Reply {
	return Reply{kind: kindInside, status: code, content: message, wait: retryAfter}
}

// InsideLater is Inside for a stream that has begun.
func InsideLater(code int, message string) Reply {
	r := Inside(code, message, 0)
	r.finish = "later"
	return r
}

// Endless answers without an end: a piece each time, as fast as it is read, or with a pause between. A stream gets words as
// events, another request gets the piece itself.
func Endless(piece string, pause time.Duration) Reply {
	return Reply{kind: kindEndless, content: piece, pace: pause}
}

// inside sends an error with the status 200.
func (s *Server) inside(w http.ResponseWriter, req Request, rep Reply) {
	e := map[string]any{"code": rep.status, "message": rep.content}
	if rep.wait > 0 {
		e["metadata"] = map[string]any{"headers": map[string]any{"Retry-After": fmt.Sprint(int(rep.wait.Seconds()))}}
	}
	body := map[string]any{"id": "fake", "choices": nil, "error": e}
	if !req.Stream {
		send(w, body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ": PROCESSING\n\n")
	if rep.finish == "later" {
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"One "}}]}`+"\n\n")
	}
	_, _ = io.WriteString(w, event(body))
}

// event returns an event of a stream.
func event(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llmtest: %v", err))
	}
	return "data: " + string(raw) + "\n\n"
}

// endless sends a body that does not end before the client leaves.
func (s *Server) endless(w http.ResponseWriter, r *http.Request, req Request, rep Reply) {
	piece := rep.content
	w.Header().Set("Content-Type", "application/json")
	if req.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.TrimSpace(piece) != "" && !strings.HasPrefix(piece, ":") {
			piece = event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": piece}}}})
		}
	}
	control := http.NewResponseController(w)
	for {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
		if rep.pace == 0 {
			continue
		}
		if control.Flush() != nil || !s.wait(r, rep.pace) {
			return
		}
	}
}
