// Package parts reads the content of messages in the forms in which programs and models write it: a text, or a list of parts
// as OpenAI, Anthropic and Google have them.
package parts

import (
	"strings"
)

// Content is what can be read of the content of a message.
type Content struct {
	Text   string // what its author said, a line for each part
	Tool   string // what tools answered, which some forms have in a message of the user
	Unread int    // parts without a text, such as calls and images that nobody described
}

// maxDepth is how deep parts are nested: a result of a tool has parts of its own.
const maxDepth = 4

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

// results are the types of parts that have the answer of a tool, by the member that has its text.
var results = map[string]string{
	"tool_result": "content", "tool_response": "content", "function_call_output": "output", "function_response": "response", "mcp_tool_result": "content",
	"web_search_tool_result": "content", "code_execution_tool_result": "content", "tool-result": "result",
}

// part adds the text of a part.
func (r *reader) part(p map[string]any, to *[]string, depth int) {
	kind, _ := p["type"].(string)
	if member, ok := results[kind]; ok {
		r.nested(p[member], &r.tool, depth)
		return
	}
	if v, ok := p["functionResponse"].(map[string]any); ok {
		r.nested(v["response"], &r.tool, depth)
		return
	}
	if thinks(kind) || p["thought"] == true {
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
	case "thinking", "redacted_thinking", "reasoning", "reasoning_content", "reasoning-content":
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
