package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Marks around calls that a model wrote into its text.
const (
	fence    = "```"
	callMark = "<tool_call>"
	callEnd  = "</tool_call>"
)

// writtenCall is a call as small models write it when their server does not read it as one: Qwen with "arguments", Llama
// with "parameters".
type writtenCall struct {
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

// writtenCalls returns the calls of a text that is nothing else than calls of tools that are offered, in a code fence or
// between marks or neither. Any other text has none.
func writtenCalls(text string, tools []memory.Tool) (out []memory.ToolCall) {
	if strings.HasPrefix(text, callMark) {
		text = strings.NewReplacer(callMark, "", callEnd, "").Replace(text)
	}
	if inner, ok := strings.CutPrefix(text, fence); ok {
		text = strings.TrimSuffix(strings.TrimPrefix(inner, "json"), fence)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	for {
		var c writtenCall
		err := d.Decode(&c)
		if errors.Is(err, io.EOF) {
			return out
		}
		arguments := c.Arguments
		if arguments == nil {
			arguments = c.Parameters
		}
		if err != nil || !bytes.HasPrefix(arguments, []byte("{")) || !slices.ContainsFunc(tools, func(t memory.Tool) bool { return t.Name == c.Name }) {
			return nil
		}
		out = append(out, memory.ToolCall{Name: c.Name, Arguments: string(arguments)})
	}
}

// mayBecomeCalls reports whether a text that is not complete may become one of calls only.
func mayBecomeCalls(text string) bool {
	return slices.ContainsFunc([]string{"{", fence, callMark}, func(mark string) bool {
		return strings.HasPrefix(text, mark) || strings.HasPrefix(mark, text)
	})
}
