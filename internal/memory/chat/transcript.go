package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/slipboxhq/slipbox/internal/search"
)

// transcript collects what an answer says while the answer passes through.
type transcript struct {
	text     strings.Builder
	refusal  strings.Builder
	thought  strings.Builder // what some models write in place of the text
	finish   string          // why the answer ended
	beside   int64           // estimated tokens of everything but the text: further choices, calls of tools, thinking
	tools    bool            // the model calls a tool
	finished bool
	usage    *Usage
	done     bool              // the stream said that it ends
	failure  string            // error of the endpoint within a stream
	part     func(*answerPart) // called with each part; may be nil

	line []byte // incomplete line of a stream
	skip bool   // the line is too long to be parsed
}

// maxLine bounds a line of a stream that is parsed, in bytes. Longer lines only pass through.
const maxLine = 1 << 20

// answerPart is the part of an answer, or of one chunk of a stream, that is parsed.
type answerPart struct {
	Choices []struct {
		Index        int       `json:"index"`
		Message      utterance `json:"message"`
		Delta        utterance `json:"delta"`
		FinishReason *string   `json:"finish_reason"`
	} `json:"choices"`
	Model string          `json:"model"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// utterance is the text of an answer, in all forms that endpoints use.
type utterance struct {
	Content      any               `json:"content"`
	Refusal      *string           `json:"refusal"`
	ToolCalls    []json.RawMessage `json:"tool_calls"`
	FunctionCall json.RawMessage   `json:"function_call"`
	Reasoning    any               `json:"reasoning_content"`
	Thought      any               `json:"reasoning"` // as other endpoints name it
}

// thinking returns what the model thought.
func (u *utterance) thinking() string { return textOf(u.Reasoning) + textOf(u.Thought) }

// tokensBeside returns the estimated tokens of an utterance without the answering text; with whole,
// including it.
func (u *utterance) tokensBeside(whole bool) int64 {
	n := search.EstimateTokens(u.thinking())
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

// parseWhole parses an answer that is not a stream, and reports whether it is one.
func (t *transcript) parseWhole(body []byte) bool {
	t.parseObject(body)
	return t.finished
}

// parseObject parses one object. Anything else is ignored.
func (t *transcript) parseObject(raw []byte) {
	var a answerPart
	if json.Unmarshal(raw, &a) != nil {
		return
	}
	if used := (Usage{}); given(a.Usage) && json.Unmarshal(a.Usage, &used) == nil {
		t.usage = &used
	}
	if t.part != nil {
		t.part(&a)
	}
	if len(a.Error) > 0 && string(a.Error) != "null" {
		t.failure = "the model failed while answering"
	}
	for i := range a.Choices {
		c := &a.Choices[i]
		t.beside += c.Message.tokensBeside(c.Index != 0) + c.Delta.tokensBeside(c.Index != 0)
		if c.Index != 0 {
			continue
		}
		for _, m := range []utterance{c.Message, c.Delta} {
			t.text.WriteString(textOf(m.Content))
			t.thought.WriteString(m.thinking())
			if m.Refusal != nil {
				t.refusal.WriteString(*m.Refusal)
			}
			t.tools = t.tools || len(m.ToolCalls) > 0 || len(m.FunctionCall) > 0 && string(m.FunctionCall) != "null"
		}
		if c.FinishReason != nil && *c.FinishReason != "" {
			t.finished, t.finish = true, *c.FinishReason
		}
	}
}

// parseStream parses a piece of an event stream and returns the text that it adds.
func (t *transcript) parseStream(p []byte) (added string) {
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
			t.parseEvent(bytes.TrimSuffix(t.line, []byte("\r")))
		}
		t.line, t.skip = t.line[:0], false
	}
	return t.text.String()[before:]
}

// parseEvent parses one line of a stream.
func (t *transcript) parseEvent(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return
	}
	if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
		t.finished, t.done = true, true
		return
	}
	t.parseObject(data)
}

// reply returns the text of the answer. That of a model which ends without one is what it thought, unless its thoughts
// were cut off.
func (t *transcript) reply() string {
	switch {
	case t.text.Len() > 0:
		return t.text.String()
	case t.refusal.Len() > 0 || t.tools || t.finish != "stop":
		return t.refusal.String()
	}
	return t.thought.String()
}

// textOf returns the text of a message's content, which is a string or a list of parts.
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
