package llm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

var listSchema = json.RawMessage(`{"type":"object","properties":{"facts":{"type":"array","items":{"type":"string"}}},"required":["facts"],"additionalProperties":false}`)

// TestLenient: a call may accept an answer in another form than requested, before the answer is
// validated: without the reasoning of the model, and only where the form is clear.
func TestLenient(t *testing.T) {
	t.Parallel()
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
		m := must.Get(llm.NewModel(llm.Deps{Clock: time.Now}, llm.Config{BaseURL: fake.URL(), Model: "test", MaxTries: 1, EmbedProvider: llm.EmbedHash}))(t)
		seen := ""
		a, err := m.Ask(t.Context(), grant.Scope(uuid.New(), uuid.Nil, "test"), memory.Call{
			Name: "list", Prompt: "List them.", Schema: listSchema,
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

// An answer that ended at its limit is asked for with more room unless it is whole: an object that a model thinks about is not its
// answer, and thoughts without an end are not an answer that says "nothing".
func TestCutThoughts(t *testing.T) {
	t.Parallel()
	const facts = `{"facts":["Nora moved."]}`
	for answer, calls := range map[string]int{
		"<think>The user says many things and I must": 2,
		"<reasoning>The user says":                    2,
		"<think>\nOkay, the example shows {\"facts\": []} for nothing worth noting. Here Nora says": 2,
		"<think>Done.</think>\nThe example shows {\"facts\": []} for nothing, but here":             2,
		"Thinking Process:\n\n1. Read.\n2. {\"facts\": []} is for nothing, but here":                2,
		"- Nora moved.\n- Nora has a d":                   2,
		"<think>Nora.</think>" + facts:                    1,
		"It is this:\n```json\n" + facts + "\n```":        1,
		"```json\n" + facts + "\n```\nI chose it because": 1,
		facts + "\n\nThis is all, since":                  1,
	} {
		fake := llmtest.New(t)
		fake.Handle("list", func(r llmtest.Request) llmtest.Reply {
			if r.MaxTokens < 4000 {
				return llmtest.Cut(answer)
			}
			return llmtest.Text(facts)
		})
		m := must.Get(llm.NewModel(llm.Deps{Clock: time.Now}, llm.Config{BaseURL: fake.URL(), Model: "test", MaxTries: 1, EmbedProvider: llm.EmbedHash}))(t)
		a, err := m.Ask(t.Context(), grant.Scope(uuid.New(), uuid.Nil, "test"), memory.Call{
			Name: "list", Prompt: "List them.", Schema: listSchema,
			Lenient: func(said string) json.RawMessage {
				if strings.HasSuffix(said, "}") {
					return nil
				}
				return json.RawMessage(`{"facts":[]}`) // what is not understood is nothing
			},
		})
		if err != nil || a.Calls != calls || calls == 2 && string(a.JSON) != facts {
			t.Errorf("%q: %s after %d calls, %v", answer, a.JSON, a.Calls, err)
		}
	}
}

// Thoughts alone are an empty answer, wherever they end.
func TestThoughtsAlone(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	fake.Script("list", llmtest.Text("<think>Nora says"))
	m := must.Get(llm.NewModel(llm.Deps{Clock: time.Now}, llm.Config{BaseURL: fake.URL(), Model: "test", MaxTries: 1, EmbedProvider: llm.EmbedHash}))(t)
	a, err := m.Ask(t.Context(), grant.Scope(uuid.New(), uuid.Nil, "test"), memory.Call{
		Name: "list", Prompt: "List them.", Schema: listSchema, Lenient: func(string) json.RawMessage { return json.RawMessage(`{"facts":[]}`) },
	})
	if err != nil || a.Calls != 2 {
		t.Errorf("%s after %d calls, %v", a.JSON, a.Calls, err)
	}
}
