package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// What is wrong with a tool is all told.
func TestApply(t *testing.T) {
	t.Parallel()
	good := Change{Description: new("about"), Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
	spec := first()
	if err := good.apply(&spec); err != nil || spec.Description != "about" || string(spec.Parameters) != string(good.Parameters) {
		t.Fatalf("%+v, %v", spec, err)
	}
	if err := (&Change{}).apply(&spec); err != nil || spec.Description != "about" {
		t.Errorf("without a change: %+v, %v", spec, err)
	}
	for field, c := range map[string]Change{
		"description: is required":      {Description: new("  ")},
		"description: at most 1024":     {Description: new(strings.Repeat("é", 1_025))},
		"description: must be UTF-8":    {Description: new("a\x00")},
		"parameters: must not have the": {Parameters: json.RawMessage(`{"type":"object","properties":{"request_heartbeat":{}}}`)},
		"parameters":                    {Parameters: json.RawMessage(`{"type":"array"}`)},
	} {
		s := spec
		if err := c.apply(&s); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(strings.Split(field, ":")[0])) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Arguments are checked by the schema, and what every tool takes is left out.
func TestArguments(t *testing.T) {
	t.Parallel()
	tool := memory.OwnTool{Name: "x", Spec: memory.OwnToolSpec{
		Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
	}}
	if raw, err := Arguments(&tool, map[string]any{"n": json.Number("7"), "request_heartbeat": true}); err != nil || string(raw) != `{"n":7}` {
		t.Errorf("%s, %v", raw, err)
	}
	for _, bad := range []map[string]any{nil, {"n": "x"}, {"n": json.Number("1.5")}, {"n": json.Number("1"), "m": true}, {"n": strings.Repeat("x", maxArguments)}} {
		if raw, err := Arguments(&tool, bad); err == nil {
			t.Errorf("%v became %s", bad, raw)
		}
	}
}
