package main

import (
	"encoding/json"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// What the model answers fits the schema: an array of given words is empty, one of any texts is not.
func TestFit(t *testing.T) {
	t.Parallel()
	var schema map[string]any
	must.Do(t, json.Unmarshal([]byte(`{"type": "object", "properties": {
		"actions": {"type": "array", "items": {"type": "string", "enum": ["update"]}},
		"tags": {"type": "array", "items": {"type": "string"}},
		"kind": {"type": "string", "enum": ["fact"]}}}`), &schema))
	got, want := string(document(fit(schema))), `{"actions":[],"kind":"fact","tags":["garden","harbor","lantern"]}`
	if got != want {
		t.Errorf("the answer is %s, want %s", got, want)
	}
}
