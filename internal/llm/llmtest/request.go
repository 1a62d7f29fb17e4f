package llmtest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// Request is a request that the server received.
type Request struct {
	Path        string
	Call        string // schema name, Embed, or "" when there is no schema
	Model       string
	System      string // all system messages
	User        string // the last user message
	Messages    []Message
	Format      string // response_format.type; "" none
	Strict      bool
	Schema      json.RawMessage // as sent, in response_format or in the instructions; nil: none
	Temperature *float64
	MaxTokens   int // max_tokens or max_completion_tokens
	Inputs      []string
	Images      []string // of an embedding request for images: URLs or base64; Inputs is nil then
	Dimensions  int
	Stream      bool
	StreamUsage bool   // stream_options.include_usage
	Tools       int    // how many tools the request offers
	ToolChoice  string // tool_choice, as JSON; "" none
	Key         string // bearer token
	Query       string // of the address
	Header      http.Header
	Body        json.RawMessage
}

// Message is one message of a chat request.
type Message struct {
	Role       string          `json:"role"`
	Content    string          `json:"content"` // parts of text joined
	ToolCallID string          `json:"tool_call_id,omitempty"`
	ToolCalls  json.RawMessage `json:"tool_calls,omitempty"`
}

// UnmarshalJSON reads content that is a text, a list of parts, or null.
func (m *Message) UnmarshalJSON(b []byte) error {
	type plain Message
	w := struct {
		*plain

		Content json.RawMessage `json:"content"`
	}{plain: (*plain)(m)}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	m.Content = ""
	if len(w.Content) == 0 || string(w.Content) == "null" || json.Unmarshal(w.Content, &m.Content) == nil {
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(w.Content, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		m.Content += p.Text
	}
	return nil
}

type wireRequest struct {
	Model          string    `json:"model"`
	Messages       []Message `json:"messages"`
	ResponseFormat *struct {
		Type       string `json:"type"`
		JSONSchema *struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Temperature         *float64        `json:"temperature"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Input               json.RawMessage `json:"input"`
	Dimensions          int             `json:"dimensions"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools      []json.RawMessage `json:"tools"`
	ToolChoice json.RawMessage   `json:"tool_choice"`
}

// readRequest parses a request for completion or embedding.
func readRequest(r *http.Request) (Request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Request{}, err
	}
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return Request{}, err
	}
	out := Request{
		Path: r.URL.Path, Model: w.Model, Messages: w.Messages, Temperature: w.Temperature,
		MaxTokens: max(w.MaxTokens, w.MaxCompletionTokens), Dimensions: w.Dimensions, Body: body,
		Stream: w.Stream, StreamUsage: w.StreamOptions.IncludeUsage, Tools: len(w.Tools), ToolChoice: string(w.ToolChoice),
		Key: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), Query: r.URL.RawQuery, Header: r.Header,
	}
	for _, m := range w.Messages {
		switch m.Role {
		case "system":
			out.System += m.Content
		case "user":
			out.User = m.Content
		}
	}
	if f := w.ResponseFormat; f != nil {
		out.Format = f.Type
		if f.JSONSchema != nil {
			out.Call, out.Strict, out.Schema = f.JSONSchema.Name, f.JSONSchema.Strict, f.JSONSchema.Schema
		}
	}
	if strings.HasSuffix(r.URL.Path, "/embeddings") {
		out.Call = Embed
		var images []struct {
			Image string `json:"image"`
		}
		switch {
		case json.Unmarshal(w.Input, &out.Inputs) == nil:
		case json.Unmarshal(w.Input, &images) == nil:
			out.Inputs = nil
			for _, in := range images {
				out.Images = append(out.Images, in.Image)
			}
		default:
			out.Inputs = nil
			var one string
			if err := json.Unmarshal(w.Input, &one); err != nil {
				return Request{}, err
			}
			out.Inputs = []string{one}
		}
	}
	if out.Call == "" {
		out.Call, out.Schema = statedSchema(out.System)
	}
	if out.Call == "" && len(w.Tools) > 0 {
		out.Call = Tool
	}
	return out, nil
}

// statedSchema returns the schema in the instructions.
func statedSchema(system string) (name string, schema json.RawMessage) {
	const mark = `JSON Schema, named "`
	_, rest, found := strings.Cut(system, mark)
	if !found {
		return "", nil
	}
	name, rest, _ = strings.Cut(rest, `"`)
	if i := strings.IndexByte(rest, '{'); i >= 0 {
		var raw json.RawMessage
		if json.NewDecoder(strings.NewReader(rest[i:])).Decode(&raw) == nil {
			schema = raw
		}
	}
	return name, schema
}
