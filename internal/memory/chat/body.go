package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
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

// parseBody decodes a request.
func parseBody(raw []byte) (*body, error) {
	fields, err := parseFields(raw, ownFields)
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		// Programs that take it from a setting send it in quotes, which few endpoints read.
		var tokens json.Number
		if slices.Contains(tokenFields, f.name) && json.Unmarshal(f.raw, &tokens) == nil && tokens != "" {
			fields[i].raw = json.RawMessage(tokens)
		}
	}
	b := &body{fields: fields}
	if err := b.decodeFields(); err != nil {
		return nil, err
	}
	return b, nil
}

// parseFields returns the fields of a JSON object. Of a repeated field the last one counts, as for the endpoint. The
// fields that are our own must be written in lower case.
func parseFields(raw []byte, ours []string) ([]field, error) {
	var fields []field
	at := map[string]int{} // the position of each field
	err := eachField(raw, func(f field, _ int) error {
		for _, own := range ours {
			// Some endpoints accept names in any case and would read another model from the body
			// than we do.
			if f.name != own && strings.EqualFold(f.name, own) {
				return fault.InvalidField(own, "must be written in lower case")
			}
		}
		if i, ok := at[f.name]; ok {
			fields[i] = f
			return nil
		}
		if len(fields) == maxBodyFields {
			return fault.New(fault.Invalid, "the body has more than %d fields", maxBodyFields)
		}
		at[f.name] = len(fields)
		fields = append(fields, f)
		return nil
	})
	return fields, err
}

// eachField calls fn for the fields of a JSON object, in their order, with where each ends. Malformed for anything else.
func eachField(raw []byte, fn func(f field, end int) error) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fault.New(fault.Malformed, "the body must be a JSON object")
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		f := field{name: name}
		if err == nil && ok {
			err = d.Decode(&f.raw)
		}
		if err != nil || !ok {
			return fault.New(fault.Malformed, "the body is not valid JSON")
		}
		if err := fn(f, int(d.InputOffset())); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fault.New(fault.Malformed, "the body is not valid JSON")
	}
	return nil
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
	sent := b.messages
	b.messages = nil
	for i, raw := range sent {
		message, turn, err := openAI(raw, fmt.Sprintf("messages.%d", i))
		if err != nil {
			return err
		}
		if turn != nil {
			b.messages, b.turns = append(b.messages, message), append(b.turns, *turn)
		}
	}
	if len(b.turns) == 0 {
		return fault.InvalidField("messages", "nothing is said in them")
	}
	return nil
}

// needsModel returns an error for a request that only a model can answer in its form: a call that must be made, or JSON. Where the
// model may choose whether it calls a function, it may answer in words, as memory does.
func (b *body) needsModel() error {
	var format struct {
		Type string `json:"type"`
	}
	wants := ""
	switch {
	case given(b.field("tools")) && mustCall(b.field("tool_choice")):
		wants = "tool_choice"
	case given(b.field("functions")) && mustCall(b.field("function_call")):
		wants = "function_call"
	case json.Unmarshal(b.field("response_format"), &format) == nil && format.Type != "" && format.Type != "text":
		wants = "response_format"
	}
	if wants != "" {
		return &fault.Error{
			Code: fault.Misconfigured, Err: ErrNoModel, Fields: []fault.Field{{Field: wants, Reason: "needs a model"}},
			Message: "no model is configured for this collection, and " + wants + " needs one",
		}
	}
	var n float64
	if raw := b.field("n"); given(raw) && (json.Unmarshal(raw, &n) != nil || n != 1) {
		return fault.InvalidField("n", "must be 1 where no model is configured")
	}
	return nil
}

// mustCall reports whether the choice of a function is another than to make up one's mind, or none.
func mustCall(choice json.RawMessage) bool {
	return given(choice) && string(choice) != `"auto"` && string(choice) != `"none"`
}

// given reports whether a field is there and neither null nor an empty list.
func given(raw json.RawMessage) bool {
	s := strings.TrimSpace(string(raw))
	return s != "" && s != "null" && strings.Trim(s, "[] \t\r\n") != ""
}

func (b *body) field(name string) json.RawMessage {
	for _, f := range b.fields {
		if f.name == name {
			return f.raw
		}
	}
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
		case memory.RoleTool: // as the turn before it
		}
		if !left {
			messages, turns = append(messages, b.messages[i]), append(turns, t)
		}
	}
	b.messages, b.turns = messages, turns
}

// clone returns a copy whose messages may be changed.
func (b *body) clone() *body {
	out := *b
	out.messages, out.turns = slices.Clone(b.messages), slices.Clone(b.turns)
	return &out
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
			return t, recalled.Strip(t.Content) != ""
		}
	}
	return Turn{}, false
}
