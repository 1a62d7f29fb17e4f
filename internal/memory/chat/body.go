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

// body is a request of an OpenAI client: all its fields, unchanged and in order.
type body struct {
	fields []field
	model  string
	stream bool
	usage  bool // usage at the end of the stream was asked for

	messages []json.RawMessage
	turns    []Turn // the same messages, as far as they are text
}

type field struct {
	name string
	raw  json.RawMessage
}

// ownFields are the fields that we read.
var ownFields = slices.Concat([]string{"model", "messages", "stream", "stream_options"}, choiceFields, tokenFields)

// maxBodyFields bounds the fields of a request. OpenAI's chat completions have about 40.
const maxBodyFields = 200

// parseBody decodes a request. Of a repeated field the last one counts, as for the endpoint.
func parseBody(raw []byte) (*body, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fault.New(fault.Malformed, "the body must be a JSON object")
	}
	b := &body{}
	at := map[string]int{} // the position of each field in b.fields
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		f := field{name: name}
		if err == nil && ok {
			err = d.Decode(&f.raw)
		}
		if err != nil || !ok {
			return nil, fault.New(fault.Malformed, "the body is not valid JSON")
		}
		for _, own := range ownFields {
			// Some endpoints accept names in any case and would read another model from the body
			// than we do.
			if name != own && strings.EqualFold(name, own) {
				return nil, fault.InvalidField(own, "must be written in lower case")
			}
		}
		if i, ok := at[name]; ok {
			b.fields[i] = f
			continue
		}
		if len(b.fields) == maxBodyFields {
			return nil, fault.New(fault.Invalid, "the body has more than %d fields", maxBodyFields)
		}
		at[name] = len(b.fields)
		b.fields = append(b.fields, f)
	}
	if _, err := d.Token(); err != nil {
		return nil, fault.New(fault.Malformed, "the body is not valid JSON")
	}
	if err := b.decodeFields(); err != nil {
		return nil, err
	}
	return b, nil
}

// decodeFields decodes the fields that we use.
func (b *body) decodeFields() error {
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
			return fault.InvalidField(f.name, "has another type in OpenAI's chat completions")
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

// inject adds a system message after those at the start of the dialogue, so that the client's own
// instructions come first.
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

// keepLast leaves out the oldest turns of the user and the assistant, so that at most so many are left, with the results of tools that
// a turn has asked for; 0: none. Messages of systems and the question stay. Call it before inject.
func (b *body) keepLast(most int) {
	if most <= 0 {
		return
	}
	spoken, question, later := 0, -1, 0
	for i, t := range b.turns {
		if t.Role == memory.RoleUser || t.Role == memory.RoleAssistant {
			spoken, later = spoken+1, later+1
		}
		if t.Role == memory.RoleUser {
			question, later = i, 0
		}
	}
	if later >= most { // all of the newest answer it
		most--
	}
	messages, turns, left := b.messages[:0:0], b.turns[:0:0], false
	for i, t := range b.turns {
		switch t.Role {
		case memory.RoleUser, memory.RoleAssistant:
			spoken--
			left = spoken >= most && i != question
		case memory.RoleSystem, memory.RoleDeveloper:
			left = false
		}
		if !left {
			messages, turns = append(messages, b.messages[i]), append(turns, t)
		}
	}
	b.messages, b.turns = messages, turns
}

// encode returns the request for a model. Only the model's name and the messages differ from the
// original.
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

// question returns the user's last message if the dialogue asks for an answer to it: it is the last
// message, or only results of tools follow.
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
