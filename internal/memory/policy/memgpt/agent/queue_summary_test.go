package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
)

// queueSummary is an agent of which 24 messages have left the window, in several flushes, with a model that repeats all
// that it is given.
type queueSummary struct {
	*apptest.System
	t    *testing.T
	path string
	ids  []string // of the messages of the person
	old  []string // the summary that each call was given
}

func newQueueSummary(t *testing.T) *queueSummary {
	t.Helper()
	q := &queueSummary{System: apptest.New(t), t: t}
	q.path = q.Agent(t, "agent", `{"window":20000,"evict":0.7}`)
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
		said := q.Call(t, "one", "POST", q.path+"/messages", apptest.JSON(t, args{"messages": []args{
			{"content": fmt.Sprintf("Boat b%02d passed. %s", n, strings.Repeat("The harbor was calm. ", 20))}, {"role": "assistant", "content": "I saw it."},
		}})).Want(202)
		q.ids = append(q.ids, said.Text("messages.0.id"))
		if n%8 == 7 {
			q.Call(t, "one", "POST", q.path+"/flush", `{"force":true}`).Want(202)
			q.RunJobs(t)
		}
	}
	return q
}

// now returns the summary; "" if there is none.
func (q *queueSummary) now() string {
	q.t.Helper()
	q.RunJobs(q.t)
	list := q.Call(q.t, "one", "GET", q.path+"/notes?kind=summary", "").Want(200)
	if list.Length("items") == 0 {
		return ""
	}
	if strings.Contains(list.Body.String(), `"stale":true`) {
		q.t.Errorf("the summary is stale: %s", list.Body)
	}
	return list.Text("items.0.content")
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
	q.Call(t, "one", "DELETE", q.path+"/notes/"+q.ids[last], "").Want(204)
	if got := q.now(); got != strings.Join(covered[:last], " ") || len(q.old) != 1 || !strings.HasPrefix(q.old[0], first) {
		t.Errorf("after the last one was deleted it is %q, made again of %q", got, q.old)
	}

	q.old = nil
	q.Call(t, "one", "PATCH", q.path+"/notes/"+q.ids[0], `{"content":"Boat changed passed."}`).Want(200)
	if got := q.now(); got != "changed "+strings.Join(covered[1:last], " ") || q.old[0] != "" {
		t.Errorf("after the first one was changed it is %q, made again of %q", got, q.old)
	}

	// What was deleted first is in no version that is made use of later.
	q.Call(t, "one", "DELETE", q.path+"/notes/"+q.ids[last-1], "").Want(204)
	if got := q.now(); got != "changed "+strings.Join(covered[1:last-1], " ") {
		t.Errorf("after the last but one was deleted it is %q", got)
	}

	q.Call(t, "one", "DELETE", q.path+"/notes/"+q.ids[1]+"?erase=true", "").Want(200)
	if got := q.now(); strings.Contains(got, "b01") || !strings.Contains(got, "b02") {
		t.Errorf("after the second one was erased it is %q", got)
	}
	q.Pass(time.Minute) // the erasure waits for the summary
	q.RunJobs(t)
	summary := q.Call(t, "one", "GET", q.path+"/notes?kind=summary", "").Want(200).Text("items.0.id")
	if past := q.Call(t, "one", "GET", q.path+"/notes/"+summary+"/history", "").Want(200); strings.Contains(past.Body.String(), " b01") {
		t.Errorf("the past has what was erased: %.600s", past.Body)
	}

	// A flush after a deletion, before the summary is made again.
	q.Call(t, "one", "DELETE", q.path+"/notes/"+q.ids[2], "").Want(204)
	if context := q.Call(t, "one", "GET", q.path+"/context", "").Want(200); strings.Contains(context.Body.String(), "b02 ") {
		t.Errorf("the context has what was deleted: %.600s", context.Body)
	}
	q.Call(t, "one", "POST", q.path+"/flush", `{"force":true}`).Want(202)
	if got := q.now(); strings.Contains(got, "b02") || !strings.Contains(got, "b03") {
		t.Errorf("after a flush it is %q", got)
	}
}

// A summary of many messages does not name the first ones as its sources. When one of two that expired together is erased, it is in no
// version of it.
func TestQueueSummaryErased(t *testing.T) {
	t.Parallel()
	q := newQueueSummary(t)
	for range 5 {
		var list []args
		for n := range 50 {
			list = append(list, args{"user": fmt.Sprintf("Ship s%03d passed. %s", len(q.ids)+n, strings.Repeat("The harbor was calm. ", 5)), "assistant": "I saw it."})
		}
		said := q.Call(t, "one", "POST", q.path+"/messages", apptest.JSON(t, args{"messages": list})).Want(202)
		for n := range list {
			q.ids = append(q.ids, said.Text(fmt.Sprintf("messages.%d.id", 2*n)))
		}
	}
	q.Call(t, "one", "POST", q.path+"/flush", `{"force":true}`).Want(202)
	if got := q.now(); !strings.Contains(got, "s024") || !strings.Contains(got, "s025") {
		t.Fatalf("the summary is %q", got)
	}
	for _, i := range []int{24, 25} {
		q.Call(t, "one", "PATCH", q.path+"/notes/"+q.ids[i], `{"ttl_seconds":60}`).Want(200)
	}
	q.Pass(time.Hour)
	q.Call(t, "one", "GET", q.path+"/notes", "").Want(200) // a read retires them
	if got := q.now(); strings.Contains(got, "s024") || strings.Contains(got, "s025") || !strings.Contains(got, "s026") {
		t.Errorf("after two have expired it is %q", got)
	}
	q.Call(t, "one", "DELETE", q.path+"/notes/"+q.ids[24]+"?erase=true", "").Want(200)
	q.Pass(time.Minute)
	q.RunJobs(t)
	summary := q.Call(t, "one", "GET", q.path+"/notes?kind=summary", "").Want(200).Text("items.0.id")
	if past := q.Call(t, "one", "GET", q.path+"/notes/"+summary+"/history", "").Want(200); strings.Contains(past.Body.String(), "s024") {
		t.Errorf("the past has what was erased: %.600s", past.Body)
	}
	q.Call(t, "one", "GET", q.path+"/notes/"+q.ids[25]+"/history", "").Want(200)
}

// A fork sums up again by itself, and its base keeps what it has; a summary without messages goes.
func TestQueueSummaryOfAFork(t *testing.T) {
	t.Parallel()
	q := newQueueSummary(t)
	before := q.now()
	fork := q.Call(t, "one", "POST", q.path+"/clone", `{"name":"fork"}`).Want(201)
	base := q.path
	q.path = "/v1/collections/" + fork.Text("id")
	q.Call(t, "one", "DELETE", q.path+"/notes/"+q.ids[3], "").Want(204)
	if got := q.now(); strings.Contains(got, "b03") || !strings.Contains(got, "b04") {
		t.Errorf("the summary of the fork is %q", got)
	}
	q.path = base
	if got := q.now(); got != before {
		t.Errorf("the summary of the base is %q", got)
	}
	for _, id := range q.Call(t, "one", "GET", q.path+"/messages?limit=100", "").Want(200).Texts("items.*.id") {
		q.Call(t, "one", "DELETE", q.path+"/notes/"+id, "").Want(204)
	}
	if got := q.now(); got != "" {
		t.Errorf("without messages the summary is %q", got)
	}
}

// What an agent's search found of a message that is deleted leaves the result of the search.
func TestDeletedInResults(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Agent(t, "agent", `{}`)
	said := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"The code of the safe is \"47K1\".\nI sail on Sundays."}]}`).Want(202).Text("messages.0.id")
	b.Script(apptest.Calls(t, "conversation_search", args{"query": "code of the safe", "request_heartbeat": true}), apptest.Calls(t, "send_message", args{"message": "I know it."}))
	b.Says(t, c, "Do you know the code?")
	if list := b.Call(t, "one", "GET", c+"/notes?limit=100", "").Want(200).Body.String(); strings.Count(list, "47K1") != 2 {
		t.Fatalf("the notes are %s", list)
	}
	b.Call(t, "one", "DELETE", c+"/notes/"+said, "").Want(204)
	b.RunJobs(t)
	for _, path := range []string{"/notes?limit=100", "/messages", "/runs"} {
		if list := b.Call(t, "one", "GET", c+path, "").Want(200).Body.String(); strings.Contains(list, "47K1") {
			t.Errorf("%s has what was deleted: %s", path, list)
		}
	}
	if n := b.Call(t, "one", "GET", c+"/messages", "").Want(200).Length("items"); n < 2 {
		t.Errorf("%d messages are left", n)
	}
}
