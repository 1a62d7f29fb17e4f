package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text/parts"
)

// openAIRoles are the roles of chat completions.
var openAIRoles = append(memory.Roles(), "function")

// The types of parts of responses, and of parts of any form but that of chat completions. Endpoints take further parts than OpenAI
// does, so that a part of any other type is passed on.
var (
	responseParts = []string{"input_text", "output_text", "input_image", "input_file"}
	foreignParts  = append([]string{"", "tool_use", "tool_result", "thinking", "redacted_thinking", "image"}, responseParts...)
)

// isOpenAI reports whether a message has the form of chat completions, so that a model's endpoint is sent it as it is.
func isOpenAI(m map[string]any) bool {
	role, _ := m["role"].(string)
	content, has := m["content"]
	if !slices.Contains(openAIRoles, memory.Role(role)) || !has && m["tool_calls"] == nil && m["function_call"] == nil && m["refusal"] == nil && m["audio"] == nil {
		return false
	}
	list, _ := content.([]any)
	return !slices.ContainsFunc(list, isForeign)
}

func isForeign(part any) bool {
	p, ok := part.(map[string]any)
	kind, _ := p["type"].(string)
	return !ok || slices.Contains(foreignParts, kind)
}

// translated returns a message of another form as chat completions have it. path names it in a refusal.
func translated(m map[string]any, path string) (*message, error) {
	read := parts.ReadMessage(m)
	switch {
	case !read.Known:
		return nil, fault.InvalidField(path, "has no content; %s", parts.Forms)
	case read.Role == "" && read.Named != "":
		return nil, fault.InvalidField(path+".role", "is not known")
	}
	out := &message{Role: memory.RoleUser, ToolCallID: textOf(m["tool_call_id"])}
	if read.Role != "" {
		out.Role = memory.Role(read.Role)
	}
	list, _ := m["content"].([]any)
	if list == nil {
		list, _ = m["parts"].([]any)
	}
	if list != nil {
		out.Content = partsOf(list)
		return out, nil
	}
	out.Content = read.Text
	if read.Tool != "" {
		out.Content = read.Tool
	}
	return out, nil
}

// partsOf returns parts of any form as those of chat completions, or as one text where there is nothing else. What a model cannot be
// sent has a mark.
func partsOf(list []any) any {
	out, texts, plain := []any{}, []string{}, true
	for _, p := range list {
		if part, ok := p.(map[string]any); ok && !isForeign(p) {
			out, plain = append(out, part), plain && part["type"] == "text"
			texts = append(texts, textOf([]any{p}))
			continue
		}
		if url := imageOf(p); url != "" {
			out, plain = append(out, map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}}), false
			continue
		}
		read := parts.Read([]any{p})
		said := strings.TrimSpace(read.Tool + "\n" + read.Text)
		if said == "" {
			said = "[left out: a part without text]"
		}
		texts, out = append(texts, said), append(out, map[string]any{"type": "text", "text": said})
	}
	if plain {
		return strings.Join(texts, "\n")
	}
	return out
}

// imageOf returns the address of an image in a part of another form; "" for any other part.
func imageOf(part any) string {
	p, _ := part.(map[string]any)
	if url, ok := p["image_url"].(string); ok {
		return url
	}
	for _, at := range []struct{ member, kind, data string }{{"source", "media_type", "data"}, {"inlineData", "mimeType", "data"}, {"inline_data", "mime_type", "data"}} {
		image, _ := p[at.member].(map[string]any)
		kind, _ := image[at.kind].(string)
		data, _ := image[at.data].(string)
		if strings.HasPrefix(kind, "image/") && data != "" {
			return "data:" + kind + ";base64," + data
		}
	}
	return ""
}

// openAI returns a message as the model is sent it: byte for byte where it has OpenAI's form. An item of responses without words is nil.
func openAI(raw json.RawMessage, path string) (json.RawMessage, *Turn, error) {
	var v any
	err := json.Unmarshal(raw, &v)
	m := parts.Object(v)
	if err != nil || m == nil {
		return nil, nil, fault.InvalidField(path, "must be a message")
	}
	if isOpenAI(m) {
		role, _ := m["role"].(string)
		name, _ := m["name"].(string)
		return raw, &Turn{Role: memory.Role(role), Name: name, Content: textOf(m["content"])}, nil
	}
	out, err := asItem(raw, m, path)
	if out == nil && err == nil {
		out, err = translated(m, path)
	}
	if err != nil {
		return nil, nil, err
	}
	if out.Content == "" && out.Role == memory.RoleUser {
		return nil, nil, nil
	}
	raw, err = json.Marshal(out)
	return raw, &Turn{Role: out.Role, Name: textOf(m["name"]), Content: textOf(out.Content)}, err
}

// asItem translates a call of a tool and its result in the form of responses; nil for anything else.
func asItem(raw json.RawMessage, m map[string]any, path string) (*message, error) {
	if kind := m["type"]; kind != "function_call" && kind != "function_call_output" {
		return nil, nil //nolint:nilnil // it is another form
	}
	var item inputItem
	if json.Unmarshal(raw, &item) != nil {
		return nil, fault.InvalidField(path, "must be an item in OpenAI's form")
	}
	return item.message(nil, tenant.Scope{}, path)
}

// isOtherForm reports whether an item of a request of responses, which cannot be translated as one, is a message of another form.
func isOtherForm(m map[string]any) bool {
	read := parts.ReadMessage(m)
	if !read.Known || read.Role == "" {
		return false
	}
	switch content := m["content"].(type) {
	case nil, string:
		return true
	case []any:
		return slices.ContainsFunc(content, func(part any) bool {
			p, _ := part.(map[string]any)
			return isForeign(part) && !slices.Contains(responseParts, textOf(p["type"]))
		})
	}
	return false
}
