package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Marks around calls that a model wrote into its text.
const (
	fence        = "```"
	callMark     = "<tool_call>"  // Qwen, Hermes
	callEnd      = "</tool_call>" //
	callsMark    = "[TOOL_CALLS]" // Mistral
	functionMark = "<function="   // Llama, and Qwen within the marks of a call
	functionEnd  = "</function>"
)

// writtenCall is a call as small models write it when their server does not read it as one: Qwen with "arguments", Llama
// with "parameters".
type writtenCall struct {
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

// callsAt returns where the first mark of calls begins; -1 for none.
func callsAt(text string) int {
	at := -1
	for _, mark := range []string{callMark, callsMark, functionMark} {
		if i := strings.Index(text, mark); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	return at
}

// writtenCalls returns the calls of tools that are offered, which a model wrote into its text, and what it said before them. They
// are behind a mark, or the text is nothing else, in a code fence or not. Any other text has none, and is what is said.
func writtenCalls(text string, tools []memory.Tool) (said string, calls []memory.ToolCall) {
	rest := unfenced(text)
	if at := callsAt(text); at >= 0 {
		said, rest = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text[:at]), fence)), text[at:]
	}
	for {
		rest = strings.TrimSpace(rest)
		marked := false
		for _, mark := range []string{callMark, callEnd, callsMark, fence} {
			inner, ok := strings.CutPrefix(rest, mark)
			rest, marked = inner, marked || ok
		}
		if marked {
			continue
		}
		if rest == "" {
			break
		}
		read, behind := readCalls(rest, tools)
		if len(read) == 0 {
			return text, nil
		}
		calls, rest = append(calls, read...), behind
	}
	if len(calls) == 0 {
		return text, nil
	}
	return said, calls
}

// readCalls reads the calls at the beginning of a text; none when it does not begin with calls of tools that are offered.
func readCalls(s string, tools []memory.Tool) (calls []memory.ToolCall, rest string) {
	var written []writtenCall
	if name, body, ok := strings.Cut(strings.TrimPrefix(s, functionMark), ">"); ok && strings.HasPrefix(s, functionMark) {
		body, rest, _ = strings.Cut(body, functionEnd)
		written = []writtenCall{{Name: name, Arguments: json.RawMessage(strings.TrimSpace(body))}}
		if !json.Valid(written[0].Arguments) {
			written[0].Arguments = taggedArguments(body, name, tools)
		}
	} else {
		name, body, named := strings.Cut(s, "[ARGS]")
		if !named || strings.ContainsAny(name, " {[\n") {
			name, body = "", s
		}
		d := json.NewDecoder(strings.NewReader(body))
		d.DisallowUnknownFields()
		var err error
		switch {
		case name != "":
			written = make([]writtenCall, 1)
			written[0].Name, err = name, d.Decode(&written[0].Arguments)
		case strings.HasPrefix(body, "["):
			err = d.Decode(&written)
		default:
			written = make([]writtenCall, 1)
			err = d.Decode(&written[0])
		}
		if err != nil {
			return nil, s
		}
		rest = body[d.InputOffset():]
	}
	for _, c := range written {
		arguments := c.Arguments
		if arguments == nil {
			arguments = c.Parameters
		}
		if !bytes.HasPrefix(arguments, []byte("{")) || !slices.ContainsFunc(tools, func(t memory.Tool) bool { return t.Name == c.Name }) {
			return nil, s
		}
		calls = append(calls, memory.ToolCall{Name: c.Name, Arguments: string(arguments)})
	}
	return calls, rest
}

// taggedArguments reads arguments that have a tag each. The tool says which are texts. Nil: there are others than such.
func taggedArguments(s, tool string, tools []memory.Tool) json.RawMessage {
	var schema struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	for i := range tools {
		if tools[i].Name == tool && json.Unmarshal(tools[i].Parameters, &schema) != nil {
			return nil
		}
	}
	out := map[string]any{}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		name, value, ok := strings.Cut(strings.TrimPrefix(s, "<parameter="), ">")
		if !ok || !strings.HasPrefix(s, "<parameter=") {
			return nil
		}
		if value, s, ok = strings.Cut(value, "</parameter>"); !ok {
			return nil
		}
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
		if out[name] = value; schema.Properties[name].Type != "string" && json.Valid([]byte(value)) {
			out[name] = json.RawMessage(value)
		}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return raw
}

// mayBecomeCalls reports whether a text that is not complete may become one of calls only.
func mayBecomeCalls(text string) bool {
	return slices.ContainsFunc([]string{"{", fence, callMark, callsMark, functionMark}, func(mark string) bool {
		return strings.HasPrefix(text, mark) || strings.HasPrefix(mark, text)
	})
}
