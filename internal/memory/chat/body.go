package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// body is a request as a client of OpenAI's sent it: its fields as they are, in
// their order, whatever they are.
type body struct {
	fields []field
	model  string
	stream bool
	usage  bool // a stream is to end with what it cost

	messages []json.RawMessage
	turns    []Turn // the same, as far as they are text
}

type field struct {
	name string
	raw  json.RawMessage
}

// parseBody reads a request. Of a field that stands twice the last one counts,
// as it does for those that read the request after us.
func parseBody(raw []byte) (*body, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fault.New(fault.Malformed, "the body must be a JSON object")
	}
	b := &body{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		f := field{name: name}
		if err == nil && ok {
			err = d.Decode(&f.raw)
		}
		if err != nil || !ok {
			return nil, fault.New(fault.Malformed, "the body is no valid JSON")
		}
		for _, own := range []string{"model", "messages", "stream", "stream_options"} {
			// Some endpoints take a name in any case: they would be told of another model than we are.
			if name != own && strings.EqualFold(name, own) {
				return nil, fault.InvalidField(own, "is to be written in lower case")
			}
		}
		b.fields = slices.DeleteFunc(b.fields, func(o field) bool { return o.name == name })
		b.fields = append(b.fields, f)
	}
	if _, err := d.Token(); err != nil {
		return nil, fault.New(fault.Malformed, "the body is no valid JSON")
	}
	if err := b.read(); err != nil {
		return nil, err
	}
	return b, nil
}

// read takes from the fields what has to be known of them.
func (b *body) read() error {
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	for _, f := range []struct {
		name string
		to   any
	}{{"model", &b.model}, {"stream", &b.stream}, {"messages", &b.messages}, {"stream_options", &options}} {
		raw := b.field(f.name)
		if raw == nil || string(raw) == "null" {
			continue
		}
		if err := json.Unmarshal(raw, f.to); err != nil {
			return fault.InvalidField(f.name, "is not of the type that it has in OpenAI's chat completions")
		}
	}
	b.usage = options.IncludeUsage
	if len(b.messages) == 0 {
		return fault.InvalidField("messages", "must have at least one entry")
	}
	for i, raw := range b.messages {
		var m struct {
			Role    memory.Role `json:"role"`
			Name    string      `json:"name"`
			Content any         `json:"content"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return fault.InvalidField(fmt.Sprintf("messages.%d", i), "must be a message")
		}
		b.turns = append(b.turns, Turn{Role: m.Role, Name: m.Name, Content: textOf(m.Content)})
	}
	return nil
}

func (b *body) field(name string) json.RawMessage {
	for _, f := range b.fields {
		if f.name == name {
			return f.raw
		}
	}
	return nil
}

// inject puts a system message behind those that the dialogue begins with, so
// that the client's own instructions come first.
func (b *body) inject(system string) error {
	raw, err := json.Marshal(map[string]string{"role": string(memory.RoleSystem), "content": system})
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	at := 0
	for at < len(b.turns) && (b.turns[at].Role == memory.RoleSystem || b.turns[at].Role == memory.RoleDeveloper) {
		at++
	}
	b.messages = slices.Insert(b.messages, at, json.RawMessage(raw))
	return nil
}

// encode gives the request for a model; all but its name and the messages is
// as it came.
func (b *body) encode(model string) ([]byte, error) {
	name, err := json.Marshal(model)
	if err != nil {
		return nil, fmt.Errorf("encode a name: %w", err)
	}
	var messages bytes.Buffer
	messages.WriteByte('[')
	for i, raw := range b.messages {
		if i > 0 {
			messages.WriteByte(',')
		}
		messages.Write(raw)
	}
	messages.WriteByte(']')
	var out bytes.Buffer
	put := func(name string, raw []byte) error {
		key, err := json.Marshal(name)
		if out.Len() == 0 {
			out.WriteByte('{')
		} else {
			out.WriteByte(',')
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(raw)
		return err
	}
	if err := put("model", name); err != nil {
		return nil, err
	}
	for _, f := range b.fields {
		switch f.name {
		case "model":
			continue
		case "messages":
			f.raw = messages.Bytes()
		}
		if err := put(f.name, f.raw); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// question gives the last that the user said, where the dialogue waits for an
// answer to it: it ends with it, or with what tools gave for it.
func (b *body) question() (Turn, bool) {
	last := b.turns[len(b.turns)-1].Role
	if last != memory.RoleUser && last != memory.RoleTool && last != "function" {
		return Turn{}, false
	}
	for _, t := range slices.Backward(b.turns) {
		if t.Role == memory.RoleUser {
			return t, strings.TrimSpace(t.Content) != ""
		}
	}
	return Turn{}, false
}
