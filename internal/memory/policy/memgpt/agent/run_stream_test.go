package agent_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// followed is what a stream of a run has sent.
type followed struct {
	said     string // the pieces that count
	pieces   int
	restarts []string
	states   []string
	reply    string // of the last run
	order    string // the first letter of each event
}

// follow reads the stream of a run. The jobs run while it is read.
func follow(t *testing.T, b *apptest.System, c, run string) (out followed) {
	t.Helper()
	stream := b.Call(t, "reader", "GET", c+"/runs/"+run, "", "Accept", "text/event-stream").Want(http.StatusOK)
	step := 0.0
	for event := range strings.SplitSeq(strings.TrimSpace(stream.Body.String()), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		var v struct {
			Step   float64 `json:"step"`
			Text   string  `json:"text"`
			Reason string  `json:"reason"`
			State  string  `json:"state"`
			Reply  string  `json:"reply"`
		}
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatalf("%q: %v", event, err)
		}
		out.order += name[:1]
		switch name {
		case "delta":
			if v.Step != step && out.said != "" {
				out.said += "\n\n"
			}
			step = v.Step
			out.said += v.Text
			out.pieces++
		case "restart":
			out.said = ""
			out.restarts = append(out.restarts, v.Reason)
		case "run":
			out.states = append(out.states, v.State)
			out.reply = v.Reply
		default:
			t.Errorf("an event is %q", event)
		}
	}
	return out
}

// begin posts a message whose run is heard, and returns the run.
func begin(t *testing.T, b *apptest.System, c, content string) string {
	t.Helper()
	return b.Call(t, "one", "POST", c+"/events", apptest.JSON(t, args{"content": content, "stream": true})).Want(http.StatusAccepted).Text("run")
}

// Those who follow a run hear the agent while its model speaks, between the states of the run. What does not count in the end
// is taken back.
func TestRunStream(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	say := func(turn memory.Turn, pieces ...string) func(memory.Dialogue) (memory.TurnResult, error) {
		return func(d memory.Dialogue) (memory.TurnResult, error) {
			if d.Stream == nil {
				return memory.TurnResult{}, errors.New("nobody hears this")
			}
			for _, p := range pieces {
				if p == "|" {
					d.Stream.Reset("the model is asked again")
				} else {
					d.Stream.Delta(p)
				}
			}
			return memory.TurnResult{Turn: turn, Analyst: memory.AnalystModel, Requests: 1}, nil
		}
	}
	then := func(list ...func(memory.Dialogue) (memory.TurnResult, error)) {
		n := 0
		b.Model.AnswerTurns(func(d memory.Dialogue) (memory.TurnResult, error) {
			n++
			return list[min(n, len(list))-1](d)
		})
	}
	then(say(apptest.Calls(t, "send_message", args{"message": "Let me see.", "request_heartbeat": true}), "Let", " me see."),
		say(memory.Turn{Text: "You live in Lisbon."}, "You", "|", "You live", " in Lisbon."))
	got := follow(t, b, c, begin(t, b, c, "Where do I live?"))
	if got.reply != "Let me see.\n\nYou live in Lisbon." || got.states[0] != "queued" || got.states[len(got.states)-1] != "done" || got.pieces == 0 || got.order[0] != 'r' || !strings.Contains(got.order, "d") {
		t.Errorf("followed %+v", got)
	}
	if !strings.HasSuffix(got.said, "You live in Lisbon.") {
		t.Errorf("heard %q", got.said)
	}

	// A message that a rule forbids was not sent.
	ruled := b.Agent(t, "ruled", `{"tool_rules":[{"tool":"conversation_search","rule":"first"}]}`)
	then(say(apptest.Calls(t, "send_message", args{"message": "Too early."}), "Too early."),
		say(apptest.Calls(t, "conversation_search", args{"query": "x", "request_heartbeat": true})), say(memory.Turn{Text: "Now."}, "Now."))
	if got := follow(t, b, ruled, begin(t, b, ruled, "Hello")); got.reply != "Now." || strings.Contains(got.said, "Too early") && len(got.restarts) == 0 {
		t.Errorf("followed %+v", got)
	}
	// One that waits for approval is not told before.
	careful := b.Agent(t, "careful", `{"approve":["send_message"]}`)
	then(func(d memory.Dialogue) (memory.TurnResult, error) {
		if d.Stream == nil || d.Stream.Tool != "" {
			t.Errorf("the model is heard by %+v", d.Stream)
		}
		return memory.TurnResult{Turn: apptest.Calls(t, "send_message", args{"message": "Secret."})}, nil
	})
	if got := follow(t, b, careful, begin(t, b, careful, "Hello")); got.said != "" || got.states[len(got.states)-1] != "requires_action" {
		t.Errorf("followed %+v", got)
	}
	// Without the flag nobody hears the model, and a timer has no listeners.
	then(func(d memory.Dialogue) (memory.TurnResult, error) {
		if d.Stream != nil {
			t.Error("somebody hears the model")
		}
		return memory.TurnResult{Turn: memory.Turn{Text: "Yes."}}, nil
	})
	if run := b.Says(t, c, "Hello"); run.Text("reply") != "Yes." {
		t.Errorf("the run is %s", run.Body)
	}
	b.Call(t, "one", "POST", c+"/events", `{"type":"timer","stream":true,"at":"2026-03-01T12:00:00Z"}`).Refused(422, fault.Invalid, "stream")
}
