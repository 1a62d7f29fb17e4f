package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text/parts"
)

// Respond is [Service.Complete] for a request in the form of OpenAI's responses. The request is translated to a chat
// completion and the answer back, so that memory treats both alike. What has no counterpart there is Invalid and names
// the field; fields that are not known are passed on.
func (s *Service) Respond(ctx context.Context, scope tenant.Scope, find Find, raw []byte) (*Completion, error) {
	fields, err := parseFields(raw, responseFields)
	if err != nil {
		return nil, err
	}
	r := &response{asked: fields, answered: answered{created: s.clock()}}
	b, err := r.translate(s, scope)
	if err != nil {
		return nil, err
	}
	c, err := s.complete(ctx, scope, find, b, r)
	for _, again := range []struct{ without, with string }{{"stream_options", ""}, {"max_tokens", "max_completion_tokens"}} {
		// Not every endpoint takes what was added here, or takes it by this name.
		if refused, ok := errors.AsType[*Refused](err); ok && b.field(again.without) != nil && bytes.Contains(refused.Body, []byte(again.without)) {
			b.rename(again.without, again.with)
			c, err = s.complete(ctx, scope, find, b, r)
		}
	}
	return c, err
}

// rename changes the name of a field; "" removes the field.
func (b *body) rename(from, to string) {
	if to == "" {
		b.fields = slices.DeleteFunc(b.fields, func(f field) bool { return f.name == from })
		return
	}
	for i := range b.fields {
		if b.fields[i].name == from {
			b.fields[i].name = to
		}
	}
}

// How the fields of a request are translated.
var (
	// sameFields have the same name and meaning in chat completions.
	sameFields = []string{
		"model", "stream", "temperature", "top_p", "parallel_tool_calls", "user", "service_tier", "safety_identifier", "prompt_cache_key",
	}
	// ownResponseFields are translated, or answered by the gateway.
	ownResponseFields = []string{
		"input", "instructions", "tools", "tool_choice", "max_output_tokens", "text", "reasoning", "metadata", "include", "truncation", "stream_options",
	}
	// absentFields are not supported, with what may be sent instead of leaving them out.
	absentFields = map[string]string{
		"previous_response_id": "", "conversation": "", "prompt": "", "store": "false", "background": "false", "max_tool_calls": "", "top_logprobs": "0",
		"context_management": "", "moderation": "",
	}
	// chatFields belong to chat completions alone.
	chatFields = []string{
		"messages", "n", "best_of", "max_tokens", "max_completion_tokens", "n_predict", "response_format", "functions", "function_call", "reasoning_effort",
		"verbosity", "logprobs",
	}
	responseFields = slices.Concat(sameFields, ownResponseFields, chatFields, []string{"previous_response_id", "conversation", "prompt", "store", "background"})
)

// response is a request in the form of OpenAI's responses, and its answer while it is written.
type response struct {
	asked []field
	answered
}

func (r *response) field(name string) json.RawMessage {
	b := body{fields: r.asked}
	if raw := b.field(name); string(raw) != "null" {
		return raw
	}
	return nil
}

// translate returns the request as a chat completion.
func (r *response) translate(s *Service, scope tenant.Scope) (*body, error) {
	b := &body{}
	put := func(name string, v any) error {
		raw, err := json.Marshal(v)
		b.fields = append(b.fields, field{name: name, raw: raw})
		return err
	}
	for _, f := range r.asked {
		allowed, absent := absentFields[f.name]
		switch {
		case string(f.raw) == "null":
		case absent && string(f.raw) != allowed:
			reason := "is not supported by this gateway"
			if allowed != "" {
				reason += "; leave it out, or send " + allowed
			}
			return nil, fault.InvalidField(f.name, "%s", reason)
		case absent || slices.Contains(ownResponseFields, f.name):
		case slices.Contains(chatFields, f.name):
			return nil, fault.InvalidField(f.name, "is a field of chat completions, not of responses")
		default:
			b.fields = append(b.fields, f)
		}
	}
	messages, err := r.messages(s, scope)
	if err != nil {
		return nil, err
	}
	if err := put("messages", messages); err != nil {
		return nil, fmt.Errorf("encode messages: %w", err)
	}
	for _, part := range []func(put func(string, any) error) error{r.tools, r.toolChoice, r.format, r.reasoning, r.rest} {
		if err := part(put); err != nil {
			return nil, err
		}
	}
	if err := s.cfg.Limits.checkResponse(r); err != nil {
		return nil, err
	}
	if err := b.decodeFields(); err != nil {
		return nil, err
	}
	r.streams = b.stream
	if b.stream {
		// The end of a response says what it used.
		if err := put("stream_options", map[string]bool{"include_usage": true}); err != nil {
			return nil, fmt.Errorf("encode options: %w", err)
		}
		b.usage = true
	}
	return b, nil
}

// checkResponse refuses a request that asks for more than the operator allows, by the names of its own fields.
func (l Limits) checkResponse(r *response) error {
	if err := checkNumber("max_output_tokens", r.field("max_output_tokens"), l.MaxTokens, "chat.max_tokens"); err != nil {
		return err
	}
	if raw := r.field("input"); raw != nil && !isString(raw) {
		return l.checkMedia(json.NewDecoder(bytes.NewReader(raw)), "input", false)
	}
	return nil
}

// message is a message of a chat completion.
type message struct {
	Role       memory.Role `json:"role"`
	Content    any         `json:"content"` // a text, parts, or nil
	ToolCalls  []toolCall  `json:"tool_calls,omitempty"`
	ToolCallID string      `json:"tool_call_id,omitempty"`
}

// toolCall is a call in a chat completion; Index is that of a piece of a stream.
type toolCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// inputItem is an item of a dialogue in a request.
type inputItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      memory.Role     `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// maxInputItems is how many items a dialogue may have, as the contract says of messages.
const maxInputItems = 2000

// messages translates instructions and input.
func (r *response) messages(s *Service, scope tenant.Scope) ([]message, error) {
	var out []message
	if raw := r.field("instructions"); raw != nil {
		var said string
		if json.Unmarshal(raw, &said) != nil {
			return nil, fault.InvalidField("instructions", "must be a text")
		}
		if said != "" {
			out = append(out, message{Role: memory.RoleSystem, Content: said})
		}
	}
	raw := r.field("input")
	var said string
	var items []json.RawMessage
	switch {
	case raw == nil:
		return nil, fault.InvalidField("input", "is required")
	case json.Unmarshal(raw, &said) == nil:
		return append(out, message{Role: memory.RoleUser, Content: said}), nil
	case json.Unmarshal(raw, &items) != nil:
		return nil, errInput()
	case len(items) == 0 || len(items) > maxInputItems:
		return nil, fault.InvalidField("input", "must have between 1 and %d items", maxInputItems)
	}
	for i := range items {
		m, err := readItem(s, scope, items[i], fmt.Sprintf("input.%d", i))
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		// All calls of one turn are one message, with the text before them.
		if last := len(out) - 1; len(m.ToolCalls) > 0 && last >= 0 && out[last].Role == memory.RoleAssistant {
			out[last].ToolCalls = append(out[last].ToolCalls, m.ToolCalls...)
			continue
		}
		out = append(out, *m)
	}
	return out, nil
}

func errInput() error {
	return fault.InvalidField("input", "must be a text, or a list of items in OpenAI's form")
}

// readItem translates an item, or a message of another form among them.
func readItem(s *Service, scope tenant.Scope, raw json.RawMessage, path string) (*message, error) {
	var given any
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, errInput()
	}
	var m *message
	var item inputItem
	err := json.Unmarshal(raw, &item)
	if err == nil {
		m, err = item.message(s, scope, path)
	} else {
		err = errInput()
	}
	if other := parts.Object(given); err != nil && other != nil && isOtherForm(other) {
		return translated(other, path)
	}
	return m, err
}

// message translates an item. It is nil for one that has no counterpart and changes nothing.
func (t *inputItem) message(s *Service, scope tenant.Scope, path string) (*message, error) {
	switch t.Type {
	case "", "message":
		if t.Role == "" {
			return nil, fault.InvalidField(path+".role", "is required")
		}
		content, err := contentOf(t.Content, t.Role, path+".content")
		return &message{Role: memory.RoleOf(string(t.Role)), Content: content}, err
	case "function_call":
		call := toolCall{ID: t.CallID, Type: "function"}
		call.Function.Name, call.Function.Arguments = t.Name, t.Arguments
		return &message{Role: memory.RoleAssistant, ToolCalls: []toolCall{call}}, nil
	case "function_call_output":
		content, err := contentOf(t.Output, memory.RoleTool, path+".output")
		return &message{Role: memory.RoleTool, ToolCallID: t.CallID, Content: content}, err
	case "item_reference":
		if !strings.HasPrefix(t.ID, textPrefix) {
			return nil, fault.InvalidField(path+".id", "refers to an item that this gateway does not keep; send the item itself")
		}
		if said, ok := s.replies.get(scope.Tenant(), t.ID); ok {
			return &message{Role: memory.RoleAssistant, Content: said}, nil
		}
		return nil, nil //nolint:nilnil // memory has what was said
	case "reasoning":
		return nil, nil //nolint:nilnil // a model's own notes; chat completions have no place for them
	}
	return nil, fault.InvalidField(path+".type", "items of type %q are not supported by this gateway", clip.Runes(t.Type, maxName))
}

// contentOf translates the content of an item: a text, or parts.
func contentOf(raw json.RawMessage, role memory.Role, path string) (any, error) {
	var said string
	if json.Unmarshal(raw, &said) == nil && string(raw) != "null" {
		return said, nil
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Refusal  string          `json:"refusal"`
		ImageURL string          `json:"image_url"`
		Detail   string          `json:"detail"`
		FileID   json.RawMessage `json:"file_id"`
		FileURL  json.RawMessage `json:"file_url"`
		FileData string          `json:"file_data"`
		FileName string          `json:"filename"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return nil, fault.InvalidField(path, "must be a text, or a list of parts in OpenAI's form")
	}
	out, texts, plain := []object{}, []string{}, true
	for i := range parts {
		p := &parts[i]
		at := fmt.Sprintf("%s.%d", path, i)
		if given(p.FileID) {
			return nil, fault.InvalidField(at+".file_id", "is not supported by this gateway; send the data")
		}
		if given(p.FileURL) {
			return nil, fault.InvalidField(at+".file_url", "is not supported by this gateway; send the data")
		}
		switch p.Type {
		case "input_text", "output_text", "text":
			texts = append(texts, p.Text)
			out = append(out, object{"type": "text", "text": p.Text})
		case "refusal":
			texts = append(texts, p.Refusal)
			out = append(out, object{"type": "text", "text": p.Refusal})
		case "input_image":
			plain = false
			image := object{"url": p.ImageURL}
			if p.Detail != "" {
				image["detail"] = p.Detail
			}
			out = append(out, object{"type": "image_url", "image_url": image})
		case "input_file":
			plain = false
			out = append(out, object{"type": "file", "file": object{"file_data": p.FileData, "filename": p.FileName}})
		default:
			return nil, fault.InvalidField(at+".type", "parts of type %q are not supported by this gateway", clip.Runes(p.Type, maxName))
		}
	}
	if plain && role != memory.RoleUser || len(out) == 1 && plain {
		return strings.Join(texts, "\n"), nil
	}
	return out, nil
}

// tools translates the tools, which must be functions.
func (r *response) tools(put func(string, any) error) error {
	var tools []map[string]json.RawMessage
	raw := r.field("tools")
	if !given(raw) {
		return nil
	}
	if json.Unmarshal(raw, &tools) != nil {
		return fault.InvalidField("tools", "must be a list of tools in OpenAI's form")
	}
	out := make([]any, 0, len(tools))
	for i, t := range tools {
		var kind string
		if json.Unmarshal(t["type"], &kind) != nil || kind != "function" {
			return fault.InvalidField(fmt.Sprintf("tools.%d.type", i), "tools of type %q are not supported by this gateway, functions are", clip.Runes(kind, maxName))
		}
		delete(t, "type")
		for name, v := range t {
			if string(v) == "null" {
				delete(t, name)
			}
		}
		out = append(out, map[string]any{"type": "function", "function": t})
	}
	return put("tools", out)
}

// toolChoice translates what the model may call.
func (r *response) toolChoice(put func(string, any) error) error {
	raw := r.field("tool_choice")
	if raw == nil || !given(r.field("tools")) {
		return nil // without tools there is nothing to choose from, and endpoints refuse the field
	}
	if isString(raw) {
		return put("tool_choice", raw)
	}
	var choice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &choice) != nil || choice.Type != "function" {
		return fault.InvalidField("tool_choice", "must be auto, none, required or a function; others are not supported by this gateway")
	}
	return put("tool_choice", map[string]any{"type": "function", "function": map[string]string{"name": choice.Name}})
}

// format translates the form of the text.
func (r *response) format(put func(string, any) error) error {
	raw := r.field("text")
	if raw == nil {
		return nil
	}
	var text struct {
		Format    map[string]json.RawMessage `json:"format"`
		Verbosity *string                    `json:"verbosity"`
	}
	if json.Unmarshal(raw, &text) != nil {
		return fault.InvalidField("text", "must be an object in OpenAI's form")
	}
	if text.Verbosity != nil {
		if err := put("verbosity", *text.Verbosity); err != nil {
			return err
		}
	}
	var kind string
	_ = json.Unmarshal(text.Format["type"], &kind) // absent: plain text
	switch kind {
	case "", "text":
		return nil
	case "json_object":
		return put("response_format", map[string]string{"type": kind})
	case "json_schema":
		delete(text.Format, "type")
		return put("response_format", map[string]any{"type": kind, "json_schema": text.Format})
	}
	return fault.InvalidField("text.format.type", "%q is not supported by this gateway", clip.Runes(kind, maxName))
}

// reasoning translates how much the model thinks.
func (r *response) reasoning(put func(string, any) error) error {
	raw := r.field("reasoning")
	if raw == nil {
		return nil
	}
	var set map[string]json.RawMessage
	if json.Unmarshal(raw, &set) != nil {
		return fault.InvalidField("reasoning", "must be an object in OpenAI's form")
	}
	for name, v := range set {
		if name != "effort" && string(v) != "null" {
			return fault.InvalidField("reasoning."+clip.Runes(name, maxName), "is not supported by this gateway")
		}
	}
	if effort := set["effort"]; effort != nil && string(effort) != "null" {
		return put("reasoning_effort", effort)
	}
	return nil
}

// rest translates the length of the answer, and refuses what is left of the fields that are not passed on.
func (r *response) rest(put func(string, any) error) error {
	var include []string
	if raw := r.field("include"); raw != nil && json.Unmarshal(raw, &include) != nil {
		return fault.InvalidField("include", "must be a list of texts")
	}
	for i, name := range include {
		// There is no reasoning in an answer, encrypted or not.
		if name != "reasoning.encrypted_content" {
			return fault.InvalidField(fmt.Sprintf("include.%d", i), "%q is not supported by this gateway", clip.Runes(name, maxName))
		}
	}
	if raw := r.field("truncation"); raw != nil && string(raw) != `"disabled"` {
		return fault.InvalidField("truncation", `is not supported by this gateway; leave it out, or send "disabled"`)
	}
	if raw := r.field("max_output_tokens"); raw != nil {
		return put("max_tokens", raw)
	}
	return nil
}
