package eval

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Oracle is a model that answers perfectly and knows nothing: it is an OpenAI-compatible endpoint whose answers follow
// from the request alone. It answers the questions of [Paging] from the results of tools that it is shown, and asks for
// the next page until it has read the answer.
type Oracle struct{}

// The questions that the oracle understands, and how passages answer them.
var (
	keyQuestion = regexp.MustCompile(`What is the value of the key "([0-9a-f-]{36})"\?`)
	keyValue    = regexp.MustCompile(`Key: ([0-9a-f-]{36})\. Value: ([0-9a-f-]{36})\.`)
	docQuestion = regexp.MustCompile(`In the documents about "([^"]+)": what is (.+?) called\?`)
	pageHead    = regexp.MustCompile(`^Page (\d+) of (\d+):`)
)

// lastQuestion ends the questions about keys.
const lastQuestion = "If it is a key itself, give the value of that key, and so on, until it is none."

// chatRequest is the part of a chat completion request that the oracle reads.
type chatRequest struct {
	Stream        bool `json:"stream"`
	StreamOptions struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []chatMessage     `json:"messages"`
}

type chatMessage struct {
	Role      string     `json:"role"`
	Content   any        `json:"content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// text returns the text of a message, which may be in parts.
func (m *chatMessage) text() string {
	switch c := m.Content.(type) {
	case string:
		return c
	case []any:
		var out []string
		for _, p := range c {
			if part, ok := p.(map[string]any); ok {
				if s, ok := part["text"].(string); ok {
					out = append(out, s)
				}
			}
		}
		return strings.Join(out, "\n")
	}
	return ""
}

// ServeHTTP answers a chat completion request.
func (Oracle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") || json.NewDecoder(r.Body).Decode(&req) != nil {
		http.Error(w, "not a chat completion", http.StatusNotFound)
		return
	}
	answer := chatMessage{Role: "assistant"}
	if len(req.Tools) == 0 { // a summary of what has left the window
		answer.Content = `{"summary":"I am looking for an answer in archival storage."}`
	} else {
		answer.ToolCalls = []chatCall{req.next()}
	}
	prompt := 0
	for i := range req.Messages {
		prompt += Tokens(req.Messages[i].text())
		for _, c := range req.Messages[i].ToolCalls {
			prompt += Tokens(c.Function.Arguments)
		}
	}
	for _, t := range req.Tools {
		prompt += Tokens(string(t))
	}
	usage := map[string]int{"prompt_tokens": prompt, "completion_tokens": 20, "total_tokens": prompt + 20}
	base := map[string]any{"id": "oracle", "model": "oracle", "object": "chat.completion"}
	if !req.Stream {
		base["usage"] = usage
		base["choices"] = []any{map[string]any{"index": 0, "finish_reason": "stop", "message": answer}}
		raw, err := json.Marshal(base)
		if err != nil {
			http.Error(w, "unanswerable", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(raw)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	base["object"] = "chat.completion.chunk"
	send := func(choices []any) {
		base["choices"] = choices
		raw, err := json.Marshal(base)
		if err == nil {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", raw)
		}
	}
	send([]any{map[string]any{"index": 0, "delta": answer}})
	send([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": "stop"}})
	if req.StreamOptions.Usage {
		base["usage"] = usage
		send([]any{})
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// call returns a call of a tool.
func call(tool string, arguments map[string]any) (c chatCall) {
	raw, _ := json.Marshal(arguments) //nolint:errchkjson // texts, numbers and a flag
	c.ID, c.Type, c.Function.Name, c.Function.Arguments = "call", "function", tool, string(raw)
	return c
}

func searchCall(query string, page int) chatCall {
	return call("archival_search", map[string]any{"query": query, "page": page, "request_heartbeat": true})
}

func say(text string) chatCall { return call("send_message", map[string]any{"message": text}) }

// next returns the call that follows from a conversation: from its last question, and from the last search with its result.
func (r *chatRequest) next() chatCall {
	question, at := "", -1
	for i := range slices.Backward(r.Messages) {
		m := &r.Messages[i]
		if text := m.text(); m.Role == "user" && (keyQuestion.MatchString(text) || docQuestion.MatchString(text)) {
			question, at = text, i
			break
		}
	}
	var asked struct {
		Query string `json:"query"`
		Page  int    `json:"page"`
	}
	result, sent := "", false
	for i := at + 1; at >= 0 && i < len(r.Messages); i++ {
		switch m := &r.Messages[i]; {
		case m.Role == "tool":
			result = m.text()
		case len(m.ToolCalls) > 0 && json.Unmarshal([]byte(m.ToolCalls[0].Function.Arguments), &asked) == nil:
			result = ""
			sent = sent || m.ToolCalls[0].Function.Name == "send_message"
		}
	}
	if sent { // a warning that the window is full came after the answer: there is nothing to save, and nothing to say twice
		return call("conversation_search", map[string]any{})
	}
	if found := keyQuestion.FindAllStringSubmatch(question, -1); len(found) > 0 {
		return nextOfKeys(found[len(found)-1][1], asked.Query, result, asked.Page)
	}
	if found := docQuestion.FindAllStringSubmatch(question, -1); len(found) > 0 {
		last := found[len(found)-1]
		return nextOfDocuments(last[1], last[2], asked.Query, result, asked.Page)
	}
	return say("I do not know what to look for.")
}

// contents returns the texts on a page of results, and whether it is the last page.
func contents(result string) (texts []string, last bool) {
	lines := strings.Split(result, "\n")
	head := pageHead.FindStringSubmatch(lines[0])
	for _, line := range lines[1:] {
		var hit struct {
			Content string `json:"content"`
		}
		if json.Unmarshal([]byte(line), &hit) == nil {
			texts = append(texts, hit.Content)
		}
	}
	return texts, len(head) == 0 || head[1] == head[2]
}

// nextOfKeys follows keys: a page on which the key occurs in no passage, or the last one, shows that it is none.
func nextOfKeys(first, key, result string, page int) chatCall {
	if key == "" {
		return searchCall(first, 1)
	}
	texts, last := contents(result)
	occurs := false
	for _, text := range texts {
		if pair := keyValue.FindStringSubmatch(text); len(pair) > 0 && pair[1] == key {
			return searchCall(pair[2], 1)
		}
		occurs = occurs || strings.Contains(text, key)
	}
	if occurs && !last {
		return searchCall(key, page+1)
	}
	return say(key)
}

// nextOfDocuments reads pages about a topic until a passage says how something is called.
func nextOfDocuments(topic, what, query, result string, page int) chatCall {
	if query == "" {
		return searchCall(topic, 1)
	}
	texts, last := contents(result)
	for _, text := range texts {
		if _, name, ok := strings.Cut(text, what+" is called "); ok {
			name, _, _ = strings.Cut(name, ".")
			return say(name)
		}
	}
	if last {
		return say("I do not know.")
	}
	return searchCall(topic, page+1)
}
