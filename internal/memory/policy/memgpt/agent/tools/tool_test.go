package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
)

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
