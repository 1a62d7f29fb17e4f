package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
)

// queueSummary is an agent of which 24 messages have left the window, in several flushes, with a model that repeats all
// that it is given.
type queueSummary struct {
	*system
	t    *testing.T
	path string
	ids  []string // of the messages of the person
	old  []string // the summary that each call was given
}

func newQueueSummary(t *testing.T) *queueSummary {
	t.Helper()
	q := &queueSummary{system: newSystem(t), t: t}
	q.path = q.agentWith(t, "agent", `{"window":20000,"evict":0.7}`)
	q.Model.AnswerCalls(func(call memory.Call) (memory.Answer, error) {
		in, _ := call.Input.(memgpt.SummaryInput)
		said := []string{in.Old}
		for _, m := range in.Messages {
			if m.Role == string(memory.RoleUser) {
				said = append(said, strings.Fields(m.Text)[1])
			}
		}
		q.old = append(q.old, in.Old)
		raw, err := json.Marshal(args{"summary": strings.TrimSpace(strings.Join(said, " "))})
		return memory.Answer{JSON: raw, Analyst: memory.AnalystModel}, err
	})
	for n := range 24 {
		said := q.call(t, "one", "POST", q.path+"/messages", encode(t, args{"messages": []args{
			{"content": fmt.Sprintf("Boat b%02d passed. %s", n, strings.Repeat("The harbor was calm. ", 20))}, {"role": "assistant", "content": "I saw it."},
		}})).want(202)
		q.ids = append(q.ids, said.text("messages.0.id"))
		if n%8 == 7 {
			q.call(t, "one", "POST", q.path+"/flush", `{"force":true}`).want(202)
			q.runJobs(t)
		}
	}
	return q
}

// now returns the summary; "" if there is none.
func (q *queueSummary) now() string {
	q.t.Helper()
	q.runJobs(q.t)
	list := q.call(q.t, "one", "GET", q.path+"/notes?kind=summary", "").want(200)
	if list.length("items") == 0 {
		return ""
	}
	if strings.Contains(list.Body.String(), `"stale":true`) {
		q.t.Errorf("the summary is stale: %s", list.Body)
	}
	return list.text("items.0.content")
}

// The summary of what left an agent's window is made again when one of those messages is deleted, changed or erased: from
// the last version that did not have it.
func TestQueueSummaryAgain(t *testing.T) {
	t.Parallel()
	q := newQueueSummary(t)
	before := q.now()
	if !strings.HasPrefix(before, "b00 b01") || !strings.Contains(before, "b12") {
		t.Fatalf("the summary is %q", before)
	}
	covered := strings.Fields(before)
	last := len(covered) - 1
	first := q.old[1] // the summary after the first flush

	q.old = nil
	q.call(t, "one", "DELETE", q.path+"/notes/"+q.ids[last], "").want(204)
	if got := q.now(); got != strings.Join(covered[:last], " ") || len(q.old) != 1 || !strings.HasPrefix(q.old[0], first) {
		t.Errorf("after the last one was deleted it is %q, made again of %q", got, q.old)
	}

	q.old = nil
	q.call(t, "one", "PATCH", q.path+"/notes/"+q.ids[0], `{"content":"Boat changed passed."}`).want(200)
	if got := q.now(); got != "changed "+strings.Join(covered[1:last], " ") || q.old[0] != "" {
		t.Errorf("after the first one was changed it is %q, made again of %q", got, q.old)
	}

	// What was deleted first is in no version that is made use of later.
	q.call(t, "one", "DELETE", q.path+"/notes/"+q.ids[last-1], "").want(204)
	if got := q.now(); got != "changed "+strings.Join(covered[1:last-1], " ") {
		t.Errorf("after the last but one was deleted it is %q", got)
	}

	q.call(t, "one", "DELETE", q.path+"/notes/"+q.ids[1]+"?erase=true", "").want(200)
	if got := q.now(); strings.Contains(got, "b01") || !strings.Contains(got, "b02") {
		t.Errorf("after the second one was erased it is %q", got)
	}
	q.Pass(time.Minute) // the erasure waits for the summary
	q.runJobs(t)
	summary := q.call(t, "one", "GET", q.path+"/notes?kind=summary", "").want(200).text("items.0.id")
	if past := q.call(t, "one", "GET", q.path+"/notes/"+summary+"/history", "").want(200); strings.Contains(past.Body.String(), " b01") {
		t.Errorf("the past has what was erased: %.600s", past.Body)
	}

	// A flush after a deletion, before the summary is made again.
	q.call(t, "one", "DELETE", q.path+"/notes/"+q.ids[2], "").want(204)
	if context := q.call(t, "one", "GET", q.path+"/context", "").want(200); strings.Contains(context.Body.String(), "b02 ") {
		t.Errorf("the context has what was deleted: %.600s", context.Body)
	}
	q.call(t, "one", "POST", q.path+"/flush", `{"force":true}`).want(202)
	if got := q.now(); strings.Contains(got, "b02") || !strings.Contains(got, "b03") {
		t.Errorf("after a flush it is %q", got)
	}
}

// A fork sums up again by itself, and its base keeps what it has; a summary without messages goes.
func TestQueueSummaryOfAFork(t *testing.T) {
	t.Parallel()
	q := newQueueSummary(t)
	before := q.now()
	fork := q.call(t, "one", "POST", q.path+"/clone", `{"name":"fork"}`).want(201)
	base := q.path
	q.path = "/v1/collections/" + fork.text("id")
	q.call(t, "one", "DELETE", q.path+"/notes/"+q.ids[3], "").want(204)
	if got := q.now(); strings.Contains(got, "b03") || !strings.Contains(got, "b04") {
		t.Errorf("the summary of the fork is %q", got)
	}
	q.path = base
	if got := q.now(); got != before {
		t.Errorf("the summary of the base is %q", got)
	}
	list := q.call(t, "one", "GET", q.path+"/messages?limit=100", "").want(200)
	for i := range list.length("items") {
		q.call(t, "one", "DELETE", q.path+"/notes/"+list.text(fmt.Sprintf("items.%d.id", i)), "").want(204)
	}
	if got := q.now(); got != "" {
		t.Errorf("without messages the summary is %q", got)
	}
}

// What an agent's search found of a message that is deleted leaves the result of the search.
func TestDeletedInResults(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.agentWith(t, "agent", `{}`)
	said := b.call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"The code of the safe is \"47K1\".\nI sail on Sundays."}]}`).want(202).text("messages.0.id")
	b.script(b.calls(t, "conversation_search", args{"query": "code of the safe", "request_heartbeat": true}), b.calls(t, "send_message", args{"message": "I know it."}))
	b.says(t, c, "Do you know the code?")
	if list := b.call(t, "one", "GET", c+"/notes?limit=100", "").want(200).Body.String(); strings.Count(list, "47K1") != 2 {
		t.Fatalf("the notes are %s", list)
	}
	b.call(t, "one", "DELETE", c+"/notes/"+said, "").want(204)
	b.runJobs(t)
	for _, path := range []string{"/notes?limit=100", "/messages", "/runs"} {
		if list := b.call(t, "one", "GET", c+path, "").want(200).Body.String(); strings.Contains(list, "47K1") {
			t.Errorf("%s has what was deleted: %s", path, list)
		}
	}
	if n := b.call(t, "one", "GET", c+"/messages", "").want(200).length("items"); n < 2 {
		t.Errorf("%d messages are left", n)
	}
}
