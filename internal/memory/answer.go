package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/slipboxhq/slipbox/internal/text"
)

// EmptyAnswer returns an answer that fits a JSON schema and says nothing: empty
// lists, "", false, 0. It is "{}" for a schema that cannot be read.
func EmptyAnswer(schema json.RawMessage) json.RawMessage {
	var doc map[string]any
	dec := json.NewDecoder(bytes.NewReader(schema))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		doc = nil
	}
	v, ok := emptyOf(doc).(map[string]any)
	if !ok {
		v = map[string]any{}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}

func emptyOf(schema map[string]any) any {
	if enum, ok := schema["enum"].([]any); ok && len(enum) > 0 {
		return enum[0]
	}
	t := schema["type"]
	if list, ok := t.([]any); ok {
		if slices.Contains(list, any("null")) || len(list) == 0 {
			return nil
		}
		t = list[0]
	}
	switch t {
	case "object":
		out := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			p, _ := p.(map[string]any)
			out[name] = emptyOf(p)
		}
		return out
	case "array":
		return []any{}
	case "string":
		return ""
	case "boolean":
		return false
	case "number", "integer":
		return 0
	}
	return nil
}

// leastTextWords is how many words a text of an answer has at least: fewer are a name, a keyword or a choice.
const leastTextWords = 3

// AnswerTexts returns the texts of an answer.
func AnswerTexts(answer json.RawMessage) []string {
	var v any
	if json.Unmarshal(answer, &v) != nil {
		return nil
	}
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if len(text.Words(v)) >= leastTextWords {
				out = append(out, v)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return out
}
