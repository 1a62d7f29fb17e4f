package parts

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Message is what can be read of a message in the forms in which programs keep and send it: as OpenAI's chat completions,
// assistants, responses and their items, Anthropic, Google, Cohere, Ollama and Bedrock have it, LangChain, LlamaIndex, the AI SDK,
// AutoGen, Semantic Kernel and Pydantic AI store it, and exports of chats and data sets write it.
type Message struct {
	Content

	Role  string // one that [RoleOf] returns; "": its form names none
	Named string // the role as it is named, if that is not known
	Name  string // of the speaker
	ID    string
	At    any  // when it was said, as its form has it; nil: it does not say
	Known bool // whether it has a form that is known, with words or without
}

// The members in which forms have the same thing. Of several, the first with something in it counts.
var (
	contentMembers = []string{"content", "contents", "parts", "text", "refusal", "blocks", "items", "value", "message"}
	roleMembers    = []string{"role", "author", "from", "sender", "source", "type", "kind"}
	timeMembers    = []string{"occurred_at", "timestamp", "created_at", "createdAt", "create_time", "created", "sent_at", "time", "date", "ts"}
	wrappers       = []string{"data", "kwargs", "message"}
	callMembers    = []string{"tool_calls", "function_call", "toolInvocations", "images"}
)

// Forms names the forms for a refusal.
const Forms = "a message has role and content, or user and assistant, or is in the form of OpenAI (chat completions, responses), Anthropic, Google, LangChain or the AI SDK"

// IsMember reports whether a member is one of a form other than role and content.
func IsMember(name string) bool {
	other := slices.Concat(contentMembers[1:], roleMembers[1:], timeMembers, wrappers, callMembers, []string{"audio", "output", "call_id"})
	return slices.Contains(other, name)
}

// Object returns a message of a list as an object: a text alone is what the user said, and names that all begin in upper case, as .NET
// writes them, are those that others have. It is nil for what is not a message.
func Object(v any) map[string]any {
	switch v := lowered(v, maxDepth).(type) {
	case string:
		return map[string]any{"content": v}
	case map[string]any:
		return v
	}
	return nil
}

// lowered returns a value with the names of its objects as others write them.
func lowered(v any, depth int) any {
	if list, ok := v.([]any); ok && depth > 0 {
		out := make([]any, len(list))
		for i := range list {
			out[i] = lowered(list[i], depth-1)
		}
		return out
	}
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 || depth == 0 {
		return v
	}
	for name := range object {
		if name == "" || name[0] != '$' && (name[0] < 'A' || name[0] > 'Z') {
			return v
		}
	}
	out := make(map[string]any, len(object))
	for name, inner := range object {
		out[strings.ToLower(name[:1])+name[1:]] = lowered(inner, depth-1)
	}
	return out
}

// ReadMessage reads a message as JSON has it.
func ReadMessage(m map[string]any) Message {
	m = unwrapped(m)
	out := Message{ID: textIn(m, "id"), Name: strings.TrimSpace(cmp.Or(textIn(m, "name"), textIn(m, "authorName")))}
	var speaker string
	out.Role, out.Named, speaker = roleIn(m)
	out.Name = cmp.Or(out.Name, speaker)
	for _, member := range timeMembers {
		if at := m[member]; at != nil {
			out.At = at
			break
		}
	}
	out.Content, out.Known = contentIn(m)
	return out
}

// RoleOf returns the role that a program means by a name: frameworks have names of their own, such as those of classes. known is false
// for any other name.
func RoleOf(name string) (role string, known bool) {
	short := strings.ToLower(strings.TrimSpace(name))
	short = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(short, "chunk"), "message"), "_-") // such as AIMessageChunk
	switch short {
	case "user", "human", "person", "customer", "end_user", "enduser", "request":
		return "user", true
	case "assistant", "ai", "bot", "chatbot", "model", "agent", "gpt", "llm", "response":
		return "assistant", true
	case "tool", "function", "tool_result", "tool_response", "observation", "ipython":
		return "tool", true
	case "system", "developer":
		return short, true
	}
	return name, false
}

// unwrapped returns a message without the objects that some programs keep it in. What is inside counts more.
func unwrapped(m map[string]any) map[string]any {
	for range maxDepth {
		inner := map[string]any(nil)
		for _, wrapper := range wrappers {
			if object, ok := m[wrapper].(map[string]any); ok && m["content"] == nil && m["parts"] == nil {
				inner = maps.Clone(object)
				break
			}
		}
		if inner == nil {
			return m
		}
		for name, v := range m {
			if _, has := inner[name]; !has && !slices.Contains(wrappers, name) {
				inner[name] = v
			}
		}
		m = inner
	}
	return m
}

// roleIn returns the role of a message, or what names one that is not known. A speaker with a name of their own is a person.
func roleIn(m map[string]any) (role, named, speaker string) {
	for _, member := range roleMembers {
		name := label(m[member])
		if name == "" {
			continue
		}
		if role, ok := RoleOf(name); ok {
			return role, "", speaker
		}
		switch member {
		case "role":
			return "", name, ""
		case "type", "kind":
		default:
			speaker = cmp.Or(speaker, name)
		}
	}
	if class, ok := m["id"].([]any); ok && len(class) > 0 { // of an object that LangChain has serialized
		if role, ok := RoleOf(label(class[len(class)-1])); ok {
			return role, "", speaker
		}
	}
	return "", "", speaker
}

// label returns a text, or that of an object which has one as its name.
func label(v any) string {
	if object, ok := v.(map[string]any); ok {
		for _, member := range []string{"role", "label", "value", "name"} {
			if text := textIn(object, member); text != "" {
				return text
			}
		}
	}
	text, _ := v.(string)
	return strings.TrimSpace(text)
}

func textIn(m map[string]any, member string) string {
	text, _ := m[member].(string)
	return text
}

// contentIn returns what a message says. known is false where no member is that of a form.
func contentIn(m map[string]any) (out Content, known bool) {
	kind := kindOf(m)
	if member := resultMember(kind, m); member != "" || isWordless(kind) {
		return Read(m), true
	}
	for _, member := range contentMembers {
		v, has := m[member]
		known = known || has
		if v == nil {
			continue
		}
		more := Read(v)
		if said, ok := v.(string); ok {
			more.Text = said // as it is
		}
		out.Text, out.Tool, out.Unread = cmp.Or(more.Text, out.Text), more.Tool, out.Unread+more.Unread
		if strings.TrimSpace(out.Text) != "" || out.Tool != "" {
			break
		}
	}
	if audio, ok := m["audio"].(map[string]any); ok && out.Text == "" {
		known = true
		out.Text = textIn(audio, "transcript")
		if out.Text == "" {
			out.Unread++
		}
	}
	for _, member := range callMembers {
		switch v := m[member].(type) {
		case []any:
			known = true
			out.Unread += len(v)
		case map[string]any:
			known = true
			out.Unread++
		}
	}
	return out, known
}
