package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// modeling is the process of the model: it writes its base URL to out and serves until in ends.
func modeling(in io.Reader, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	if _, err := fmt.Fprintf(out, "http://%s/v1\n", listener.Addr()); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, in)
	return server.Close()
}

// answer is the model: what the schema of the request asks for, or a sentence.
func answer(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Format struct {
			Schema struct {
				Schema map[string]any `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said := "That is noted."
	if ask.Format.Schema.Schema != nil {
		said = string(document(fit(ask.Format.Schema.Schema)))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document(map[string]any{
		"id": "load", "object": "chat.completion", "model": "fake",
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": said}}},
		"usage":   map[string]any{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
	}))
}

// fit returns a value that fits a schema: nothing evolves, and texts are short.
func fit(schema map[string]any) any {
	switch schema["type"] {
	case "object":
		out := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			p, _ := p.(map[string]any)
			out[name] = fit(p)
		}
		return out
	case "array":
		items, _ := schema["items"].(map[string]any)
		if items["type"] == "string" && items["enum"] == nil {
			return []string{"garden", "harbor", "lantern"}
		}
		return []any{}
	case "boolean":
		return false
	case "number", "integer":
		return 0
	}
	if among, ok := schema["enum"].([]any); ok && len(among) > 0 {
		return among[0]
	}
	return "a note about a garden"
}
