package llm_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// TestLenient: a call may accept an answer in another form than requested, before the answer is
// validated: without the reasoning of the model, and only where the form is clear.
func TestLenient(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"facts":{"type":"array","items":{"type":"string"}}},"required":["facts"],"additionalProperties":false}`
	rows := []struct {
		answer string
		seen   string
		calls  int
		bad    bool
	}{
		{`<none>`, "<none>", 1, false},
		{`<think>Nothing? {"facts":["no"]}</think> <none>`, "<none>", 1, false},
		{`{"facts":["they said </think>"]}`, `{"facts":["they said </think>"]}`, 1, false},
		{`I cannot say.`, "I cannot say.", 2, true},
	}
	for _, r := range rows {
		fake := llmtest.New(t)
		fake.Always("list", llmtest.Text(r.answer))
		m, err := llm.NewModel(llm.Deps{Clock: time.Now}, llm.Config{BaseURL: fake.URL(), Model: "test", MaxTries: 1, EmbedProvider: llm.EmbedHash})
		if err != nil {
			t.Fatal(err)
		}
		seen := ""
		a, err := m.Ask(t.Context(), grant.Scope(uuid.New(), uuid.Nil, "test"), memory.Call{
			Name: "list", Prompt: "List them.", Schema: json.RawMessage(schema),
			Lenient: func(said string) json.RawMessage {
				seen = said
				if said == "<none>" {
					return json.RawMessage(`{"facts":[]}`)
				}
				return nil
			},
		})
		if seen != r.seen || errors.Is(err, memory.ErrBadAnswer) != r.bad || a.Calls != r.calls || !r.bad && err != nil {
			t.Errorf("%s: saw %q, answered %s after %d calls, %v", r.answer, seen, a.JSON, a.Calls, err)
		}
	}
}
