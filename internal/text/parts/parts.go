// Package parts reads the content of messages in the forms in which programs and models write it: a text, or a list of parts
// as OpenAI, Anthropic and Google have them.
package parts

import (
	"slices"
	"strings"
	"unicode"
)

// Content is what can be read of the content of a message.
type Content struct {
	Text   string // what its author said, a line for each part
	Tool   string // what tools answered, which some forms have in a message of the user
	Unread int    // parts without a text, such as calls and images that nobody described
}

// maxDepth is how deep parts are nested: a result of a tool has parts of its own.
const maxDepth = 8

// Read reads a content as JSON has it. nil is a content without a text.
func Read(content any) Content {
	var r reader
	r.read(content, &r.said, maxDepth)
	return Content{Text: join(r.said), Tool: join(r.tool), Unread: r.unread}
}

func join(lines []string) string { return strings.TrimSpace(strings.Join(lines, "\n")) }

type reader struct {
	said, tool []string
	unread     int
}

// read adds the texts of a value to a list.
func (r *reader) read(v any, to *[]string, depth int) {
	switch v := v.(type) {
	case nil:
	case string:
		*to = append(*to, v)
	case []any:
		for _, part := range v {
			if part == nil || depth == 0 {
				r.unread++
				continue
			}
			r.read(part, to, depth-1)
		}
	case map[string]any:
		r.part(v, to, depth)
	default:
		r.unread++
	}
}

// kindOf returns what a part, or an item of a dialogue, says that it is.
func kindOf(p map[string]any) string {
	for _, member := range []string{"type", "$type", "part_kind", "block_type", "kind", "content_type"} {
		if kind := textIn(p, member); kind != "" {
			return inSnakeCase(kind)
		}
	}
	return ""
}

// inSnakeCase returns the name of a kind as most forms write it, such as function_result for FunctionResultContent.
func inSnakeCase(kind string) string {
	var b strings.Builder
	for i, r := range strings.ReplaceAll(kind, "-", "_") {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.TrimSuffix(b.String(), "_content")
}

// resultMember returns the member that has the answer of a tool; "" for a part that is none.
func resultMember(kind string, p map[string]any) string {
	for _, name := range []string{"functionResponse", "function_response", "toolResult"} {
		if p[name] != nil {
			return name
		}
	}
	answers := kind == "tool_return" || strings.Contains(kind, "_") && slices.ContainsFunc([]string{"_result", "_response", "_output"}, func(end string) bool {
		return strings.HasSuffix(kind, end)
	})
	if !answers {
		return ""
	}
	for _, member := range []string{"output", "content", "result", "response", "text"} {
		if p[member] != nil {
			return member
		}
	}
	return "content"
}

// isWordless reports whether what is of a kind has no words that anybody said: calls, the thinking of a model, references.
func isWordless(kind string) bool {
	return thinks(kind) || strings.HasSuffix(kind, "_call") || kind == "item_reference" || kind == "compaction" || kind == "system_prompt"
}

// part adds the text of a part.
func (r *reader) part(p map[string]any, to *[]string, depth int) {
	kind := kindOf(p)
	if member := resultMember(kind, p); member != "" {
		r.nested(p[member], &r.tool, depth)
		return
	}
	if isWordless(kind) || p["thought"] == true {
		r.unread++
		return
	}
	if text, ok := described(kind, p); ok {
		*to = append(*to, text)
		return
	}
	for _, member := range []string{"text", "refusal", "content", "parts", "transcript"} {
		if text, ok := p[member]; ok && text != nil {
			r.nested(text, to, depth)
			return
		}
	}
	for _, member := range []string{"input_audio", "audio", "source"} { // a transcript, or a document that is a text
		if inner, ok := p[member].(map[string]any); ok {
			if text, ok := plain(inner); ok {
				*to = append(*to, text)
				return
			}
		}
	}
	r.unread++
}

// nested adds the texts of a member of a part. A part without any is not read.
func (r *reader) nested(v any, to *[]string, depth int) {
	before, unread := len(*to), r.unread
	if object, ok := v.(map[string]any); ok && object["type"] == nil {
		if inner := object["response"]; depth > 0 && inner != nil { // Google's answer of a function
			r.nested(inner, to, depth-1)
			return
		}
		for _, member := range []string{"value", "text", "result", "output", "content"} { // {"value": …} is a text of OpenAI's assistants
			if text, ok := object[member].(string); ok {
				*to = append(*to, text)
				return
			}
		}
	}
	if depth > 0 {
		r.read(v, to, depth-1)
	}
	if len(*to) == before && r.unread == unread {
		r.unread++
	}
}

// thinks reports whether parts of a type hold the thinking of a model.
func thinks(kind string) bool {
	switch kind {
	case "thinking", "redacted_thinking", "reasoning":
		return true
	}
	return false
}

// described returns the description of an image or another medium.
func described(kind string, p map[string]any) (string, bool) {
	if !strings.Contains(kind, "image") && !strings.Contains(kind, "video") && p["image_url"] == nil {
		return "", false
	}
	for _, member := range []string{"description", "alt", "alt_text", "caption", "text"} {
		if text, ok := p[member].(string); ok && strings.TrimSpace(text) != "" {
			medium := "image"
			if strings.Contains(kind, "video") {
				medium = "video"
			}
			return "[" + medium + ": " + strings.Join(strings.Fields(text), " ") + "]", true
		}
	}
	return "", false
}

// plain returns the text of the source of a part.
func plain(source map[string]any) (string, bool) {
	if text, ok := source["transcript"].(string); ok && text != "" {
		return text, true
	}
	text, ok := source["data"].(string)
	return text, ok && source["type"] == "text"
}
