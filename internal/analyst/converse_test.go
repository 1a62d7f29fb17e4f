package analyst

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// step returns what is called after some results of calls, which the exchange begins with.
func step(t *testing.T, said string, results ...string) memory.Turn {
	t.Helper()
	d := memory.Dialogue{Turns: []memory.Turn{{Role: memory.RoleSystem, Text: "x"}, {Role: memory.RoleUser, Text: said}}}
	for _, name := range []string{toolSend, toolRecall, toolArchive, toolArchival, "core_memory_append"} {
		d.Tools = append(d.Tools, memory.Tool{Name: name})
	}
	for i := 0; ; i++ {
		got, err := New().Converse(t.Context(), grant.Scope(uuid.New(), uuid.Nil, "test"), d)
		if err != nil || got.Analyst != memory.AnalystHeuristic {
			t.Fatal(got, err)
		}
		if i == len(results) {
			return got.Turn
		}
		if len(got.Turn.Calls) != 1 {
			t.Fatalf("%q after %d results: %+v", said, i, got.Turn)
		}
		got.Turn.Calls[0].ID = uuid.NewString()
		d.Turns = append(d.Turns, got.Turn, memory.Turn{Role: memory.RoleTool, Answers: got.Turn.Calls[0].ID, Text: results[i]},
			memory.Turn{Role: memory.RoleUser, Text: "<event type=\"alert\">\nThe window is nearly full. What do you keep?\n</event>"})
	}
}

// TestConverse: a question is looked up and answered with what was found, a long text is archived, anything else is
// noted. An alert between two steps is not a question, and neither is what begins a run by itself.
func TestConverse(t *testing.T) {
	t.Parallel()
	found := "Page 1 of 1: 2 messages, by their words, best first.\n" + `{"time":"2026-01-03 10:00","role":"user","content":"Where is the car?"}` + "\n" + `{"time":"2026-01-02 10:00","role":"user","content":"I parked on level 3."}`
	archived := `{"time":"2026-01-01 10:00","content":"The dog is at Anna's."}`
	nothing := "Page 1 of 1: no messages found."
	for _, c := range []struct {
		said    string
		results []string
		want    string
		args    string
	}{
		{"Where did I park?", nil, toolRecall, "Where did I park?"},
		{"I am bored. Where did I park? Somewhere.", nil, toolRecall, `"query":"Where did I park?"`},
		{"我的车停在哪里？", nil, toolRecall, "我的车停在哪里"},
		{"Where did I park?", []string{found}, toolArchival, argumentAgain},
		{"Where did I park?", []string{found, nothing}, toolSend, "2026-01-02: I parked on level 3."},
		{"Where is the dog?", []string{found, archived}, toolSend, `\n- 2026-01-01: The dog is at Anna's.\n- 2026-01-02: I parked`},
		{"Where did I park?", []string{nothing}, toolArchival, argumentAgain},
		{"Where did I park?", []string{nothing, nothing}, toolSend, "nothing about that"},
		{"My name is Ada.", nil, toolSend, "Noted"},
		{strings.Repeat("Long story. ", 60), nil, toolArchive, "Long story"},
		{strings.Repeat("Long story. ", 60), []string{"id"}, toolSend, "Noted"},
		{"<event type=\"heartbeat\">\nIs there something to do?\n</event>", nil, toolSend, "Noted"},
		{"<event type=\"timer\">\nDid you call?\n</event>", nil, toolSend, "Noted"},
		{"Where did I park?", []string{found, "Error: the call was denied"}, toolSend, "level 3"},
	} {
		got := step(t, c.said, c.results...)
		if len(got.Calls) != 1 || got.Calls[0].Name != c.want || !strings.Contains(got.Calls[0].Arguments, c.args) {
			t.Errorf("%.30q after %d results: %+v", c.said, len(c.results), got)
		}
	}
	if got := step(t, "Where did I park?", found, nothing, "delivered"); len(got.Calls) > 0 || got.Text != "" {
		t.Errorf("it was answered, and yet: %+v", got)
	}
	got, err := New().Converse(t.Context(), grant.Scope(uuid.New(), uuid.Nil, "test"), memory.Dialogue{Turns: []memory.Turn{{Role: memory.RoleUser, Text: "Where?"}}})
	if err != nil || got.Turn.Text == "" || len(got.Turn.Calls) != 0 {
		t.Errorf("without tools: %+v, %v", got, err)
	}
}
