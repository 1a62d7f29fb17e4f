package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/slipboxhq/slipbox/internal/search"
)

// transcript is what an answer says, read while it passes.
type transcript struct {
	text     strings.Builder
	refusal  strings.Builder
	beside   int64 // tokens, as estimated, of what else the model wrote: further choices, calls of tools, thinking
	tools    bool  // a tool is called
	finished bool
	usage    *Usage
	failure  string // of the endpoint, in the middle of a stream

	line []byte // of a stream, not ended yet
	skip bool   // the line is too long to be read
}

// maxLine bounds a line of a stream that is read, in bytes. A longer one passes all the same.
const maxLine = 1 << 20

// answered is what is read of an answer, whole or a chunk of it.
type answered struct {
	Choices []struct {
		Index        int       `json:"index"`
		Message      utterance `json:"message"`
		Delta        utterance `json:"delta"`
		FinishReason *string   `json:"finish_reason"`
	} `json:"choices"`
	Usage *Usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// utterance is what an answer says, in whatever form that is read as text.
type utterance struct {
	Content      any               `json:"content"`
	Refusal      *string           `json:"refusal"`
	ToolCalls    []json.RawMessage `json:"tool_calls"`
	FunctionCall json.RawMessage   `json:"function_call"`
	Reasoning    any               `json:"reasoning_content"`
}

// beside is what an utterance costs beyond the text that answers; with whole,
// that text too.
func (u *utterance) beside(whole bool) int64 {
	n := search.EstimateTokens(textOf(u.Reasoning))
	if string(u.FunctionCall) != "null" {
		n += search.EstimateTokens(string(u.FunctionCall))
	}
	for _, call := range u.ToolCalls {
		n += search.EstimateTokens(string(call))
	}
	if whole {
		n += search.EstimateTokens(textOf(u.Content))
	}
	return int64(n)
}

// whole reads an answer that came at once; false when it is none.
func (t *transcript) whole(body []byte) bool {
	t.read(body)
	return t.finished
}

// read takes in one object; what is none says nothing.
func (t *transcript) read(raw []byte) {
	var a answered
	if json.Unmarshal(raw, &a) != nil {
		return
	}
	if a.Usage != nil {
		t.usage = a.Usage
	}
	if len(a.Error) > 0 && string(a.Error) != "null" {
		t.failure = "the model failed within its answer"
	}
	for i := range a.Choices {
		c := &a.Choices[i]
		t.beside += c.Message.beside(c.Index != 0) + c.Delta.beside(c.Index != 0)
		if c.Index != 0 {
			continue
		}
		for _, m := range []utterance{c.Message, c.Delta} {
			t.text.WriteString(textOf(m.Content))
			if m.Refusal != nil {
				t.refusal.WriteString(*m.Refusal)
			}
			t.tools = t.tools || len(m.ToolCalls) > 0 || len(m.FunctionCall) > 0 && string(m.FunctionCall) != "null"
		}
		t.finished = t.finished || c.FinishReason != nil && *c.FinishReason != ""
	}
}

// stream takes in what came of a stream of events, and gives what it adds to the text.
func (t *transcript) stream(p []byte) (added string) {
	before := t.text.Len()
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte("\n"))
		p = rest
		if !t.skip {
			t.line = append(t.line, part...)
		}
		if len(t.line) > maxLine {
			t.line, t.skip = nil, true
		}
		if !ended {
			break
		}
		if !t.skip {
			t.event(bytes.TrimSuffix(t.line, []byte("\r")))
		}
		t.line, t.skip = t.line[:0], false
	}
	return t.text.String()[before:]
}

// event takes in a line of a stream.
func (t *transcript) event(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return
	}
	if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
		t.finished = true
		return
	}
	t.read(data)
}

// reply is what the answer says.
func (t *transcript) reply() string {
	if s := t.text.String(); s != "" {
		return s
	}
	return t.refusal.String()
}

// textOf gives the text of a message's content, which is a string or parts.
func textOf(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var parts []string
		for _, p := range c {
			part, _ := p.(map[string]any)
			if s, ok := part["text"].(string); ok && (part["type"] == "text" || part["type"] == nil) {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, "\n")
	}
	return ""
}
