package letta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestRulesComeBackAsExported(t *testing.T) {
	t.Parallel()
	rules := []memory.ToolRule{
		{Tool: "conversation_search", Rule: memory.RuleFirst}, {Tool: "archival_insert", Rule: memory.RuleLast},
		{Tool: "send_message", Rule: memory.RuleAfter, After: []string{"archival_search", "grep_files"}}, {Tool: "memory_insert", Rule: memory.RuleMost, Most: 3},
	}
	approve := []string{"archival_insert"}
	out := &left{}
	back, approved := importRules(exportRules(rules, approve), "tool_rules", out)
	slices.SortFunc(back, func(a, b memory.ToolRule) int {
		at := func(r memory.ToolRule) int {
			return slices.IndexFunc(rules, func(o memory.ToolRule) bool { return o.Tool == r.Tool })
		}
		return at(a) - at(b)
	})
	if !reflect.DeepEqual(back, rules) || !reflect.DeepEqual(approved, approve) || len(out.list) > 0 {
		t.Errorf("back are %v, %v; left %v", back, approved, out.list)
	}
	for name, c := range map[string]struct {
		given string
		want  []memory.ToolRule
		left  int
	}{
		"a reply ends a run":     {`[{"tool_name":"send_message","type":"exit_loop"}]`, nil, 0},
		"another end":            {`[{"tool_name":"archival_memory_insert","type":"exit_loop"}]`, []memory.ToolRule{{Tool: "archival_insert", Rule: memory.RuleLast}}, 1},
		"required":               {`[{"tool_name":"x","type":"required_before_exit"}]`, []memory.ToolRule{{Tool: "x", Rule: memory.RuleLast}}, 1},
		"children":               {`[{"tool_name":"x","type":"constrain_child_tools","children":["y"]}]`, nil, 1},
		"by result":              {`[{"tool_name":"x","type":"conditional","child_output_mapping":{"a":"b"}}]`, nil, 1},
		"continue":               {`[{"tool_name":"x","type":"continue_loop"}]`, nil, 1},
		"no name":                {`[{"type":"run_first"}]`, nil, 1},
		"a limit of zero":        {`[{"tool_name":"x","type":"max_count_per_step","max_count_limit":0}]`, nil, 1},
		"twice":                  {`[{"tool_name":"x","type":"run_first"},{"tool_name":"x","type":"run_first"}]`, []memory.ToolRule{{Tool: "x", Rule: memory.RuleFirst}}, 0},
		"arguments in the rule":  {`[{"tool_name":"x","type":"run_first","args":{"a":1}}]`, []memory.ToolRule{{Tool: "x", Rule: memory.RuleFirst}}, 1},
		"one child, two parents": {`[{"tool_name":"x","type":"parent_last_tool","children":["z"]},{"tool_name":"y","type":"parent_last_tool","children":["z"]}]`, []memory.ToolRule{{Tool: "z", Rule: memory.RuleAfter, After: []string{"x", "y"}}}, 0},
	} {
		var list []rulePart
		must.Do(t, json.Unmarshal([]byte(c.given), &list))
		out := &left{}
		if got, _ := importRules(list, "tool_rules", out); !reflect.DeepEqual(got, c.want) || len(out.list) != c.left {
			t.Errorf("%s: %v, left %v", name, got, out.list)
		}
	}
}

// message returns a message of a file.
func message(role, text, at string) string {
	return fmt.Sprintf(`{"id":"message-0","role":%q,"content":[{"type":"text","text":%q}],"created_at":%q}`, role, text, at)
}

// read reads the messages of a file with one agent.
func read(t *testing.T, agent string) (*reader, error) {
	t.Helper()
	out := &left{}
	a := must.Get(parse([]byte(`{"agents":[`+agent+`],"blocks":[],"tools":[]}`), "", out))(t)
	c := &memory.Collection{ID: uuid.MustParse("0190a000-0000-7000-8000-000000000001"), CreatedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	r := newReader(c, time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), a, "messages", out)
	err := r.read(a)
	return r, err
}

func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`{"id":"m","role":"user","content":"x"},`, maxMessages)
	for name, c := range map[string]struct {
		messages string
		code     fault.Code
	}{
		"a role":              {message("robot", "x", "2025-01-01T00:00:00Z"), fault.Invalid},
		"a time":              {message("user", "x", "yesterday"), fault.Invalid},
		"the future":          {message("user", "x", "3000-01-01T00:00:00Z"), fault.Invalid},
		"the far past":        {message("user", "x", "1800-01-01T00:00:00Z"), fault.Invalid},
		"content of a number": {`{"id":"m","role":"user","content":7}`, fault.Invalid},
		"a part as text":      {`{"id":"m","role":"user","content":["x"]}`, fault.Invalid},
		"too many":            {many + `{"id":"m","role":"user","content":"x"}`, fault.TooLarge},
	} {
		if _, err := read(t, `{"id":"agent-0","messages":[`+c.messages+`]}`); !fault.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	const some = 10_000 // more than one millisecond has ids
	list := strings.TrimSuffix(strings.Repeat(`{"id":"m","role":"user","content":"x"},`, some), ",")
	r, err := read(t, `{"id":"agent-0","messages":[`+list+`]}`)
	if err != nil || len(r.lines) != some {
		t.Fatalf("%d messages, %v", len(r.lines), err)
	}
	last := ""
	for _, l := range r.lines {
		id, _ := l[lineID].(string)
		if id <= last {
			t.Fatalf("the id %s follows %s", id, last)
		}
		last = id
	}
	if again, err := read(t, `{"id":"agent-0","messages":[`+list+`]}`); err != nil || again.lines[0][lineID] != r.lines[0][lineID] || again.lines[some-1][lineID] != last {
		t.Errorf("reading it again gives other ids (%v)", err)
	}
}

// What Letta packs is unpacked, and what has no text is left out and counted.
func TestMessagesAreUnpacked(t *testing.T) {
	t.Parallel()
	call := `{"id":"m1","role":"assistant","content":[{"type":"text","text":"Hm."},{"type":"reasoning","reasoning":"secret thoughts"}],` +
		`"tool_calls":[{"id":"c1","type":"function","function":{"name":"send_message","arguments":"{\"message\":\"Hello Ann.\"}"}},` +
		`{"id":"c2","type":"function","function":{"name":"archival_memory_search","arguments":"{\"query\":\"x\"}"}}],"created_at":"2025-01-01T00:00:01"}`
	r := must.Get(read(t, `{"id":"agent-0","in_context_message_ids":["m0","s","m3"],"messages":[
		{"id":"m0","role":"system","content":"The prompt.","created_at":"2025-01-01T00:00:00"},
		{"id":"u","role":"user","content":"{\"type\":\"user_message\",\"message\":\"I am Ann.\",\"time\":\"x\"}","created_at":"2025-01-01T00:00:00.5+01:00"},
		`+call+`,
		{"id":"m2","role":"tool","content":[{"type":"text","text":"{\"status\":\"OK\",\"message\":\"found\",\"time\":\"x\"}"}],"tool_call_id":"c2","created_at":"2025-01-01T00:00:02"},
		{"id":"m2b","role":"tool","content":null,"tool_returns":[{"tool_call_id":"c1","status":"success","func_response":"ok"},{"tool_call_id":"c2","status":"error","func_response":null}]},
		{"id":"s","role":"user","content":"{\"type\":\"system_alert\",\"message\":\"Note: hidden.\\nThe following is a summary of the previous 3 messages:\\n I met Ann.\",\"time\":\"x\"}","created_at":"2025-01-01T00:00:03"},
		{"id":"m3","role":"assistant","content":"Bye.","created_at":"2025-01-01T00:00:04"},
		{"id":"m4","role":"approval","content":null,"created_at":"2025-01-01T00:00:05"},
		{"id":"m5","role":"assistant","content":[],"created_at":"2025-01-01T00:00:05"},
		{"id":"m6","role":"user","content":"`+strings.Repeat("long ", 20_000)+`"}]}`))(t)
	var got []string
	for _, l := range r.lines {
		attributes, _ := l[lineAttributes].(map[string]any)
		text, _ := l[lineContent].(string)
		got = append(got, fmt.Sprintf("%v %v %v %.40s", l[lineKind], attributes[memory.AttrRole], attributes[memory.AttrTool], text))
	}
	want := []string{
		"message user <nil> I am Ann.", `message assistant send_message {"text":"Hm.","calls":[{"id":"c1","tool"`, "message assistant send_message Hello Ann.",
		"message tool archival_search found", "message tool send_message ok", "message tool archival_search (empty)", "message assistant <nil> Bye.",
		"message user <nil> long long long long long long long long ", "summary <nil> <nil> I met Ann.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the lines are\n%s", strings.Join(got, "\n"))
	}
	summary, _ := r.lines[len(r.lines)-1][lineAttributes].(map[string]any)
	if summary["through"] != r.lines[5][lineID] {
		t.Errorf("the summary is through %v, want %v", summary["through"], r.lines[5][lineID])
	}
	var said []string
	for _, l := range r.left.sorted() {
		said = append(said, l.Reason)
	}
	if all := strings.Join(said, "\n"); len(said) != 4 || strings.Contains(all, "secret thoughts") || !strings.Contains(all, `1 parts of the type "reasoning"`) {
		t.Errorf("left out are\n%s", all)
	}
	var lines bytes.Buffer
	if _, err := lines.ReadFrom(&lineReader{lines: r.lines}); err != nil || bytes.Count(lines.Bytes(), []byte("\n")) != len(want) {
		t.Errorf("the import has %q (%v)", lines.String()[:200], err)
	}
}
