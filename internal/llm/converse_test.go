package llm_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func dialogue() memory.Dialogue {
	return memory.Dialogue{
		Purpose: "step", Collection: uuid.New(),
		Turns: []memory.Turn{
			{Role: memory.RoleSystem, Text: "Be kind."},
			{Role: memory.RoleUser, Text: "Where do I live?"},
			{Role: memory.RoleAssistant, Calls: []memory.ToolCall{{ID: "c1", Name: "find", Arguments: `{"q":"home"}`}}},
			{Role: memory.RoleTool, Answers: "c1", Text: "Lisbon"},
		},
		Tools: []memory.Tool{{Name: "find", Description: "Finds.", Parameters: []byte(`{"type":"object","properties":{"q":{"type":"string"}}}`)}},
	}
}

// A turn is a text, or one or several calls. What is asked and what it costs is recorded.
func TestConverse(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.model(t)
	d := dialogue()
	f.srv.Script(llmtest.Tool, llmtest.Tools(llmtest.ToolCall{ID: "a", Name: "find", Arguments: `{"q":1}`}, llmtest.ToolCall{ID: "b", Name: "rm", Arguments: `{`}),
		llmtest.Text("<think>hm</think>You live in Lisbon."), llmtest.NoChoices(), llmtest.Text("Lisbon."))
	got, err := m.Converse(t.Context(), f.scope, d)
	if err != nil || len(got.Turn.Calls) != 2 || got.Turn.Calls[1] != (memory.ToolCall{ID: "b", Name: "rm", Arguments: `{`}) || got.Turn.Role != memory.RoleAssistant {
		t.Fatalf("%+v, %v", got, err)
	}
	r := f.srv.Requests()[0]
	if len(r.Messages) != 4 || r.Messages[3].ToolCallID != "c1" || !strings.Contains(string(r.Messages[2].ToolCalls), `home`) || r.Tools != 1 || r.ToolChoice != "" {
		t.Errorf("asked %s", r.Body)
	}
	d.Choice, d.Only = memory.ChooseRequired, "find"
	if got, err = m.Converse(t.Context(), f.scope, d); err != nil || got.Turn.Text != "You live in Lisbon." || got.PromptTokens == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if r := f.srv.Requests()[1]; !strings.Contains(r.ToolChoice, `"find"`) {
		t.Errorf("asked %s", r.Body)
	}
	d.Choice = memory.ChooseNone
	if got, err = m.Converse(t.Context(), f.scope, d); err != nil || got.Turn.Text != "Lisbon." || got.Requests != 2 {
		t.Errorf("an empty turn is asked for again: %+v, %v", got, err)
	}
	f.srv.Always(llmtest.Tool, llmtest.Text(""))
	if _, err = m.Converse(t.Context(), f.scope, d); !errors.Is(err, memory.ErrBadAnswer) {
		t.Errorf("nothing was said twice: %v", err)
	}
	uses := f.meter.all()
	if len(uses) != 4 || uses[0].Purpose != "step" || uses[0].Collection != d.Collection || uses[2].Calls != 2 {
		t.Errorf("recorded %+v", uses)
	}
}

// An endpoint without tool calls, or without a field beside them, is asked in another form.
func TestConverseWithoutTools(t *testing.T) {
	t.Parallel()
	for _, schemas := range []bool{true, false} {
		f := setup(t)
		m := f.model(t)
		f.srv.RefuseField("tools")
		if !schemas {
			f.srv.RefuseSchemas(true)
		}
		f.srv.Script("step", llmtest.Text(`{"text":"Let me see.","calls":[{"tool":"find","arguments":"{\"q\":\"x\"}"},{"tool":"find","arguments":{"q":"y"}}]}`),
			llmtest.Text(`{"text":"Lisbon","calls":[]}`), llmtest.Text("Just a text."))
		got, err := m.Converse(t.Context(), f.scope, dialogue())
		if err != nil || got.Turn.Text != "Let me see." || len(got.Turn.Calls) != 2 || got.Turn.Calls[0].Arguments != `{"q":"x"}` || got.Turn.Calls[1].Arguments != `{"q":"y"}` {
			t.Fatalf("%+v, %v", got, err)
		}
		r := f.srv.RequestsOf("step")
		last := r[len(r)-1]
		if last.Tools != 0 || !strings.Contains(last.System, `"Finds."`) || !strings.Contains(last.User, "Result of the tool find:\nLisbon") {
			t.Errorf("asked %s", last.Body)
		}
		for _, want := range []string{"Lisbon", "Just a text."} {
			if got, err = m.Converse(t.Context(), f.scope, dialogue()); err != nil || got.Turn.Text != want || len(got.Turn.Calls) != 0 {
				t.Errorf("%+v, %v", got, err)
			}
		}
	}
}

// Calls that a model wrote as text, since its server does not read them, are calls; a text with anything else in it is said.
func TestWrittenCalls(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.model(t)
	one := []string{`{"q":"x"}`}
	for _, c := range []struct {
		text string
		want []string // arguments
	}{
		{`{"name":"find","arguments":{"q":"x"}}`, one},
		{"```json\n{\"name\":\"find\",\"arguments\":{\"q\":\"x\"}}\n```", one},
		{`{"name":"find","parameters":{"q":"x"}}`, one},
		{"<tool_call>\n{\"name\":\"find\",\"arguments\":{\"q\":\"x\"}}\n</tool_call>\n<tool_call>\n{\"name\":\"find\",\"arguments\":{}}\n</tool_call>", []string{`{"q":"x"}`, `{}`}},
		{"<function=find>{\"q\":\"x\"}</function>", one},
		{"<tool_call>\n<function=find>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>", one},
		{`[TOOL_CALLS][{"name":"find","arguments":{"q":"x"}}]`, one},
		{`[TOOL_CALLS]find[ARGS]{"q":"x"}[TOOL_CALLS]find[ARGS]{}`, []string{`{"q":"x"}`, `{}`}},
		{"<think>Where?</think>\n<tool_call>{\"name\":\"find\",\"arguments\":{\"q\":\"x\"}}</tool_call>", one},
		{`<function=rm>{"q":"x"}</function>`, nil},
		{"<tool_call>\n<function=find>\n<parameter=q>x", nil},
		{"A model writes <tool_call> before a call.", nil},
		{`{"name":"rm","arguments":{"q":"x"}}`, nil},
		{`{"name":"find"}`, nil},
		{`{"name":"find","arguments":"x"}`, nil},
		{`{"name":"find","arguments":{},"price":3}`, nil},
		{`Call {"name":"find","arguments":{"q":"x"}}`, nil},
		{`{"name":"find","arguments":{"q":"x"}} is how it is called.`, nil},
		{`{"name":"find","arguments":{"q":`, nil},
	} {
		f.srv.Script(llmtest.Tool, llmtest.Text(c.text))
		got, err := m.Converse(t.Context(), f.scope, dialogue())
		var arguments []string
		for _, call := range got.Turn.Calls {
			arguments = append(arguments, call.Arguments)
		}
		if err != nil || !slices.Equal(arguments, c.want) || (got.Turn.Text == "") != (c.want != nil) {
			t.Errorf("%s: %+v, %v", c.text, got.Turn, err)
		}
	}
	for _, form := range []string{"<tool_call>\n{\"name\":\"find\",\"arguments\":{\"q\":\"x\"}}\n</tool_call>", "```\n<tool_call>{\"name\":\"find\",\"arguments\":{\"q\":\"x\"}}</tool_call>\n```", "<function=find>{\"q\":\"x\"}</function>"} {
		f.srv.Script(llmtest.Tool, llmtest.Text("Let me look.\n"+form))
		if got, err := m.Converse(t.Context(), f.scope, dialogue()); err != nil || got.Turn.Text != "Let me look." || len(got.Turn.Calls) != 1 {
			t.Errorf("%s: what is said before a call is kept beside it: %+v, %v", form, got.Turn, err)
		}
	}
	d := dialogue()
	d.Choice = memory.ChooseNone
	f.srv.Script(llmtest.Tool, llmtest.Text(`{"name":"find","arguments":{"q":"x"}}`))
	if got, err := m.Converse(t.Context(), f.scope, d); err != nil || len(got.Turn.Calls) != 0 {
		t.Errorf("none is wanted: %+v, %v", got.Turn, err)
	}
}

// A failing endpoint is never an empty turn. Misbehaving calls are handed on as they are.
func TestConverseMisbehavior(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.model(t)
	f.srv.Script(llmtest.Tool, llmtest.Status(http.StatusTooManyRequests, 0), llmtest.Reset(), llmtest.HugeCall("find", "q"), llmtest.BrokenCall("find"), llmtest.Status(400, 0))
	if got, err := m.Converse(t.Context(), f.scope, dialogue()); err != nil || len(got.Turn.Calls) != 1 || len(got.Turn.Calls[0].Arguments) < 1<<20 || got.Requests != 3 {
		t.Errorf("%d calls, %d requests, %v", len(got.Turn.Calls), got.Requests, err)
	}
	if got, err := m.Converse(t.Context(), f.scope, dialogue()); err != nil || !strings.HasSuffix(got.Turn.Calls[0].Arguments, "cut o") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := m.Converse(t.Context(), f.scope, dialogue()); !fault.Is(err, fault.ModelFailed) {
		t.Errorf("refused: %v", err)
	}
	f.srv.Always(llmtest.Tool, llmtest.Status(500, time.Millisecond))
	if _, err := m.Converse(t.Context(), f.scope, dialogue()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("failed: %v", err)
	}
}
