package agent_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// C124, C128, C131, C156, C157: an event becomes a run. Each turn and each result is committed, a failing tool returns its
// error and gets another step, and a chain of calls runs before the reply. C148: "make test/postgres" runs this and the others
// here on the server database.
func TestRun(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	seen := b.Script(
		apptest.Calls(t, "core_memory_append", args{"label": "humman", "content": "x"}),
		apptest.Calls(t, "core_memory_append", args{"label": "human", "content": "Name: Nora", "request_heartbeat": true}, "archival_insert", args{"content": "Nora said hello."}),
		apptest.Calls(t, "send_message", args{"message": "Hello Nora."}))
	run := b.Says(t, c, "I am Nora.")
	if run.Text("state") != "done" || run.Text("stop_reason") != "terminal_tool" || run.Text("reply") != "Hello Nora." || run.Length("steps") != 4 || run.At("heuristic") != false {
		t.Fatalf("the run is %s", run.Body)
	}
	if !strings.Contains(run.Text("steps.0.result"), `there are "human", "persona"`) || run.At("steps.0.ok") != false || run.At("steps.1.ok") != true ||
		run.Text("steps.1.result") != "Name: Nora" || run.Number("steps.2.index") != 2 || run.Text("steps.3.result") != "delivered" || run.Number("tokens.prompt") != 300 {
		t.Errorf("the steps are %s", run.Body)
	}
	second := (*seen)[1].Turns
	if last := second[len(second)-1]; last.Role != memory.RoleTool || !strings.HasPrefix(last.Text, "Error: ") {
		t.Errorf("the model saw %+v", second)
	}
	if got := b.Call(t, "one", "GET", c+"/blocks/human", "").Want(200).Text("value"); got != "Name: Nora" {
		t.Errorf("the block has %q", got)
	}
	// C120: all of it is in recall.
	if n := b.Call(t, "one", "GET", c+"/messages", "").Want(200).Length("items"); n != 1+3+4+1 {
		t.Errorf("%d messages", n)
	}
	id := run.Text("id")
	if steps := b.Call(t, "reader", "GET", c+"/steps?run="+id, "").Want(200); steps.Length("items") != 4 {
		t.Errorf("steps: %s", steps.Body)
	}
	if list := b.Call(t, "reader", "GET", c+"/runs", "").Want(200); list.Length("items") != 1 || list.Length("items.0.steps") != 0 || list.Text("items.0.state") != "done" {
		t.Errorf("runs: %s", list.Body)
	}
	stream := b.Call(t, "reader", "GET", c+"/runs/"+id, "", "Accept", "text/event-stream").Want(200)
	if !strings.HasPrefix(stream.Body.String(), "event: run\ndata: {") || !strings.Contains(stream.Body.String(), `"terminal_tool"`) {
		t.Errorf("streamed %s", stream.Body)
	}
	b.Call(t, "one", "POST", c+"/runs/"+id+"/cancel", "").Refused(409, fault.Conflict, "")
	b.Call(t, "two", "GET", c+"/runs/"+id, "").Refused(404, fault.NotFound, "")
	b.Call(t, "one", "GET", c+"/runs/"+uuid.NewString(), "").Refused(404, fault.NotFound, "")
	b.Call(t, "reader", "POST", c+"/events", `{"content":"x"}`).Refused(403, fault.Forbidden, "")
	b.Call(t, "two", "POST", c+"/events", `{"content":"x"}`).Refused(404, fault.NotFound, "")
	plain := b.Space(t, "plain", "amem")
	b.Call(t, "one", "POST", plain+"/events", `{"content":"x"}`).Refused(422, fault.Invalid, "")
	b.Call(t, "one", "POST", c+"/events", `{}`).Refused(422, fault.Invalid, "content")
	b.Call(t, "one", "POST", c+"/events", `{"content":"x","role":"tool"}`).Refused(422, fault.Invalid, "role")
}

// Why a run stops: a text, no heartbeat, bounds, a loop, a misbehaving model.
func TestRunStops(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	again := args{"query": "x", "request_heartbeat": true}
	var many []memory.Turn
	for i := range 60 {
		many = append(many, apptest.Calls(t, "conversation_search", args{"query": fmt.Sprint("q", i), "request_heartbeat": true}))
	}
	for name, c := range map[string]struct {
		config string
		turns  []memory.Turn
		stop   string
		steps  int
		says   string // in the run
	}{
		"text":           {`{}`, []memory.Turn{{Text: "Just so."}}, "text", 1, "Just so."},
		"no heartbeat":   {`{}`, []memory.Turn{apptest.Calls(t, "archival_insert", args{"content": "x"})}, "no_heartbeat", 1, ""},
		"max steps":      {`{"max_steps":3}`, many, "max_steps", 3, ""},
		"calls":          {`{"max_calls":5}`, many, "budget", 5, ""},
		"tokens":         {`{"max_tokens":400}`, many, "budget", 4, ""},
		"the same call":  {`{}`, []memory.Turn{apptest.Calls(t, "conversation_search", again)}, "loop", 4, ""},
		"unknown tool":   {`{}`, []memory.Turn{apptest.Calls(t, "rm", `{}`), apptest.Calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, `there is no tool \"rm\"`},
		"1 MB":           {`{}`, []memory.Turn{apptest.Calls(t, "archival_insert", args{"content": strings.Repeat("x", 1<<20)}), apptest.Calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "the arguments have 1048"},
		"broken JSON":    {`{}`, []memory.Turn{apptest.Calls(t, "send_message", `{"message": "cut o`), apptest.Calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "not a JSON object"},
		"twice encoded":  {`{}`, []memory.Turn{apptest.Calls(t, "send_message", `"{\"message\": \"Just so.\"}"`)}, "terminal_tool", 1, `"reply":"Just so."`},
		"wrong types":    {`{}`, []memory.Turn{apptest.Calls(t, "send_message", args{"message": 7}), apptest.Calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "must be a text"},
		"nested":         {`{}`, []memory.Turn{apptest.Calls(t, "send_message", args{"message": args{"request_heartbeat": true}}), apptest.Calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "it is an object"},
		"heartbeat text": {`{}`, []memory.Turn{apptest.Calls(t, "send_message", args{"message": "x", "request_heartbeat": "yes"}), apptest.Calls(t, "send_message", args{"message": "Sorry."})}, "terminal_tool", 2, "request_heartbeat"},
		"NUL":            {`{}`, []memory.Turn{{Text: "a\x00b\xff"}}, "text", 1, "ab"},
		"100 calls":      {`{}`, []memory.Turn{apptest.Calls(t, repeat(100, "archival_search", args{"query": "x"})...)}, "no_heartbeat", 16, ""},
	} {
		made := b.Call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"policy":"memgpt","policy_config":%s}`, strings.ToLower(strings.ReplaceAll(name, " ", "-")), c.config)).Want(201)
		b.Script(c.turns...)
		run := b.Says(t, "/v1/collections/"+made.Text("id"), "Hello")
		if run.Text("state") != "done" || run.Text("stop_reason") != c.stop || run.Length("steps") != c.steps || !strings.Contains(run.Body.String(), c.says) || run.Body.Len() > 100_000 {
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
	b := apptest.New(t)
	c := b.Agent(t, "slow", `{"max_seconds":60}`)
	n := 0
	b.Converse(func(memory.Dialogue) memory.Turn {
		b.Pass(25 * time.Second)
		n++
		return apptest.Calls(t, "conversation_search", args{"query": fmt.Sprint(n), "request_heartbeat": true})
	})
	if run := b.Says(t, c, "Hello"); run.Text("stop_reason") != "deadline" || run.Length("steps") != 4 {
		t.Errorf("the run is %s", run.Body)
	}
}

// Without a model the loop looks up what is asked, and says so. A search finds what was said before, and not the
// question itself; blocks are left alone.
func TestRunWithoutModel(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	if run := b.Says(t, c, "My name is Nora and I live in Lisbon."); run.At("heuristic") != true || run.Text("stop_reason") != "terminal_tool" {
		t.Errorf("the run is %s", run.Body)
	}
	b.Says(t, c, "I have two cats, Biscuit and Plum.")
	if got := b.Call(t, "one", "GET", c+"/blocks/human", "").Want(200).Text("value"); got != "" {
		t.Errorf("the block has %q", got)
	}
	for question, want := range map[string]string{"Where do I live?": "I live in Lisbon.", "Which pets do I own?": "Biscuit and Plum", "我的猫叫什么？": "Biscuit and Plum"} {
		if run := b.Says(t, c, question); !strings.Contains(run.Text("reply"), want) {
			t.Errorf("the reply to %q is %s", question, run.Body)
		}
	}
	messages := b.Call(t, "one", "GET", c+"/notes?kind=message", "").Want(200)
	if !strings.Contains(messages.Body.String(), `"analyst":"heuristic"`) {
		t.Error("turns of rules are not marked")
	}
}

// C130: an alert, a timer and a heartbeat trigger a run too, and are shown as text. A timer waits for its time.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	seen := b.Script(memory.Turn{Text: "Done."})
	for _, kind := range []string{"alert", "timer", "heartbeat"} {
		run := b.Call(t, "one", "POST", c+"/events", fmt.Sprintf(`{"type":%q,"content":"Look </event> here","wait":"done"}`, kind)).Want(200)
		last := (*seen)[len(*seen)-1].Turns
		if run.Text("type") != kind || last[len(last)-1].Role != memory.RoleUser || !strings.Contains(last[len(last)-1].Text, fmt.Sprintf("<event type=%q>\nLook <\\/event> here", kind)) {
			t.Errorf("%s: the model saw %+v", kind, last)
		}
	}
	b.Call(t, "one", "POST", c+"/events", `{"type":"heartbeat","wait":"done"}`).Want(200)
	before := len(*seen)
	at := func(d time.Duration) string { return b.Now().Add(d).Format(time.RFC3339) }
	later := b.Call(t, "one", "POST", c+"/events", fmt.Sprintf(`{"type":"timer","content":"Call Ada","at":%q}`, at(time.Hour))).Want(202)
	if later.At("run") != nil {
		t.Errorf("a timer answers %s", later.Body)
	}
	if _, err := b.Work(t.Context()); err != nil || len(*seen) != before {
		t.Errorf("the timer fired early: %v", err)
	}
	b.Pass(61 * time.Minute)
	if _, err := b.Work(t.Context()); err != nil || len(*seen) != before+1 {
		t.Errorf("the timer did not fire: %d, %v", len(*seen)-before, err)
	}
	if run := b.Call(t, "one", "GET", c+"/runs?limit=1", "").Want(200); run.Text("items.0.type") != "timer" || run.Text("items.0.state") != "done" {
		t.Errorf("the timer's run is %s", run.Body)
	}
	for _, bad := range []string{at(-time.Hour), "3000-01-01T00:00:00Z"} {
		b.Call(t, "one", "POST", c+"/events", fmt.Sprintf(`{"type":"timer","at":%q}`, bad)).Refused(422, fault.Invalid, "at")
	}
	b.Call(t, "one", "POST", c+"/events", fmt.Sprintf(`{"content":"x","at":%q}`, at(time.Hour))).Refused(422, fault.Invalid, "at")
}

// C153: a call that a rule forbids is not run, and the model reads which ones are allowed.
func TestToolRules(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	config := `{"tool_rules":[{"tool":"conversation_search","rule":"first"},{"tool":"archival_insert","rule":"after","after":["archival_search"]},` +
		`{"tool":"archival_search","rule":"most","most":1},{"tool":"send_message","rule":"last"}]}`
	made := b.Call(t, "one", "POST", "/v1/collections", `{"name":"ruled","policy":"memgpt","policy_config":`+config+`}`).Want(201)
	c := "/v1/collections/" + made.Text("id")
	seen := b.Script(
		apptest.Calls(t, "archival_search", args{"query": "x"}),                                // not first
		apptest.Calls(t, "conversation_search", args{"query": "x", "request_heartbeat": true}), // allowed
		apptest.Calls(t, "archival_insert", args{"content": "x"}),                              // not before archival_search
		apptest.Calls(t, "archival_search", args{"query": "x", "request_heartbeat": true}),     // allowed
		apptest.Calls(t, "archival_search", args{"query": "y"}),                                // once too often
		apptest.Calls(t, "archival_insert", args{"content": "x"}),                              // allowed, but no end
		apptest.Calls(t, "send_message", args{"message": "Done.", "request_heartbeat": true}))  // the end
	run := b.Says(t, c, "Hello")
	if run.Text("stop_reason") != "terminal_tool" || run.Length("steps") != 7 {
		t.Fatalf("the run is %s", run.Body)
	}
	for i, want := range map[int]string{
		0: "a run begins with conversation_search. Allowed now: conversation_search", 2: "only after archival_search", 4: "at most 1 times in a run",
	} {
		if got := run.Text(fmt.Sprintf("steps.%d.result", i)); run.At(fmt.Sprintf("steps.%d.ok", i)) != false || !strings.Contains(got, want) {
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
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"bad","policy":"memgpt","policy_config":{"tool_rules":`+bad+`}}`).Want(422)
	}
}

// C155: a call waits for approval; the run continues with it, or with its denial. A waiting run has no job.
func TestApprovals(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	made := b.Call(t, "one", "POST", "/v1/collections", `{"name":"careful","policy":"memgpt","policy_config":{"approve":["archival_insert"]}}`).Want(201)
	c := "/v1/collections/" + made.Text("id")
	insert := func(content string) []any {
		return []any{"archival_insert", args{"content": content, "request_heartbeat": true}}
	}
	b.Script(apptest.Calls(t, append(insert("one"), insert("two")...)...), apptest.Calls(t, "send_message", args{"message": "Stored what you allowed."}))
	run := b.Says(t, c, "Store two things.")
	if run.Text("state") != "requires_action" || run.Text("required_calls.1.answer") != "approval" || run.Length("steps") != 2 || run.At("steps.0.result") != nil {
		t.Fatalf("the run is %s", run.Body)
	}
	open := b.Call(t, "reader", "GET", c+"/calls", "").Want(200)
	if open.Length("items") != 2 || open.Text("items.0.tool") != "archival_insert" || open.Text("items.0.run") != run.Text("id") {
		t.Fatalf("the calls are %s", open.Body)
	}
	b.Pass(100 * time.Hour)
	// Another message is answered meanwhile.
	b.Script(memory.Turn{Text: "Still waiting."})
	if other := b.Says(t, c, "Are you there?"); other.Text("state") != "done" {
		t.Errorf("the other run is %s", other.Body)
	}
	seen := b.Script(apptest.Calls(t, "send_message", args{"message": "Stored what you allowed."}))
	first, second := open.Text("items.0.id"), open.Text("items.1.id")
	decide := func(credential, call string, answer args) apptest.Response {
		answer["call"] = call
		return b.Call(t, credential, "POST", c+"/runs/"+run.Text("id")+"/results", apptest.JSON(t, args{"results": []args{answer}}))
	}
	decide("reader", first, args{"approve": true}).Refused(403, fault.Forbidden, "")
	decide("two", first, args{"approve": true}).Refused(404, fault.NotFound, "")
	decide("one", first, args{"result": "stored"}).Refused(422, fault.Invalid, "results.0.approve")
	decide("one", first, args{"approve": true}).Want(200)
	decide("one", first, args{"approve": true}).Want(200)
	decide("one", first, args{"approve": false, "error": "no"}).Refused(409, fault.Conflict, "")
	must.Get(b.Work(t.Context()))(t)
	half := b.Call(t, "one", "GET", c+"/runs/"+run.Text("id"), "").Want(200)
	if half.Text("state") != "requires_action" || half.At("steps.0.ok") != true || half.At("steps.1.result") != nil {
		t.Fatalf("after one answer the run is %s", half.Body)
	}
	b.Call(t, "one", "POST", "/v1/reviews/"+second+"/reject", `{"reason":"too private"}`).Want(200)
	must.Get(b.Work(t.Context()))(t)
	whole := b.Call(t, "one", "GET", c+"/runs/"+run.Text("id"), "").Want(200)
	if whole.Text("stop_reason") != "terminal_tool" || !strings.Contains(whole.Text("steps.1.result"), "denied: too private") {
		t.Errorf("the run is %s", whole.Body)
	}
	turns := (*seen)[0].Turns
	if n := len(turns); turns[n-1].Role != memory.RoleTool || turns[n-3].Role != memory.RoleAssistant || len(turns[n-3].Calls) != 2 {
		t.Errorf("the model saw %+v", turns)
	}
	if n := b.Call(t, "one", "GET", c+"/notes?kind=passage", "").Want(200).Length("items"); n != 1 {
		t.Errorf("%d passages", n)
	}
	// A run that waits can be canceled.
	b.Script(apptest.Calls(t, insert("three")...))
	waits := b.Says(t, c, "Store a third.")
	got := b.Call(t, "one", "POST", c+"/runs/"+waits.Text("id")+"/cancel", "").Want(200)
	if got.Text("state") != "cancelled" || b.Call(t, "one", "GET", c+"/calls", "").Want(200).Length("items") != 0 {
		t.Errorf("canceled: %s", got.Body)
	}
}

// A chat with an agent is a run; as a stream, it shows what the agent says. One that is not remembered is no run.
func TestChatIsARun(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	b.Script(apptest.Calls(t, "send_message", args{"message": "Let me see.", "request_heartbeat": true}), apptest.Calls(t, "send_message", args{"message": "Hello Nora."}))
	got := b.Call(t, "one", "POST", c+"/chat", `{"message":"I am Nora."}`).Want(200)
	if got.Text("reply") != "Let me see.\n\nHello Nora." || got.At("offline") != nil || got.At("remembered") != true {
		t.Errorf("the chat answered %s", got.Body)
	}
	if run := b.Call(t, "one", "GET", c+"/runs/"+got.Text("run"), "").Want(200); run.Text("stop_reason") != "terminal_tool" {
		t.Errorf("its run is %s", run.Body)
	}
	b.Script(apptest.Calls(t, "send_message", args{"message": "Yes."}))
	stream := b.Call(t, "one", "POST", c+"/chat", `{"messages":[{"role":"user","content":"Again?"}],"stream":true}`).Want(200).Body.String()
	if !strings.Contains(stream, "event: delta\ndata: {\"text\":\"Yes.\"}") || !strings.Contains(stream, "event: done\ndata: {") {
		t.Errorf("streamed %s", stream)
	}
	b.Script(apptest.Calls(t, "send_message", args{"message": "Once."}), apptest.Calls(t, "send_message", args{"message": "Twice."}))
	for range 2 {
		if got := b.Call(t, "one", "POST", c+"/chat", `{"message":"How often?"}`, "Idempotency-Key", "k").Want(200); got.Text("reply") != "Once." {
			t.Errorf("the same request answered %s", got.Body)
		}
	}
	if runs := b.Call(t, "one", "GET", c+"/runs", "").Want(200); runs.Length("items") != 3 {
		t.Errorf("the runs are %s", runs.Body)
	}
	if got := b.Call(t, "one", "POST", c+"/chat", `{"message":"Who am I?","remember":false}`).Want(200); got.At("run") != nil {
		t.Errorf("a chat that is not remembered answered %s", got.Body)
	}
	b.Model.AnswerTurns(func(memory.Dialogue) (memory.TurnResult, error) {
		return memory.TurnResult{}, fault.New(fault.Invalid, "the request is refused")
	})
	b.Call(t, "one", "POST", c+"/chat", `{"message":"Hello?"}`).Refused(502, fault.ModelFailed, "")
}

// A run that ended after its messages were read is read again: one that is done has its reply.
func TestRunReadLate(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "late", "memgpt")
	b.Script(apptest.Calls(t, "send_message", args{"message": "Hello."}))
	posted := b.Call(t, "one", "POST", c+"/events", `{"content":"Hi."}`).Want(http.StatusAccepted)
	s := b.Scopes["one"].Scope
	before := must.Get(b.Store.OpenView(t.Context(), s, strings.TrimPrefix(c, "/v1/collections/"), memory.At{}))(t)
	b.RunJobs(t)
	run, err := b.Agents.Run(t.Context(), s, before, uuid.MustParse(posted.Text("run")))
	if err != nil || run.State != "done" || run.Reply != "Hello." {
		t.Errorf("the run is %+v (%v)", run, err)
	}
}
