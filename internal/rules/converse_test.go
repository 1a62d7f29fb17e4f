package rules

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// Without a model, rules choose the tools: look up a question, keep what a person says about themselves,
// archive a long text, reply.
func TestConverse(t *testing.T) {
	t.Parallel()
	a, s := New(), grant.Scope(uuid.New(), uuid.Nil, "test")
	var tools []memory.Tool
	for _, name := range []string{"send_message", "core_memory_append", "conversation_search", "archival_insert", "archival_search"} {
		tools = append(tools, memory.Tool{Name: name})
	}
	found := "Page 1 of 1: 2 messages, by their words, best first.\n" + `{"time":"2026-01-03 10:00","role":"user","content":"Where did I park?"}` + "\n" + `{"time":"2026-01-02 10:00","role":"user","content":"I parked on level 3."}`
	for _, c := range []struct {
		said    string
		results []string // of the calls so far
		want    string
		args    string
	}{
		{"Where did I park?", nil, "conversation_search", "Where did I park?"},
		{"Where did I park?", []string{found}, "send_message", "2026-01-02: I parked on level 3."},
		{"Where did I park?", []string{"Page 1 of 1: no messages found."}, "archival_search", "request_heartbeat"},
		{"Where did I park?", []string{"Page 1 of 1: no messages found.", "Page 1 of 1: no passages found."}, "send_message", "nothing about that"},
		{"My name is Ada.", nil, "core_memory_append", `"label":"human"`},
		{"My name is Ada.", []string{"My name is Ada."}, "send_message", "Noted"},
		{strings.Repeat("Long story. ", 60), nil, "archival_insert", "Long story"},
		{"Good morning", nil, "send_message", "No model is configured"},
	} {
		d := memory.Dialogue{Tools: tools, Turns: []memory.Turn{{Role: memory.RoleSystem, Text: "x"}, {Role: memory.RoleUser, Text: c.said}}}
		for _, result := range c.results {
			got, err := a.Converse(t.Context(), s, d)
			if err != nil {
				t.Fatal(err)
			}
			got.Turn.Calls[0].ID = uuid.NewString()
			d.Turns = append(d.Turns, got.Turn, memory.Turn{Role: memory.RoleTool, Answers: got.Turn.Calls[0].ID, Text: result})
		}
		got, err := a.Converse(t.Context(), s, d)
		if err != nil || got.Analyst != memory.AnalystHeuristic || len(got.Turn.Calls) != 1 || got.Turn.Calls[0].Name != c.want || !strings.Contains(got.Turn.Calls[0].Arguments, c.args) {
			t.Errorf("%.30q after %d results: %+v, %v", c.said, len(c.results), got.Turn, err)
		}
	}
	got, err := a.Converse(t.Context(), s, memory.Dialogue{Turns: []memory.Turn{{Role: memory.RoleUser, Text: "Where?"}}})
	if err != nil || got.Turn.Text == "" || len(got.Turn.Calls) != 0 {
		t.Errorf("without tools: %+v, %v", got, err)
	}
}
