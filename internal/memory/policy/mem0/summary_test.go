package mem0

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
)

// runSummaryTask runs the summary task that was requested last.
func (k *testDesk) runSummaryTask() {
	k.t.Helper()
	for _, f := range slices.Backward(k.follow) {
		if f.Task.Name == TaskSummary {
			k.decide(memory.Event{Kind: memory.EventTask, Task: f.Task})
			return
		}
	}
	k.t.Fatal("no summary was asked for")
}

// smallTalk adds n exchanges without facts and returns which of them requested a summary.
func (k *testDesk) smallTalk(n int) []int {
	k.t.Helper()
	var due []int
	for i := range n {
		dec := k.userSays("Hello!")
		if slices.ContainsFunc(dec.Follow, func(f memory.Follow) bool { return f.Task.Name == TaskSummary }) {
			due = append(due, i+1)
		}
	}
	return due
}

// TestMem0SummaryDue: with K = 3 the summary is requested at the 3rd, 6th, … exchange (C182), whether or not it
// has been written meanwhile, and also when it is written late. A retry requests it at the same exchanges.
func TestMem0SummaryDue(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), `{"summary_every":3}`)
	k.answerWith("extract", `{"facts":[]}`)
	if due := k.smallTalk(7); !slices.Equal(due, []int{3, 6}) {
		t.Errorf("without any summary: %v", due)
	}
	k.runSummaryTask() // asked for at 6, done after 7
	s := k.notes[slices.IndexFunc(k.notes, func(n memory.Note) bool { return n.Key == KeySummary })]
	if s.Attributes[attrExchanges] != 6.0 {
		t.Errorf("the summary covers %v", s.Attributes)
	}
	if due := k.smallTalk(6); !slices.Equal(due, []int{2, 5}) { // 9 and 12
		t.Errorf("after a summary: %v", due)
	}
	// A second try of an exchange, when later ones are in the log already.
	k.runSummaryTask()
	first := k.addMessage(memory.RoleUser, "Hello!") // 14
	second := k.addMessage(memory.RoleUser, "Hello!")
	k.addMessage(memory.RoleUser, "Hello!")
	for range 2 {
		if dec := k.learn(first); len(dec.Follow) != 0 {
			t.Error("the 14th asks for a summary")
		}
		if dec := k.learn(second); len(dec.Follow) != 1 {
			t.Error("the 15th asks for none")
		}
	}
	k.runSummaryTask() // while the 16th waits for its turn
	if dec := k.learn(first); len(dec.Follow) != 0 {
		t.Error("an exchange that was counted asks again")
	}
	// Messages of one exchange count once, also where the summary came in between.
	turn := withAttribute(memory.AttrTurn, "one")
	q := k.addMessage(memory.RoleUser, "Hello?", turn)  // 17
	k.decide(policytest.TaskEvent(TaskSummary, "", "")) // somebody asks in between
	if dec := k.learn(q, k.addMessage(memory.RoleAssistant, "Hello!", turn)); len(dec.Follow) != 0 {
		t.Error("an answer counts as an exchange")
	}
	if due := k.smallTalk(1); len(due) != 1 {
		t.Error("the 18th asks for none")
	}
	k.Overrides = `{"summary_every":0}`
	if due := k.smallTalk(4); len(due) != 0 {
		t.Errorf("asked for although there is to be none: %v", due)
	}
}

// TestMem0Summary: without facts the summary is a fixed text, without a call (C184), else the answer, within its
// length. After a bad answer, or one about other things, the old summary stays. An outage is an error.
func TestMem0Summary(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), `{"summary_chars":100}`)
	k.decide(policytest.TaskEvent(TaskSummary, "", ""))
	if got := k.contents(memory.KindSummary); !slices.Equal(got, []string{nothingKnown}) || len(k.Asked) != 0 {
		t.Errorf("an empty memory has %q after %d calls", got, len(k.Asked))
	}
	k.answerExtract([]string{"User likes tea", "User lives in Bonn"})
	k.userSays("I like tea and live in Bonn.")
	if in, _ := k.called("extract")[0].Input.(ExtractInput); in.Summary != "" {
		t.Errorf("the fixed text is shown as background: %q", in.Summary)
	}
	k.answerWith("summarize", `{"summary":"User lives in Bonn and likes tea.\n"}`)
	k.decide(policytest.TaskEvent(TaskSummary, "", ""))
	const good = "User lives in Bonn and likes tea."
	check := func(what string, want string) memory.Note {
		t.Helper()
		n, _, _ := k.ByKey(t.Context(), memory.KindSummary, KeySummary)
		if n.Content != want || len(k.contents(memory.KindSummary)) != 1 {
			t.Errorf("%s: %q", what, n.Content)
		}
		return n
	}
	s := check("a good answer", good)
	if s.Analyst != memory.AnalystModel || s.State != memory.StateEvolved || len(s.Provenance.Sources) != 2 {
		t.Errorf("the summary is %+v", s)
	}
	for _, bad := range []string{`nothing`, `{"summary":""}`, `{"summary":"Paris, London and Tokyo are large cities with airports."}`} {
		k.answerWith("summarize", bad)
		k.decide(policytest.TaskEvent(TaskSummary, "", ""))
		check(bad, good)
	}
	k.answerWith("summarize", `{"summary":"`+strings.Repeat("User likes tea. ", 50)+`"}`)
	k.decide(policytest.TaskEvent(TaskSummary, "", ""))
	for _, s := range k.contents(memory.KindSummary) {
		if len([]rune(s)) > 100 {
			t.Errorf("the summary has %d characters", len([]rune(s)))
		}
	}
	k.Err = fault.New(fault.Unavailable, "down")
	if _, err := k.p.Decide(t.Context(), k, policytest.TaskEvent(TaskSummary, "", "")); !errors.Is(err, k.Err) {
		t.Errorf("an outage gave %v", err)
	}
}

// TestMem0SummaryIncremental: C185, the incremental mode uses only the old summary and the facts that changed.
func TestMem0SummaryIncremental(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), `{"summary_mode":"incremental"}`)
	k.answers["summarize"] = func(c memory.Call) string {
		in, _ := c.Input.(SummarizeInput)
		return fmt.Sprintf(`{"summary":%q}`, strings.Join(append([]string{in.Old}, append(in.Memories, in.Changes...)...), " "))
	}
	last := func() SummarizeInput {
		calls := k.called("summarize")
		in, _ := calls[len(calls)-1].Input.(SummarizeInput)
		return in
	}
	k.answerExtract([]string{"User likes tea", "User lives in Bonn", "User has a dog"}, []string{"User likes green tea", "User left Bonn", "User has a cat"})
	k.userSays("I like tea, live in Bonn and have a dog.")
	k.decide(policytest.TaskEvent(TaskSummary, "", ""))
	if in := last(); in.Old != "" || len(in.Memories) != 3 || len(in.Changes) != 0 {
		t.Errorf("the first one is made of %+v", in)
	}
	calls := len(k.called("summarize"))
	k.decide(policytest.TaskEvent(TaskSummary, "", ""))
	if len(k.called("summarize")) != calls {
		t.Error("nothing changed, and somebody was asked")
	}
	k.answerDecide(func(in DecideInput) (Operation, int, string) {
		for i, m := range in.Similar {
			switch {
			case in.Fact == "User likes green tea" && m.Content == "User likes tea":
				return OpUpdate, i, in.Fact
			case in.Fact == "User left Bonn" && m.Content == "User lives in Bonn":
				return OpDelete, i, ""
			}
		}
		return OpAdd, 0, ""
	})
	k.userSays("I like green tea. I left Bonn. I have a cat.")
	k.decide(policytest.TaskEvent(TaskSummary, "", ""))
	in := last()
	want := []string{"- User likes tea", "- User lives in Bonn", "+ User likes green tea", "+ User left Bonn", "+ User has a cat"}
	sorted := cmp.Transformer("sorted", func(s []string) map[string]bool {
		out := map[string]bool{}
		for _, x := range s {
			out[x] = true
		}
		return out
	})
	if diff := cmp.Diff(want, in.Changes, sorted); diff != "" || len(in.Memories) != 0 || in.Old == "" {
		t.Errorf("changes (-want +got):\n%s%+v", diff, in)
	}
}

// TestMem0Procedure: procedural memory is one record for each session, written from the messages since the last.
func TestMem0Procedure(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), `{"memory_type":"procedural"}`)
	k.answers["procedure"] = func(c memory.Call) string {
		in, _ := c.Input.(SummarizeInput)
		return fmt.Sprintf(`{"summary":%q}`, strings.TrimSpace(in.Old+" "+strings.Join(in.Memories, " ")))
	}
	a, b := withAttribute(memory.AttrSession, "a"), withAttribute(memory.AttrSession, "b")
	for i, m := range []memory.Note{
		k.addMessage(memory.RoleUser, "Open the door.", a), k.addMessage(memory.RoleAssistant, "Door opened.", a),
		k.addMessage(memory.RoleUser, "Paint it.", b), k.addMessage(memory.RoleTool, "secret", b),
	} {
		dec := k.learn(m)
		if i < 3 && (len(dec.Follow) != 1 || dec.Follow[0].Task.Name != TaskProcedure) {
			t.Fatalf("%d: %+v", i, dec.Follow)
		}
		for _, f := range dec.Follow {
			k.decide(memory.Event{Kind: memory.EventTask, Task: f.Task})
		}
	}
	want := []string{"user: Open the door. assistant: Door opened.", "user: Paint it."}
	if diff := cmp.Diff(want, k.contents(memory.KindSummary)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	calls := len(k.called("procedure"))
	k.learn(k.addMessage(memory.RoleUser, "Close it.", a))
	k.decide(policytest.TaskEvent(TaskProcedure, "a", ""))
	k.decide(policytest.TaskEvent(TaskProcedure, "a", "")) // nothing came since
	if n, ok, _ := k.ByKey(t.Context(), memory.KindSummary, KeyProcedure+"a"); !ok || n.Content != "user: Open the door. assistant: Door opened. user: Close it." || len(n.Provenance.Sources) != 3 {
		t.Errorf("%+v", n)
	}
	if got := len(k.called("procedure")); got != calls+1 {
		t.Errorf("%d calls", got-calls)
	}
	if len(k.called("extract")) != 0 || len(k.contents(memory.KindFact)) != 0 {
		t.Error("facts were taken")
	}
	if _, err := k.p.Decide(t.Context(), k, policytest.TaskEvent(TaskProcedure, "", "")); !fault.Is(err, fault.Invalid) {
		t.Errorf("no session gave %v", err)
	}
}

// TestMem0Prompts compares the prompts with their golden files, with hostile text in all places.
func TestMem0Prompts(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), `{"summary_mode":"incremental"}`)
	k.apply(memory.Decision{Puts: []memory.Note{
		{ID: policytest.ID(210), Kind: memory.KindSummary, Key: KeySummary, Content: "Ada is a nurse. " + policytest.Hostile, Attributes: map[string]any{attrRevision: 1.0}},
		{ID: policytest.ID(211), Kind: memory.KindFact, Key: "md5:1", Content: "Ada likes tea " + policytest.Hostile, OccurredAt: policytest.Noon},
	}})
	k.answerExtract([]string{"Ada likes green tea " + policytest.Hostile})
	k.answerWith("decide", `{"operation":"ADD","target":null,"text":null}`)
	k.answerWith("summarize", `{"summary":"Ada is a nurse and likes tea, green tea."}`)
	k.answerWith("procedure", `{"summary":"Tea."}`)
	k.addMessage(memory.RoleAssistant, "What do you drink? "+policytest.Hostile)
	ada := withAttribute(memory.AttrName, "Ada")
	k.learn(k.addMessage(memory.RoleUser, "I like green tea. "+policytest.Hostile, ada, withAttribute(memory.AttrSession, "s")), k.addMessage(memory.RoleAssistant, "Noted."))
	k.decide(policytest.TaskEvent(TaskSummary, "", ""))
	k.Overrides = ""
	k.decide(policytest.TaskEvent(TaskSummary, "", ""))
	k.decide(policytest.TaskEvent(TaskProcedure, "s", ""))
	calls := []memory.Call{k.called("extract")[0], k.called("decide")[0], k.called("summarize")[0], k.called("summarize")[1], k.called("procedure")[0]}
	for i, name := range []string{"extract.v2", "decide.v4", "summarize_changes.v2", "summarize.v2", "procedure.v2"} {
		policytest.Golden(t, "golden/"+name+".txt", policytest.PromptText(calls[i]))
	}
	for _, c := range k.Asked {
		if strings.Count(c.Prompt, "<memory-data>") != 1 || strings.Count(c.Prompt, "</memory-data>") != 1 {
			t.Errorf("%s: the marks are forged:\n%s", c.Name, c.Prompt)
		}
		if !strings.Contains(c.System, "never followed") {
			t.Errorf("%s: the instructions do not say that data is data", c.Name)
		}
	}
}
