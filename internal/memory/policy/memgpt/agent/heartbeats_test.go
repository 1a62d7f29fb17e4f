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
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// later advances the clock and runs what is due.
func later(t *testing.T, b *apptest.System, d time.Duration) {
	t.Helper()
	b.Pass(d)
	must.Get(b.Work(t.Context()))(t)
}

// kinds returns the types of an agent's runs, newest first.
func kinds(t *testing.T, b *apptest.System, c string) string {
	t.Helper()
	return strings.Join(b.Call(t, "one", "GET", c+"/runs", "").Want(200).Texts("items.*.type"), " ")
}

// C130: with the setting, an agent that is idle gets regular heartbeats, from its first event on. What happens meanwhile
// puts the next one off, and so does a pause of up to 360 minutes.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Agent(t, "beating", `{"heartbeat_minutes":30}`)
	seen := b.Script(memory.Turn{Text: "Done."})
	expect := func(want string) {
		t.Helper()
		if got := kinds(t, b, c); got != want {
			t.Errorf("the runs are %q, want %q", got, want)
		}
	}
	later(t, b, 31*time.Minute)
	expect("") // nothing has ever happened
	b.Says(t, c, "Hello")
	later(t, b, 29*time.Minute)
	expect("message")
	later(t, b, 2*time.Minute)
	expect("heartbeat message")
	if last := (*seen)[1].Turns[len((*seen)[1].Turns)-1]; last.Role != memory.RoleUser || !strings.Contains(last.Text, `<event type="heartbeat">`) {
		t.Errorf("the model saw %+v", last)
	}
	later(t, b, 31*time.Minute)
	expect("heartbeat heartbeat message")
	later(t, b, 20*time.Minute)
	b.Says(t, c, "Still here.")
	later(t, b, 20*time.Minute) // 40 after the last heartbeat, 20 after the message
	expect("message heartbeat heartbeat message")
	later(t, b, 11*time.Minute)
	expect("heartbeat message heartbeat heartbeat message")

	pause := func(minutes int) apptest.Response {
		return b.Call(t, "one", "POST", c+"/heartbeats/pause", fmt.Sprintf(`{"minutes":%d}`, minutes))
	}
	got := pause(360).Want(200)
	if got.Number("every_minutes") != 30 || got.Text("paused_until") != b.Now().Add(6*time.Hour).Format("2006-01-02T15:04:05Z") {
		t.Errorf("the pause is %s", got.Body)
	}
	b.Says(t, c, "Sleep well.")
	if turns := (*seen)[len(*seen)-1].Turns; !strings.Contains(fmt.Sprint(turns), "There are no regular heartbeats until") {
		t.Errorf("the model does not know of the pause: %+v", turns)
	}
	for range 11 {
		later(t, b, 32*time.Minute)
	}
	expect("message heartbeat message heartbeat heartbeat message")
	later(t, b, 10*time.Minute)
	expect("heartbeat message heartbeat message heartbeat heartbeat message")
	// A pause ends early, and the last one counts.
	pause(300).Want(200)
	later(t, b, 40*time.Minute)
	expect("heartbeat message heartbeat message heartbeat heartbeat message")
	pause(0).Want(200)
	later(t, b, 0)
	expect("heartbeat heartbeat message heartbeat message heartbeat heartbeat message")

	pause(361).Refused(422, fault.Invalid, "minutes")
	pause(-1).Refused(422, fault.Invalid, "minutes")
	b.Call(t, "one", "POST", c+"/heartbeats/pause", `{}`).Refused(422, fault.Invalid, "minutes")
	b.Call(t, "reader", "POST", c+"/heartbeats/pause", `{"minutes":1}`).Refused(403, fault.Forbidden, "")
	b.Call(t, "two", "POST", c+"/heartbeats/pause", `{"minutes":1}`).Refused(404, fault.NotFound, "")
	b.Call(t, "one", "POST", b.Agent(t, "still", `{}`)+"/heartbeats/pause", `{"minutes":1}`).Refused(422, fault.Invalid, "")
	b.Call(t, "one", "POST", b.Space(t, "plain", "amem")+"/heartbeats/pause", `{"minutes":1}`).Refused(422, fault.Invalid, "")
	for _, bad := range []string{"-1", "10081", `"daily"`} {
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"bad","policy":"memgpt","policy_config":{"heartbeat_minutes":`+bad+`}}`).Refused(422, fault.Invalid, "policy_config.heartbeat_minutes")
	}
	// Without the setting there are none any more.
	b.Call(t, "one", "PATCH", c, `{"policy_config":{"heartbeat_minutes":0}}`).Want(200)
	n := len(*seen)
	later(t, b, 2*time.Hour)
	if len(*seen) != n {
		t.Error("a heartbeat came although they are off")
	}
}

// A heartbeat fires only when the agent is idle: while a run waits for its turn, there is none.
func TestHeartbeatOfABusyAgent(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Agent(t, "busy", `{"heartbeat_minutes":30}`)
	b.Script(memory.Turn{Text: "Done."})
	b.Says(t, c, "Hello")
	b.Call(t, "one", "POST", c+"/events", `{"content":"Work for hours."}`).Want(http.StatusAccepted)
	b.Pass(31 * time.Minute)
	id := uuid.MustParse(strings.TrimPrefix(c, "/v1/collections/"))
	s := grant.Job(b.Scopes["one"].Scope.Tenant(), uuid.New())
	tasks, err := b.Store.ClaimJobs(t.Context(), s, id, memory.StageUpkeep, uuid.New(), b.Now().Add(time.Minute), 10)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	must.Do(t, b.Engine.RunPolicy(t.Context(), s, tasks[0]))
	if got := kinds(t, b, c); got != "message message" {
		t.Errorf("the runs are %q", got)
	}
	later(t, b, 0)
	later(t, b, 31*time.Minute)
	if got := kinds(t, b, c); got != "heartbeat message message" {
		t.Errorf("later the runs are %q", got)
	}
}

// C152: without force nothing is evicted while the window is not full; with force, at once.
func TestFlushRoute(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	long := strings.Repeat("We walked along the harbor and counted boats. ", 20)
	for i := range 6 {
		b.Call(t, "one", "POST", c+"/messages", apptest.JSON(t, args{"messages": []args{{"user": fmt.Sprint(i, long), "assistant": "I see."}}})).Want(202)
	}
	flush := func(body string) float64 {
		t.Helper()
		job := b.Call(t, "one", "POST", c+"/flush", body).Want(202).Text("job.id")
		must.Get(b.Work(t.Context()))(t)
		done := b.Call(t, "one", "GET", "/v1/jobs/"+job, "").Want(200)
		if done.Text("state") != "done" || done.Text("kind") != "flush" {
			t.Fatalf("the job is %s", done.Body)
		}
		return done.Number("result.evicted")
	}
	tokens := func(part int) float64 {
		return b.Call(t, "one", "GET", c+"/context", "").Want(200).Number(fmt.Sprintf("parts.%d.tokens", part))
	}
	before := tokens(5)
	if flush("") != 0 || flush(`{"force":false}`) != 0 || tokens(5) != before || tokens(4) != 0 {
		t.Error("messages were evicted from a window that is not full")
	}
	if n := flush(`{"force":true}`); n != 6 && n != 7 {
		t.Errorf("%v messages were evicted of 12", n)
	}
	if now := tokens(5); now >= before*0.6 || tokens(4) == 0 {
		t.Errorf("after the flush there are %v tokens of messages, before %v", now, before)
	}
	if n := b.Call(t, "one", "GET", c+"/messages", "").Want(200).Length("items"); n != 12 {
		t.Errorf("%d messages are in recall storage", n)
	}
	// Down to the last message, and never an error.
	for range 4 {
		flush(`{"force":true}`)
	}
	if n := flush(`{"force":true}`); n != 0 || tokens(5) == 0 {
		t.Errorf("%v messages left at the end; %v tokens stay", n, tokens(5))
	}
	one, two := b.Call(t, "one", "POST", c+"/flush", `{"force":true}`).Want(202), b.Call(t, "one", "POST", c+"/flush", `{"force":true}`).Want(202)
	if one.Text("job.id") != two.Text("job.id") {
		t.Error("the same flush waits twice")
	}
	empty := b.Space(t, "empty", "memgpt")
	c = empty
	if flush(`{"force":true}`) != 0 {
		t.Error("something left an empty window")
	}
	b.Call(t, "one", "POST", c+"/flush", `{"force":1}`).Refused(422, fault.Invalid, "force")
	b.Call(t, "reader", "POST", c+"/flush", "").Refused(403, fault.Forbidden, "")
	b.Call(t, "two", "POST", c+"/flush", "").Refused(404, fault.NotFound, "")
	b.Call(t, "one", "POST", b.Space(t, "plain", "amem")+"/flush", "").Refused(422, fault.Invalid, "")
}
