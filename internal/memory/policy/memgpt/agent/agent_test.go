package agent

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// item returns a message of the queue.
func item(run uuid.UUID, turn memory.Turn, attributes map[string]any) queued {
	n := memory.Note{ID: uuid.Must(uuid.NewV7()), Kind: memory.KindMessage, Content: turn.Text, Attributes: map[string]any{memory.AttrRole: string(turn.Role)}}
	maps.Copy(n.Attributes, attributes)
	if run != uuid.Nil {
		n.Attributes[memory.AttrRun] = run.String()
	}
	return queued{note: n, turn: turn, size: 10}
}

// event returns the event of a new run.
func event(text string) (queued, uuid.UUID) {
	q := item(uuid.Nil, memory.Turn{Role: memory.RoleUser, Text: text}, nil)
	q.note.Attributes[memory.AttrRun], q.note.Attributes[memory.AttrEvent] = q.note.ID.String(), "message"
	return q, q.note.ID
}

func calling(run uuid.UUID, ids ...string) queued {
	t := memory.Turn{Role: memory.RoleAssistant}
	for _, id := range ids {
		t.Calls = append(t.Calls, memory.ToolCall{ID: id, Name: "find"})
	}
	return item(run, t, map[string]any{memory.AttrTool: "find"})
}

func answering(run uuid.UUID, id string) queued {
	return item(run, memory.Turn{Role: memory.RoleTool, Answers: id, Text: "result " + id}, map[string]any{memory.AttrCall: id, memory.AttrTool: "find"})
}

func user(text string) queued {
	return item(uuid.Nil, memory.Turn{Role: memory.RoleUser, Text: text}, nil)
}

func assistant(text string) queued {
	return item(uuid.Nil, memory.Turn{Role: memory.RoleAssistant, Text: text}, nil)
}

// C149, C151: a cut is before a turn of the assistant, never between a call and its result, and there is always one
// when more than one message can be parted from the others.
func TestCutAt(t *testing.T) {
	t.Parallel()
	run := uuid.New()
	for name, c := range map[string]struct {
		list []queued
		keep int
		want int
	}{
		"nothing":                  {nil, 100, 0},
		"all may stay":             {[]queued{user("a"), assistant("b")}, 20, 0},
		"one message":              {[]queued{user("a")}, 0, 0},
		"at an assistant":          {[]queued{user("a"), assistant("b"), user("c"), assistant("d")}, 30, 1},
		"the next assistant":       {[]queued{user("a"), assistant("b"), user("c"), assistant("d")}, 20, 3},
		"an assistant before":      {[]queued{user("a"), assistant("b"), user("c"), user("d")}, 10, 1},
		"no assistant":             {[]queued{user("a"), user("b"), user("c"), user("d")}, 20, 2},
		"inside calls":             {[]queued{user("a"), calling(run, "1", "2"), answering(run, "1"), answering(run, "2"), assistant("b")}, 30, 4},
		"only calls":               {[]queued{user("a"), calling(run, "1"), answering(run, "1")}, 10, 1},
		"a call without a result":  {[]queued{user("a"), calling(run, "1"), user("b"), assistant("c")}, 20, 3},
		"a result without a call":  {[]queued{answering(run, "9"), user("a"), assistant("c"), user("d")}, 20, 2},
		"keep nothing":             {[]queued{user("a"), assistant("b"), user("c")}, 0, 1},
		"a call that begins it":    {[]queued{calling(run, "1"), answering(run, "1")}, 10, 0},
		"a message between a call": {[]queued{user("x"), calling(run, "1"), user("b"), answering(run, "1"), user("c")}, 20, 1},
	} {
		if got := cutAt(c.list, c.keep); got != c.want {
			t.Errorf("%s: %d messages leave, want %d", name, got, c.want)
		}
	}
}

// Turns of runs that came in between each other are shown run by run, each call with its result.
func TestArrange(t *testing.T) {
	t.Parallel()
	first, one := event("first")
	call := calling(one, "1", "2")
	second, two := event("second")
	result := answering(one, "1")
	reply := item(one, memory.Turn{Role: memory.RoleAssistant, Text: "reply"}, nil)
	lost := answering(uuid.New(), "9")
	show := func(turns []memory.Turn) string {
		var out []string
		for _, turn := range turns {
			s := string(turn.Role[:1]) + ":" + strings.ReplaceAll(turn.Text, "\n", " ")
			if turn.Answers != "" {
				s += "@" + turn.Answers
			}
			out = append(out, s)
		}
		return strings.Join(out, " | ")
	}
	list := []queued{lost, first, call, second, result, reply}
	for name, c := range map[string]struct {
		current uuid.UUID
		want    string
	}{
		"the first run":  {one, `u:<event type="result"> result 9 </event> | u:first | a: | t:result 1@1 | t:` + noResult + `@2 | a:reply`},
		"the second run": {two, `u:<event type="result"> result 9 </event> | u:first | a: | t:result 1@1 | t:` + noResult + `@2 | a:reply | u:second`},
		"none":           {uuid.Nil, `u:<event type="result"> result 9 </event> | u:first | a: | t:result 1@1 | t:` + noResult + `@2 | a:reply | u:second`},
	} {
		if got := show(arrange(list, c.current)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// What a model wrote is stored so that it can be sent again: with ids of its own, valid arguments, and bounds.
func TestStoreTurn(t *testing.T) {
	t.Parallel()
	run := uuid.New()
	said := memory.Turn{Text: "a\x00b"}
	for _, arguments := range []string{`{"a":1}`, ``, `[1]`, `{"a":`, `{"a":"` + strings.Repeat("x", 5_000) + `"}`} {
		said.Calls = append(said.Calls, memory.ToolCall{ID: "same", Name: strings.Repeat("n", 1_000), Arguments: arguments})
	}
	for range 30 {
		said.Calls = append(said.Calls, memory.ToolCall{Name: "x"})
	}
	got := storeTurn(said, run, 7, 3_000)
	if got.Text != "ab" || len(got.Calls) != maxCalls {
		t.Fatalf("%q, %d calls", got.Text, len(got.Calls))
	}
	seen := map[string]bool{}
	for i, c := range got.Calls {
		if seen[c.ID] || len(c.ID) > 40 || len(c.Tool) > 4*maxToolName {
			t.Errorf("call %d is %+v", i, c)
		}
		seen[c.ID] = true
		if wrong := i == 2 || i == 3 || i == 4; wrong != (c.Problem != "") || wrong && c.Arguments != "{}" {
			t.Errorf("call %d: %q, %q", i, c.Arguments, c.Problem)
		}
	}
}

// A count is found out once, and what is not asked for any more is forgotten.
func TestTokensAreCountedOnce(t *testing.T) {
	t.Parallel()
	c, asked := newCounts(), 0
	count := func(text string) int { return c.of(text, func() int { asked++; return len(text) }) }
	const kept = "this text is asked for again and again"
	for i := range 3 * maxCounts {
		if got := count(fmt.Sprintf("a text of its own, number %d", i)); got < 26 {
			t.Fatalf("%d", got)
		}
		if i%1000 == 0 && count(kept) != len(kept) {
			t.Fatal("another count")
		}
	}
	if asked != 3*maxCounts+1 {
		t.Errorf("%d counts for %d texts", asked, 3*maxCounts+1)
	}
	if len(c.young)+len(c.old) > 2*maxCounts {
		t.Errorf("%d counts are kept", len(c.young)+len(c.old))
	}
}

// C146: what is summed up are texts: of a turn its own text and what it sends, and no call, id or alert.
func TestSaidIn(t *testing.T) {
	t.Parallel()
	run := uuid.New()
	stored := must.Get(TurnContent(memory.Turn{Text: "One moment.", Calls: []memory.ToolCall{
		{ID: "1", Name: "core_memory_append", Arguments: `{"label":"human","content":"x"}`}, {ID: "2", Name: toolSend, Arguments: `{"message":"Good evening."}`},
	}}))(t)
	turn := func(role memory.Role, content string, attributes map[string]any) queued {
		return item(run, memory.Turn{Role: role, Text: content}, attributes)
	}
	for name, c := range map[string]struct {
		q    queued
		want string
	}{
		"a person":   {user("Plum died."), "Plum died."},
		"a turn":     {turn(memory.RoleAssistant, stored, map[string]any{memory.AttrTool: "core_memory_append"}), "One moment.\nGood evening."},
		"a result":   {turn(memory.RoleTool, "42 boats", map[string]any{memory.AttrTool: "find", memory.AttrCall: "1"}), "42 boats"},
		"delivered":  {turn(memory.RoleTool, delivered, map[string]any{memory.AttrTool: toolSend, memory.AttrCall: "2"}), ""},
		"the sent":   {turn(memory.RoleAssistant, "Good evening.", map[string]any{memory.AttrTool: toolSend, memory.AttrCall: "2"}), ""},
		"an alert":   {turn(memory.RoleUser, "Your window is nearly full.", map[string]any{memory.AttrEvent: string(memory.EventAlert)}), ""},
		"other call": {calling(run, "1"), ""},
	} {
		if name == "other call" {
			only := must.Get(TurnContent(memory.Turn{Calls: []memory.ToolCall{{ID: "1", Name: "find", Arguments: `{}`}}}))(t)
			c.q.note.Content = only
		}
		if got, ok := saidIn(&c.q); ok != (c.want != "") || ok && got.Content != c.want {
			t.Errorf("%s: %q", name, got.Content)
		}
	}
}

// The page of a search has those with a word of the query first, then as many of the nearest as it has room for.
func TestWordedFirst(t *testing.T) {
	t.Parallel()
	var found []memory.Note
	worded := map[uuid.UUID]bool{}
	for i := range 12 {
		n := memory.Note{ID: uuid.Must(uuid.NewV7())}
		found, worded[n.ID] = append(found, n), i == 3 || i == 9
	}
	list, _ := wordedFirst(found, worded)
	if len(list) != pageSize || list[0].ID != found[3].ID || list[1].ID != found[9].ID || list[2].ID != found[0].ID {
		t.Errorf("%d found", len(list))
	}
	for _, n := range found[:8] {
		worded[n.ID] = true
	}
	if list, _ := wordedFirst(found, worded); len(list) != 9 {
		t.Errorf("%d of 9 with a word", len(list))
	}
}
