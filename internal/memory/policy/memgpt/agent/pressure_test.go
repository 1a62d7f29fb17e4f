package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/test/must"
)

// tokensOf returns the tokens of a request.
func tokensOf(t *testing.T, d *memory.Dialogue) (n int) {
	t.Helper()
	count := func(s string) int {
		n, err := search.O200k.Count(s)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	for _, turn := range d.Turns {
		n += count(turn.Text)
		for _, c := range turn.Calls {
			n += count(c.Name + c.Arguments)
		}
	}
	return n + count(apptest.JSON(t, args{"tools": d.Tools}))
}

// C116, C119, C125, C126, C127, C144, C145, C149: a conversation ten windows long keeps running. No request is
// larger than the window. The agent is warned once in each period; a flush puts a summary before an assistant's turn;
// and what was said in the third turn is found by a tool at the end.
func TestLongConversation(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	const window = 6_000
	c := b.Agent(t, "long", fmt.Sprintf(`{"window":%d}`, window))
	said, total, flushes, warnings, summaries := "", 0, 0, 0, map[string]bool{}
	b.Converse(func(d memory.Dialogue) memory.Turn {
		if n := tokensOf(t, &d); n > window {
			t.Errorf("a request has %d tokens", n)
		}
		if d.Turns[0].Role != memory.RoleSystem || !strings.HasPrefix(d.Turns[0].Text, "You are an assistant with a memory") {
			t.Errorf("a request begins with %.100s", d.Turns[0].Text)
		}
		if strings.HasPrefix(d.Turns[1].Text, "<summary>") {
			if d.Turns[1].Role != memory.RoleUser || d.Turns[2].Role != memory.RoleAssistant {
				t.Errorf("after a flush come %s and %s", d.Turns[1].Role, d.Turns[2].Role)
			}
			if !summaries[d.Turns[1].Text] {
				summaries[d.Turns[1].Text] = true
				flushes++
			}
		}
		last, found := d.Turns[len(d.Turns)-1], false
		for _, turn := range d.Turns {
			found = found || turn.Role == memory.RoleTool && strings.Contains(turn.Text, "4711")
		}
		switch {
		case strings.Contains(last.Text, "nearly full"):
			warnings++
			return apptest.Calls(t, "core_memory_append", args{"label": "human", "content": "warned", "request_heartbeat": found && said == ""})
		case last.Role == memory.RoleTool && found && said == "":
			said = "found"
			return apptest.Calls(t, "send_message", args{"message": "It is 4711."})
		case strings.Contains(last.Text, "code of the safe?"):
			return apptest.Calls(t, "conversation_search", args{"query": "safe code", "roles": []string{"user"}, "request_heartbeat": true})
		}
		return apptest.Calls(t, "send_message", args{"message": "I see. " + strings.Repeat("Tell me more of it. ", 20)})
	})
	for i := 0; total < 10*window; i++ {
		content := fmt.Sprintf("Day %d. %s", i, strings.Repeat("The harbor was calm and we counted the boats. ", 80))
		if i == 2 {
			content = "The code of the safe is 4711."
		}
		n := must.Get(search.O200k.Count(content))(t)
		total += n
		if run := b.Says(t, c, content); run.Text("state") != "done" {
			t.Fatalf("turn %d: %.500s", i, run.Body)
		}
	}
	if run := b.Says(t, c, "What is the code of the safe?"); run.Text("reply") != "It is 4711." || said != "found" {
		t.Errorf("at the end: %.800s", run.Body)
	}
	if flushes < 8 || warnings < flushes-1 || warnings > flushes+1 {
		t.Errorf("%d flushes, %d warnings", flushes, warnings)
	}
	summary := b.Call(t, "one", "GET", c+"/notes?kind=summary", "").Want(200)
	if words := len(strings.Fields(summary.Text("items.0.content"))); summary.Length("items") != 1 || words == 0 || words > 101 {
		t.Errorf("the summary has %d words: %.400s", words, summary.Body)
	}
	parts := b.Call(t, "one", "GET", c+"/context", "").Want(200)
	if parts.Number("used") > window || parts.Text("parts.4.part") != "summary" || parts.Number("parts.4.tokens") == 0 || parts.Number("parts.5.tokens") == 0 {
		t.Errorf("the context is %s", parts.Body)
	}
}

// What GET context says is what the next request holds, about: between two parts there is at most one token more.
func TestContextIsTheRequest(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	b.Script(apptest.Calls(t, "conversation_search", args{"query": "x", "request_heartbeat": true}, "archival_insert", args{"content": "tea"}), memory.Turn{Text: "Yes."})
	b.Says(t, c, "Is it <|im_end|> so?")
	seen := b.Script(memory.Turn{Text: "Yes."})
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"And now?"}]}`).Want(202)
	used := b.Call(t, "one", "GET", c+"/context", "").Want(200).Number("used")
	b.Says(t, c, "So?")
	got := tokensOf(t, &(*seen)[0])
	if slack := float64(len((*seen)[0].Turns)) * 30; float64(got) > used+10 || float64(got) < used-slack {
		t.Errorf("the context has %v tokens, the request %d", used, got)
	}
}

// C146, C151, and the chain of fallbacks: the agent never stops, however the summary's model fails.
func TestSummaryFallbacks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	long := strings.Repeat("We walked along the harbor and counted boats. ", 40)
	answer := func(v any) (memory.Answer, error) {
		raw, err := json.Marshal(v)
		return memory.Answer{JSON: raw, Analyst: memory.AnalystModel}, err
	}
	for name, c := range map[string]struct {
		asks func(memory.Call) (memory.Answer, error)
		want string
	}{
		"long": {func(memory.Call) (memory.Answer, error) { return answer(args{"summary": strings.Repeat("word ", 150)}) }, "word word"},
		"refused": {func(memory.Call) (memory.Answer, error) {
			return memory.Answer{}, fault.New(fault.ModelFailed, "context_length_exceeded")
		}, "left the window without a summary"},
		"unusable": {func(memory.Call) (memory.Answer, error) {
			return memory.Answer{}, fmt.Errorf("x: %w", memory.ErrBadAnswer)
		}, "left the window without a summary"},
		"empty":       {func(memory.Call) (memory.Answer, error) { return answer(args{"summary": " "}) }, "left the window without a summary"},
		"unreachable": {func(memory.Call) (memory.Answer, error) { return memory.Answer{}, fault.New(fault.Unavailable, "down") }, "left the window without a summary"},
	} {
		collection := b.Agent(t, name, `{"window":5000}`)
		b.Script(memory.Turn{Text: "Yes."})
		b.Model.AnswerCalls(c.asks)
		// Messages of the person alone: there is no turn of the assistant to cut before.
		for range 16 {
			b.Call(t, "one", "POST", collection+"/messages", apptest.JSON(t, args{"messages": []args{{"content": long}}, "on_duplicate": "keep"})).Want(202)
		}
		run := b.Says(t, collection, "Hello")
		if run.Text("state") != "done" { // an endpoint that is down is tried again
			b.Pass(3e9)
			must.Get(b.Work(t.Context()))(t)
			run = b.Call(t, "one", "GET", collection+"/runs/"+run.Text("id"), "").Want(200)
		}
		summary := b.Call(t, "one", "GET", collection+"/notes?kind=summary", "").Want(200).Text("items.0.content")
		if run.Text("stop_reason") != "text" || !strings.Contains(summary, c.want) || len(strings.Fields(summary)) > 101 {
			t.Errorf("%s: %.300s; the summary is %.300s", name, run.Body, summary)
		}
	}
}

// A model that is down makes a run wait, and then fail; a run that has failed says why.
func TestRunWithBrokenModel(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	b.Model.AnswerTurns(func(memory.Dialogue) (memory.TurnResult, error) {
		return memory.TurnResult{}, fault.New(fault.Unavailable, "the endpoint failed (500)")
	})
	run := b.Says(t, c, "Hello")
	if run.Text("state") != "queued" || !strings.Contains(run.Text("error"), "(500)") {
		t.Errorf("the run is %s", run.Body)
	}
	for range 6 {
		b.Pass(120e9)
		must.Get(b.Work(t.Context()))(t)
	}
	failed := b.Call(t, "one", "GET", c+"/runs/"+run.Text("id"), "").Want(200)
	if failed.Text("state") != "failed" || failed.Text("stop_reason") != "error" || !strings.Contains(failed.Text("error"), "(500)") {
		t.Errorf("the run is %s", failed.Body)
	}
	b.Script(memory.Turn{Text: "Hello."})
	if again := b.Says(t, c, "Are you back?"); again.Text("reply") != "Hello." {
		t.Errorf("the next run is %s", again.Body)
	}
}

// An event that a flush took out of the window before its run was answered is shown where it was: endpoints refuse a request
// that ends with two turns of the assistant, and continue one that ends with one.
func TestFlushBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Agent(t, "flushed", `{"window":20000,"evict":1}`)
	b.Model.AnswerCalls(func(memory.Call) (memory.Answer, error) {
		return memory.Answer{JSON: json.RawMessage(`{"summary":"Two boats."}`), Analyst: memory.AnalystModel}, nil
	})
	down, asked := true, memory.Dialogue{}
	b.Model.AnswerTurns(func(d memory.Dialogue) (memory.TurnResult, error) {
		asked = d
		if last := d.Turns[len(d.Turns)-1].Text; down && !strings.Contains(last, "first boat") {
			return memory.TurnResult{}, fault.New(fault.Unavailable, "the endpoint failed (503)")
		}
		return memory.TurnResult{Turn: memory.Turn{Text: "I see it."}, Analyst: memory.AnalystModel, Requests: 1}, nil
	})
	b.Call(t, "one", "POST", c+"/events", `{"content":"The first boat is blue."}`).Want(202)
	run := b.Call(t, "one", "POST", c+"/events", `{"content":"The second boat is red."}`).Want(202).Text("run")
	work := func() {
		t.Helper()
		must.Get(b.Work(t.Context()))(t)
	}
	work()
	b.Call(t, "one", "POST", c+"/flush", `{"force":true}`).Want(202)
	work()
	down = false
	b.Pass(120e9)
	work()
	if got := b.Call(t, "one", "GET", c+"/runs/"+run, "").Want(200); got.Text("state") != "done" {
		t.Fatalf("the run is %s", got.Body)
	}
	last := asked.Turns[len(asked.Turns)-1]
	if !strings.HasPrefix(asked.Turns[1].Text, "<summary>") || asked.Turns[2].Role != memory.RoleAssistant || last.Role != memory.RoleUser || last.Text != "The second boat is red." {
		t.Errorf("the request is %+v", asked.Turns[1:])
	}
}

// C132, C133: the agent pages through a search until it finds a fact, and follows keys to a value, in one user turn.
func TestScriptedSearches(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	for i := range 14 {
		b.Did(t, c, "archival_insert", args{"content": fmt.Sprintf("Lighthouse report number %d: nothing to see at the lighthouse.", i)})
	}
	b.Did(t, c, "archival_insert", args{"content": "In a note about a lighthouse far away, long after all the others and with many other words about weather and fish and ropes, there is the answer: 42 boats."})
	page := 0
	b.Converse(func(d memory.Dialogue) memory.Turn {
		last := d.Turns[len(d.Turns)-1]
		if strings.Contains(last.Text, "42 boats") {
			return apptest.Calls(t, "send_message", args{"message": fmt.Sprintf("42, on page %d.", page)})
		}
		page++
		return apptest.Calls(t, "archival_search", args{"query": "lighthouse report number", "page": page, "request_heartbeat": true})
	})
	if run := b.Says(t, c, "How many boats?"); !strings.HasPrefix(run.Text("reply"), "42, on page ") || run.Text("reply") == "42, on page 1." {
		t.Errorf("paging: %.800s", run.Body)
	}
	for key, value := range map[string]string{"alpha": "bravo", "bravo": "charlie", "charlie": "delta", "delta": "the end"} {
		b.Did(t, c, "archival_insert", args{"content": fmt.Sprintf("key %s has value %s", key, value)})
	}
	hops := 0
	b.Converse(func(d memory.Dialogue) memory.Turn {
		last := d.Turns[len(d.Turns)-1]
		key := "alpha"
		if last.Role == memory.RoleTool {
			for line := range strings.SplitSeq(last.Text, "\n") {
				if _, after, ok := strings.Cut(line, "key "+[]string{"", "alpha", "bravo", "charlie", "delta"}[hops]+" has value "); ok {
					key, _, _ = strings.Cut(after, `"`)
				}
			}
		}
		if key == "the end" {
			return apptest.Calls(t, "send_message", args{"message": fmt.Sprintf("the end after %d hops", hops)})
		}
		hops++
		return apptest.Calls(t, "archival_search", args{"query": "key " + key + " has value", "top_k": 20, "request_heartbeat": true})
	})
	if run := b.Says(t, c, "Follow alpha."); run.Text("reply") != "the end after 4 hops" {
		t.Errorf("hops: %.800s", run.Body)
	}
}

// A fork in the middle of a run has what was committed; its own runs go on from there, and the base's is unaffected.
func TestForkInARun(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	made := b.Call(t, "one", "POST", "/v1/collections", `{"name":"base","policy":"memgpt","policy_config":{"approve":["archival_insert"]}}`).Want(201)
	c := "/v1/collections/" + made.Text("id")
	b.Script(apptest.Calls(t, "archival_insert", args{"content": "x"}), memory.Turn{Text: "Done."})
	run := b.Says(t, c, "Store it.")
	fork := b.Call(t, "one", "POST", c+"/clone", `{"name":"fork"}`).Want(201)
	f := "/v1/collections/" + fork.Text("id")
	if got := b.Call(t, "one", "GET", f+"/runs/"+run.Text("id"), "").Want(200); got.Text("state") != "cancelled" || got.Length("steps") != 1 {
		t.Errorf("in the fork the run is %s", got.Body)
	}
	seen := b.Script(memory.Turn{Text: "Hello."})
	if got := b.Says(t, f, "Hello?"); got.Text("reply") != "Hello." {
		t.Errorf("the fork's run is %s", got.Body)
	}
	found := false
	for _, turn := range (*seen)[0].Turns {
		found = found || turn.Role == memory.RoleTool && strings.Contains(turn.Text, "has not run")
	}
	if !found {
		t.Errorf("the fork's model saw %+v", (*seen)[0].Turns[1:])
	}
	if got := b.Call(t, "one", "GET", c+"/runs/"+run.Text("id"), "").Want(200); got.Text("state") != "requires_action" {
		t.Errorf("in the base the run is %s", got.Body)
	}
}

// Runs of one agent go in the order of their events, also when they are posted while another one waits its turn.
func TestRunsInOrder(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	var order []string
	b.Converse(func(d memory.Dialogue) memory.Turn {
		last := d.Turns[len(d.Turns)-1]
		if last.Role == memory.RoleUser {
			order = append(order, last.Text)
			return apptest.Calls(t, "conversation_search", args{"query": last.Text, "request_heartbeat": true})
		}
		return memory.Turn{Text: "Done."}
	})
	for i := range 4 {
		b.Call(t, "one", "POST", c+"/events", fmt.Sprintf(`{"content":"event %d"}`, i), "Idempotency-Key", fmt.Sprint("e", i)).Want(http.StatusAccepted)
	}
	again := b.Call(t, "one", "POST", c+"/events", `{"content":"event 0"}`, "Idempotency-Key", "e0").Want(http.StatusAccepted)
	must.Get(b.Work(t.Context()))(t)
	if got := strings.Join(order, ","); got != "event 0,event 1,event 2,event 3" {
		t.Errorf("the runs went %s", got)
	}
	if runs := b.Call(t, "one", "GET", c+"/runs", "").Want(200); runs.Length("items") != 4 || runs.Text("items.3.id") != again.Text("run") {
		t.Errorf("runs: %s", runs.Body)
	}
}

// C119, C126, C146: a flush evicts the share of messages that the setting names, not the share that stays; the next
// summary is made from the one before it; and what is summed up are texts, never calls with their ids.
func TestFlushes(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for evict, bounds := range map[float64][2]float64{.2: {2, 5}, .8: {11, 14}} {
		c := b.Agent(t, fmt.Sprintf("evicts-%g", evict), fmt.Sprintf(`{"window":20000,"evict":%g}`, evict))
		var asked []memgpt.SummaryInput
		b.Model.AnswerCalls(func(call memory.Call) (memory.Answer, error) {
			in, _ := call.Input.(memgpt.SummaryInput)
			asked = append(asked, in)
			raw, err := json.Marshal(args{"summary": fmt.Sprintf("Summary number %d.", len(asked))})
			return memory.Answer{JSON: raw, Analyst: memory.AnalystModel}, err
		})
		b.Script(apptest.Calls(t, "core_memory_append", args{"label": "human", "content": "greets", "request_heartbeat": true}), apptest.Calls(t, "send_message", args{"message": "Good evening to you."}))
		b.Says(t, c, "Good evening.")
		for i := range 16 {
			b.Call(t, "one", "POST", c+"/messages", apptest.JSON(t, args{"messages": []args{
				{"content": fmt.Sprintf("Boat %02d passed. %s", i, strings.Repeat("The harbor was calm. ", 20))}, {"role": "assistant", "content": fmt.Sprintf("I saw boat %02d.", i)},
			}})).Want(202)
		}
		for n := 1; n <= 2; n++ {
			b.Call(t, "one", "POST", c+"/flush", `{"force":true}`).Want(202)
			must.Get(b.Work(t.Context()))(t)
			summary := b.Call(t, "one", "GET", c+"/notes?kind=summary", "").Want(200)
			if got := summary.Text("items.0.content"); got != fmt.Sprintf("Summary number %d.", n) || len(asked) != n {
				t.Fatalf("flush %d: %d were asked for; %s", n, len(asked), summary.Body)
			}
		}
		boats := 0.
		for _, m := range asked[0].Messages {
			if strings.HasPrefix(m.Text, "Boat") {
				boats++
			}
		}
		if boats < bounds[0] || boats > bounds[1] {
			t.Errorf("evict %g: %g of 16 messages left", evict, boats)
		}
		if asked[0].Old != "" || asked[1].Old != "Summary number 1." {
			t.Errorf("C119: the summaries before are %q and %q", asked[0].Old, asked[1].Old)
		}
		all := apptest.JSON(t, args{"asked": asked})
		if strings.Contains(all, "arguments") || strings.Contains(all, "send_message") || strings.Contains(all, "core_memory_append") || strings.Count(all, "Good evening to you.") != 1 {
			t.Errorf("what is summed up is %.1500s", all)
		}
	}
}
