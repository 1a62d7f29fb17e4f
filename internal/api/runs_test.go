package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// script makes the model answer with turns, one after another; the last one is repeated. It returns the dialogues.
func (b *system) script(turns ...memory.Turn) *[]memory.Dialogue {
	var seen []memory.Dialogue
	b.Model.AnswerTurns(func(d memory.Dialogue) (memory.TurnResult, error) {
		seen = append(seen, d)
		turn := turns[min(len(seen), len(turns))-1]
		return memory.TurnResult{Turn: turn, Analyst: memory.AnalystModel, Model: "scripted", Requests: 1, PromptTokens: 100, CompletionTokens: 10}, nil
	})
	return &seen
}

// calls returns a turn that calls tools: names and arguments in turn.
func (b *system) calls(t *testing.T, pairs ...any) memory.Turn {
	t.Helper()
	turn := memory.Turn{Role: memory.RoleAssistant}
	for i := 0; i < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		arguments, ok := pairs[i+1].(string)
		if !ok {
			given, _ := pairs[i+1].(args)
			arguments = encode(t, given)
		}
		turn.Calls = append(turn.Calls, memory.ToolCall{ID: "x", Name: name, Arguments: arguments})
	}
	return turn
}

// says posts a message and returns the run when it is over.
func (b *system) says(t *testing.T, c, content string) response {
	t.Helper()
	return b.call(t, "one", "POST", c+"/events", encode(t, args{"content": content, "wait": "done"})).want(http.StatusOK)
}

// C124, C128, C131, C156, C157: an event becomes a run. Each turn and each result is committed, a failing tool returns its
// error and gets another step, and a chain of calls runs before the reply. C148: "make test/postgres" runs this and the others
// here on the server database.
func TestRun(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	seen := b.script(
		b.calls(t, "core_memory_append", args{"label": "humman", "content": "x"}),
		b.calls(t, "core_memory_append", args{"label": "human", "content": "Name: Nora", "request_heartbeat": true}, "archival_insert", args{"content": "Nora said hello."}),
		b.calls(t, "send_message", args{"message": "Hello Nora."}))
	run := b.says(t, c, "I am Nora.")
	if run.text("state") != "done" || run.text("stop_reason") != "terminal_tool" || run.text("reply") != "Hello Nora." || run.length("steps") != 4 || run.at("heuristic") != false {
		t.Fatalf("the run is %s", run.Body)
	}
	if !strings.Contains(run.text("steps.0.result"), `there are "human", "persona"`) || run.at("steps.0.ok") != false || run.at("steps.1.ok") != true ||
		run.text("steps.1.result") != "Name: Nora" || run.number("steps.2.index") != 2 || run.text("steps.3.result") != "delivered" || run.number("tokens.prompt") != 300 {
		t.Errorf("the steps are %s", run.Body)
	}
	second := (*seen)[1].Turns
	if last := second[len(second)-1]; last.Role != memory.RoleTool || !strings.HasPrefix(last.Text, "Error: ") {
		t.Errorf("the model saw %+v", second)
	}
	if got := b.call(t, "one", "GET", c+"/blocks/human", "").want(200).text("value"); got != "Name: Nora" {
		t.Errorf("the block has %q", got)
	}
	// C120: all of it is in recall.
	if n := b.call(t, "one", "GET", c+"/messages", "").want(200).length("items"); n != 1+3+4+1 {
		t.Errorf("%d messages", n)
	}
	id := run.text("id")
	if steps := b.call(t, "reader", "GET", c+"/steps?run="+id, "").want(200); steps.length("items") != 4 {
		t.Errorf("steps: %s", steps.Body)
	}
	if list := b.call(t, "reader", "GET", c+"/runs", "").want(200); list.length("items") != 1 || list.length("items.0.steps") != 0 || list.text("items.0.state") != "done" {
		t.Errorf("runs: %s", list.Body)
	}
	stream := b.call(t, "reader", "GET", c+"/runs/"+id, "", "Accept", "text/event-stream").want(200)
	if !strings.HasPrefix(stream.Body.String(), "event: run\ndata: {") || !strings.Contains(stream.Body.String(), `"terminal_tool"`) {
		t.Errorf("streamed %s", stream.Body)
	}
	b.call(t, "one", "POST", c+"/runs/"+id+"/cancel", "").refused(409, fault.Conflict, "")
	b.call(t, "two", "GET", c+"/runs/"+id, "").refused(404, fault.NotFound, "")
	b.call(t, "one", "GET", c+"/runs/"+uuid.NewString(), "").refused(404, fault.NotFound, "")
	b.call(t, "reader", "POST", c+"/events", `{"content":"x"}`).refused(403, fault.Forbidden, "")
	b.call(t, "two", "POST", c+"/events", `{"content":"x"}`).refused(404, fault.NotFound, "")
	plain := b.space(t, "plain", "amem")
	b.call(t, "one", "POST", plain+"/events", `{"content":"x"}`).refused(422, fault.Invalid, "")
	b.call(t, "one", "POST", c+"/events", `{}`).refused(422, fault.Invalid, "content")
	b.call(t, "one", "POST", c+"/events", `{"content":"x","role":"tool"}`).refused(422, fault.Invalid, "role")
}

// Why a run stops: a text, no heartbeat, bounds, a loop, a misbehaving model.
func TestRunStops(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	again := args{"query": "x", "request_heartbeat": true}
	var many []memory.Turn
	for i := range 60 {
		many = append(many, b.calls(t, "conversation_search", args{"query": fmt.Sprint("q", i), "request_heartbeat": true}))
	}
	for name, c := range map[string]struct {
		config string
		turns  []memory.Turn
		stop   string
		steps  int
		says   string // in the run
	}{
		"text":           {`{}`, []memory.Turn{{Text: "Just so."}}, "text", 1, "Just so."},
		"no heartbeat":   {`{}`, []memory.Turn{b.calls(t, "archival_insert", args{"content": "x"})}, "no_heartbeat", 1, ""},
		"max steps":      {`{"max_steps":3}`, many, "max_steps", 3, ""},
		"calls":          {`{"max_calls":5}`, many, "budget", 5, ""},
		"tokens":         {`{"max_tokens":400}`, many, "budget", 4, ""},
		"the same call":  {`{}`, []memory.Turn{b.calls(t, "conversation_search", again)}, "loop", 4, ""},
		"unknown tool":   {`{}`, []memory.Turn{b.calls(t, "rm", `{}`), b.calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, `there is no tool \"rm\"`},
		"1 MB":           {`{}`, []memory.Turn{b.calls(t, "archival_insert", args{"content": strings.Repeat("x", 1<<20)}), b.calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "the arguments have 1048"},
		"broken JSON":    {`{}`, []memory.Turn{b.calls(t, "send_message", `{"message": "cut o`), b.calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "not a JSON object"},
		"wrong types":    {`{}`, []memory.Turn{b.calls(t, "send_message", args{"message": 7}), b.calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "must be a text"},
		"nested":         {`{}`, []memory.Turn{b.calls(t, "send_message", args{"message": args{"request_heartbeat": true}}), b.calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "it is an object"},
		"heartbeat text": {`{}`, []memory.Turn{b.calls(t, "send_message", args{"message": "x", "request_heartbeat": "yes"}), b.calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "request_heartbeat"},
		"NUL":            {`{}`, []memory.Turn{{Text: "a\x00b\xff"}}, "text", 1, "ab"},
		"100 calls":      {`{}`, []memory.Turn{b.calls(t, repeat(100, "archival_search", args{"query": "x"})...)}, "no_heartbeat", 16, ""},
	} {
		made := b.call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"policy":"memgpt","policy_config":%s}`, strings.ToLower(strings.ReplaceAll(name, " ", "-")), c.config)).want(201)
		b.script(c.turns...)
		run := b.says(t, "/v1/collections/"+made.text("id"), "Hello")
		if run.text("state") != "done" || run.text("stop_reason") != c.stop || run.length("steps") != c.steps || !strings.Contains(run.Body.String(), c.says) || run.Body.Len() > 100_000 {
			t.Errorf("%s: %.600s", name, run.Body)
		}
	}
}

func repeat(n int, tool string, arguments args) (out []any) {
	for range n {
		out = append(out, tool, arguments)
	}
	return out
}

// A run that takes too long ends. The time in which it waits for an approval does not count.
func TestRunDeadline(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.agentWith(t, "slow", `{"max_seconds":60}`)
	n := 0
	b.converse(func(memory.Dialogue) memory.Turn {
		b.Pass(25 * time.Second)
		n++
		return b.calls(t, "conversation_search", args{"query": fmt.Sprint(n), "request_heartbeat": true})
	})
	if run := b.says(t, c, "Hello"); run.text("stop_reason") != "deadline" || run.length("steps") != 4 {
		t.Errorf("the run is %s", run.Body)
	}
}

// Without a model the loop looks up what is asked, and says so. A search finds what was said before, and not the
// question itself; blocks are left alone.
func TestRunWithoutModel(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	if run := b.says(t, c, "My name is Nora and I live in Lisbon."); run.at("heuristic") != true || run.text("stop_reason") != "terminal_tool" {
		t.Errorf("the run is %s", run.Body)
	}
	b.says(t, c, "I have two cats, Biscuit and Plum.")
	if got := b.call(t, "one", "GET", c+"/blocks/human", "").want(200).text("value"); got != "" {
		t.Errorf("the block has %q", got)
	}
	for question, want := range map[string]string{"Where do I live?": "I live in Lisbon.", "Which pets do I own?": "Biscuit and Plum", "我的猫叫什么？": "Biscuit and Plum"} {
		if run := b.says(t, c, question); !strings.Contains(run.text("reply"), want) {
			t.Errorf("the reply to %q is %s", question, run.Body)
		}
	}
	messages := b.call(t, "one", "GET", c+"/notes?kind=message", "").want(200)
	if !strings.Contains(messages.Body.String(), `"analyst":"heuristic"`) {
		t.Error("turns of rules are not marked")
	}
}

// C130: an alert, a timer and a heartbeat trigger a run too, and are shown as text. A timer waits for its time.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	seen := b.script(memory.Turn{Text: "Done."})
	for _, kind := range []string{"alert", "timer", "heartbeat"} {
		run := b.call(t, "one", "POST", c+"/events", fmt.Sprintf(`{"type":%q,"content":"Look </event> here","wait":"done"}`, kind)).want(200)
		last := (*seen)[len(*seen)-1].Turns
		if run.text("type") != kind || last[len(last)-1].Role != memory.RoleUser || !strings.Contains(last[len(last)-1].Text, fmt.Sprintf("<event type=%q>\nLook <\\/event> here", kind)) {
			t.Errorf("%s: the model saw %+v", kind, last)
		}
	}
	b.call(t, "one", "POST", c+"/events", `{"type":"heartbeat","wait":"done"}`).want(200)
	before := len(*seen)
	at := func(d time.Duration) string { return b.Clock().Add(d).Format(time.RFC3339) }
	later := b.call(t, "one", "POST", c+"/events", fmt.Sprintf(`{"type":"timer","content":"Call Ada","at":%q}`, at(time.Hour))).want(202)
	if later.at("run") != nil {
		t.Errorf("a timer answers %s", later.Body)
	}
	if _, err := b.Work(t.Context()); err != nil || len(*seen) != before {
		t.Errorf("the timer fired early: %v", err)
	}
	b.Pass(61 * time.Minute)
	if _, err := b.Work(t.Context()); err != nil || len(*seen) != before+1 {
		t.Errorf("the timer did not fire: %d, %v", len(*seen)-before, err)
	}
	if run := b.call(t, "one", "GET", c+"/runs?limit=1", "").want(200); run.text("items.0.type") != "timer" || run.text("items.0.state") != "done" {
		t.Errorf("the timer's run is %s", run.Body)
	}
	for _, bad := range []string{at(-time.Hour), "3000-01-01T00:00:00Z"} {
		b.call(t, "one", "POST", c+"/events", fmt.Sprintf(`{"type":"timer","at":%q}`, bad)).refused(422, fault.Invalid, "at")
	}
	b.call(t, "one", "POST", c+"/events", fmt.Sprintf(`{"content":"x","at":%q}`, at(time.Hour))).refused(422, fault.Invalid, "at")
}

// C153: a call that a rule forbids is not run, and the model reads which ones are allowed.
func TestToolRules(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	config := `{"tool_rules":[{"tool":"conversation_search","rule":"first"},{"tool":"archival_insert","rule":"after","after":["archival_search"]},` +
		`{"tool":"archival_search","rule":"most","most":1},{"tool":"send_message","rule":"last"}]}`
	made := b.call(t, "one", "POST", "/v1/collections", `{"name":"ruled","policy":"memgpt","policy_config":`+config+`}`).want(201)
	c := "/v1/collections/" + made.text("id")
	seen := b.script(
		b.calls(t, "archival_search", args{"query": "x"}),                                // not first
		b.calls(t, "conversation_search", args{"query": "x", "request_heartbeat": true}), // allowed
		b.calls(t, "archival_insert", args{"content": "x"}),                              // not before archival_search
		b.calls(t, "archival_search", args{"query": "x", "request_heartbeat": true}),     // allowed
		b.calls(t, "archival_search", args{"query": "y"}),                                // once too often
		b.calls(t, "archival_insert", args{"content": "x"}),                              // allowed, but no end
		b.calls(t, "send_message", args{"message": "Done.", "request_heartbeat": true}))  // the end
	run := b.says(t, c, "Hello")
	if run.text("stop_reason") != "terminal_tool" || run.length("steps") != 7 {
		t.Fatalf("the run is %s", run.Body)
	}
	for i, want := range map[int]string{
		0: "a run begins with conversation_search. Allowed now: conversation_search", 2: "only after archival_search", 4: "at most 1 times in a run",
	} {
		if got := run.text(fmt.Sprintf("steps.%d.result", i)); run.at(fmt.Sprintf("steps.%d.ok", i)) != false || !strings.Contains(got, want) {
			t.Errorf("step %d: %s", i, got)
		}
	}
	if (*seen)[0].Choice != memory.ChooseRequired {
		t.Error("the first turn need not call a tool")
	}
	last := (*seen)[6].Turns
	if !strings.Contains(last[len(last)-1].Text, "end with send_message") {
		t.Errorf("the model was not told how to end: %+v", last[len(last)-1])
	}
	for _, bad := range []string{`[{"tool":"x","rule":"never"}]`, `[{"rule":"first"}]`, `[{"tool":"x","rule":"after"}]`, `[{"tool":"x","rule":"most"}]`, `{}`, `[7]`} {
		b.call(t, "one", "POST", "/v1/collections", `{"name":"bad","policy":"memgpt","policy_config":{"tool_rules":`+bad+`}}`).want(422)
	}
}

// C155: a call waits for approval; the run continues with it, or with its denial. A waiting run has no job.
func TestApprovals(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	made := b.call(t, "one", "POST", "/v1/collections", `{"name":"careful","policy":"memgpt","policy_config":{"approve":["archival_insert"]}}`).want(201)
	c := "/v1/collections/" + made.text("id")
	insert := func(content string) []any {
		return []any{"archival_insert", args{"content": content, "request_heartbeat": true}}
	}
	b.script(b.calls(t, append(insert("one"), insert("two")...)...), b.calls(t, "send_message", args{"message": "Stored what you allowed."}))
	run := b.says(t, c, "Store two things.")
	if run.text("state") != "requires_action" || run.text("required_calls.1.answer") != "approval" || run.length("steps") != 2 || run.at("steps.0.result") != nil {
		t.Fatalf("the run is %s", run.Body)
	}
	open := b.call(t, "reader", "GET", c+"/calls", "").want(200)
	if open.length("items") != 2 || open.text("items.0.tool") != "archival_insert" || open.text("items.0.run") != run.text("id") {
		t.Fatalf("the calls are %s", open.Body)
	}
	b.Pass(100 * time.Hour)
	// Another message is answered meanwhile.
	b.script(memory.Turn{Text: "Still waiting."})
	if other := b.says(t, c, "Are you there?"); other.text("state") != "done" {
		t.Errorf("the other run is %s", other.Body)
	}
	seen := b.script(b.calls(t, "send_message", args{"message": "Stored what you allowed."}))
	first, second := open.text("items.0.id"), open.text("items.1.id")
	decide := func(credential, call string, answer args) response {
		answer["call"] = call
		return b.call(t, credential, "POST", c+"/runs/"+run.text("id")+"/results", encode(t, args{"results": []args{answer}}))
	}
	decide("reader", first, args{"approve": true}).refused(403, fault.Forbidden, "")
	decide("two", first, args{"approve": true}).refused(404, fault.NotFound, "")
	decide("one", first, args{"result": "stored"}).refused(422, fault.Invalid, "results.0.approve")
	decide("one", first, args{"approve": true}).want(200)
	decide("one", first, args{"approve": true}).want(200)
	decide("one", first, args{"approve": false, "error": "no"}).refused(409, fault.Conflict, "")
	if _, err := b.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	half := b.call(t, "one", "GET", c+"/runs/"+run.text("id"), "").want(200)
	if half.text("state") != "requires_action" || half.at("steps.0.ok") != true || half.at("steps.1.result") != nil {
		t.Fatalf("after one answer the run is %s", half.Body)
	}
	b.call(t, "one", "POST", "/v1/reviews/"+second+"/reject", `{"reason":"too private"}`).want(200)
	if _, err := b.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := b.call(t, "one", "GET", c+"/runs/"+run.text("id"), "").want(200)
	if whole.text("stop_reason") != "terminal_tool" || !strings.Contains(whole.text("steps.1.result"), "denied: too private") {
		t.Errorf("the run is %s", whole.Body)
	}
	turns := (*seen)[0].Turns
	if n := len(turns); turns[n-1].Role != memory.RoleTool || turns[n-3].Role != memory.RoleAssistant || len(turns[n-3].Calls) != 2 {
		t.Errorf("the model saw %+v", turns)
	}
	if n := b.call(t, "one", "GET", c+"/notes?kind=passage", "").want(200).length("items"); n != 1 {
		t.Errorf("%d passages", n)
	}
	// A run that waits can be canceled.
	b.script(b.calls(t, insert("three")...))
	waits := b.says(t, c, "Store a third.")
	got := b.call(t, "one", "POST", c+"/runs/"+waits.text("id")+"/cancel", "").want(200)
	if got.text("state") != "cancelled" || b.call(t, "one", "GET", c+"/calls", "").want(200).length("items") != 0 {
		t.Errorf("canceled: %s", got.Body)
	}
}

// C139: a supervisor and a worker share a block of their organization; what one writes, the other reads at its next step.
func TestSupervisorAndWorker(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	boss, worker := b.agentWith(t, "supervisor", `{}`), b.agentWith(t, "worker", `{}`)
	made := b.call(t, "one", "POST", "/v1/blocks", `{"label":"plan","value":"Nothing yet."}`).want(201)
	for _, c := range []string{boss, worker} {
		b.call(t, "one", "POST", c+"/blocks/attach", encode(t, args{"block": made.text("id")})).want(200)
	}
	b.script(b.calls(t, "core_memory_replace", args{"label": "plan", "old": "Nothing yet.", "new": "Count the boats.", "request_heartbeat": true}), b.calls(t, "send_message", args{"message": "Planned."}))
	run := b.says(t, boss, "Plan the day.")
	if run.text("reply") != "Planned." || run.text("steps.0.result") != "Count the boats." || run.at("steps.0.ok") != true {
		t.Fatalf("the supervisor's run is %s", run.Body)
	}
	seen := b.script(b.calls(t, "core_memory_append", args{"label": "plan", "content": "Done: 42.", "request_heartbeat": true}), b.calls(t, "send_message", args{"message": "Counted."}))
	b.says(t, worker, "Go on.")
	if !strings.Contains((*seen)[0].Turns[0].Text, "Count the boats.") {
		t.Error("the worker does not see the plan")
	}
	if n := b.call(t, "one", "GET", boss+"/messages", "").want(200).length("items"); n != 1+2+2+1 {
		t.Errorf("the supervisor has %d messages", n)
	}
	if got := b.call(t, "one", "GET", boss+"/blocks/plan", "").want(200).text("value"); got != "Count the boats.\nDone: 42." {
		t.Errorf("the plan is %q", got)
	}
}

// A chat with an agent is a run; as a stream, it shows what the agent says. One that is not remembered is no run.
func TestChatIsARun(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	b.script(b.calls(t, "send_message", args{"message": "Let me see.", "request_heartbeat": true}), b.calls(t, "send_message", args{"message": "Hello Nora."}))
	got := b.call(t, "one", "POST", c+"/chat", `{"message":"I am Nora."}`).want(200)
	if got.text("reply") != "Let me see.\n\nHello Nora." || got.at("offline") != nil || got.at("remembered") != true {
		t.Errorf("the chat answered %s", got.Body)
	}
	if run := b.call(t, "one", "GET", c+"/runs/"+got.text("run"), "").want(200); run.text("stop_reason") != "terminal_tool" {
		t.Errorf("its run is %s", run.Body)
	}
	b.script(b.calls(t, "send_message", args{"message": "Yes."}))
	stream := b.call(t, "one", "POST", c+"/chat", `{"messages":[{"role":"user","content":"Again?"}],"stream":true}`).want(200).Body.String()
	if !strings.Contains(stream, "event: delta\ndata: {\"text\":\"Yes.\"}") || !strings.Contains(stream, "event: done\ndata: {") {
		t.Errorf("streamed %s", stream)
	}
	if got := b.call(t, "one", "POST", c+"/chat", `{"message":"Who am I?","remember":false}`).want(200); got.at("run") != nil {
		t.Errorf("a chat that is not remembered answered %s", got.Body)
	}
	b.Model.AnswerTurns(func(memory.Dialogue) (memory.TurnResult, error) {
		return memory.TurnResult{}, fault.New(fault.Invalid, "the request is refused")
	})
	b.call(t, "one", "POST", c+"/chat", `{"message":"Hello?"}`).refused(502, fault.ModelFailed, "")
}

// A run that ended after its messages were read is read again: one that is done has its reply.
func TestRunReadLate(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "late", "memgpt")
	b.script(b.calls(t, "send_message", args{"message": "Hello."}))
	posted := b.call(t, "one", "POST", c+"/events", `{"content":"Hi."}`).want(http.StatusAccepted)
	s := b.Scopes["one"].Scope
	before, err := b.Store.OpenView(t.Context(), s, strings.TrimPrefix(c, "/v1/collections/"), memory.At{})
	if err != nil {
		t.Fatal(err)
	}
	b.runJobs(t)
	run, err := b.Agent.Run(t.Context(), s, before, uuid.MustParse(posted.text("run")))
	if err != nil || run.State != "done" || run.Reply != "Hello." {
		t.Errorf("the run is %+v (%v)", run, err)
	}
}
