package agent

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// A turn of the model that calls tools is a message note whose content is a storedTurn as JSON; a turn
// without calls is a message with its text. The result of a call is a message of the role tool.
type storedTurn struct {
	Text  string       `json:"text,omitempty"`
	Calls []storedCall `json:"calls"`
}

// storedCall is a call as it will be run. Problem is why it will not.
type storedCall struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	Problem   string `json:"problem,omitempty"`
}

// Attributes of turns and results, beside those of package memory.
const (
	attrOK         = "ok"         // of a result: the tool has succeeded
	attrHeartbeat  = "heartbeat"  // of a result: the agent wants to act again
	attrMillis     = "ms"         // how long the model or the tool took
	attrPrompt     = "prompt"     // tokens of a turn's request
	attrCompletion = "completion" // tokens of a turn
	attrStream     = "stream"     // of an event: its run is heard while the model speaks
	attrKind       = "alert"      // of an alert in a run: alertPressure or alertRule
)

// Bounds of a turn as it is stored.
const (
	maxCalls     = 16       // in parallel; further ones are not run
	maxToolName  = 64       // characters
	maxTurnText  = 16 << 10 // bytes
	maxTurnBytes = 48 << 10 // of all arguments
)

// callID returns the id of a call: the run, the step, and the position in the turn. It is unique, and the
// same whenever the turn is read.
func callID(run uuid.UUID, step, place int) string {
	return fmt.Sprintf("%s_%d_%d", hex.EncodeToString(run[:]), step, place)
}

// storeTurn brings a turn of the model into the form in which it is stored: with our ids for the calls, and
// with a problem for each call that is not run. most is how many characters its arguments may have.
func storeTurn(said memory.Turn, run uuid.UUID, step, most int) storedTurn {
	out := storedTurn{Text: clip.Bytes(clean(said.Text), maxTurnText)}
	bytes := 0
	for i, c := range said.Calls {
		if i == maxCalls {
			break
		}
		call := storedCall{ID: callID(run, step, i), Tool: cut(clean(c.Name), maxToolName), Arguments: clean(unquoted(c.Arguments))}
		size := len(call.Arguments)
		switch {
		case size > 4*most || len([]rune(call.Arguments)) > most:
			call.Arguments, call.Problem = "{}", fmt.Sprintf("the arguments have %d bytes; at most %d characters are possible", size, most)
		case bytes+size > maxTurnBytes:
			call.Arguments, call.Problem = "{}", "the calls of this turn have too long arguments in all; make fewer at once"
		case !isObject(call.Arguments):
			call.Problem = "the arguments are not a JSON object: " + cut(call.Arguments, 200)
			call.Arguments = "{}"
		}
		bytes += len(call.Arguments)
		out.Calls = append(out.Calls, call)
	}
	return out
}

// isObject reports whether a text is a JSON object, or nothing, which is the empty one.
func isObject(s string) bool {
	if strings.TrimSpace(s) == "" {
		return true
	}
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(s), &object) == nil
}

// unquoted returns the arguments of a call that were encoded twice, as some models and servers do.
func unquoted(s string) string {
	var inner string
	if json.Unmarshal([]byte(s), &inner) != nil {
		return s
	}
	return inner
}

// clean removes what cannot be stored.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// readTurn returns the calls of a turn's note; ok is false for a message that calls nothing.
func readTurn(n *memory.Note) (t storedTurn, ok bool) {
	if runOf(n) == uuid.Nil || n.Attributes[memory.AttrTool] == nil || roleOf(n) != memory.RoleAssistant || callOf(n) != "" {
		return t, false
	}
	err := json.Unmarshal([]byte(n.Content), &t)
	return t, err == nil && len(t.Calls) > 0
}

func roleOf(n *memory.Note) memory.Role { return memory.UtteranceOf(n).Role }

// callOf returns the call that a message belongs to; "": none.
func callOf(n *memory.Note) string {
	s, _ := n.Attributes[memory.AttrCall].(string)
	return s
}

// runOf returns the run that a message belongs to; zero: none.
func runOf(n *memory.Note) uuid.UUID {
	s, _ := n.Attributes[memory.AttrRun].(string)
	id, err := uuid.Parse(s)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// beginsRun reports whether a message is the event of a run.
func beginsRun(n *memory.Note) bool { return n.ID != uuid.Nil && runOf(n) == n.ID }

// isWritten reports whether a message was written by a tool: the call shows it already.
func isWritten(n *memory.Note) bool { return roleOf(n) == memory.RoleAssistant && callOf(n) != "" }

// IsWritten reports whether a message was written by a tool whose call has it, too, so that a transcript leaves it out.
func IsWritten(n *memory.Note) bool { return n.Kind == memory.KindMessage && isWritten(n) }

// CallsOf returns the turn of a message note that calls tools; ok is false for one that calls nothing.
func CallsOf(n *memory.Note) (t memory.Turn, ok bool) {
	stored, ok := readTurn(n)
	if !ok {
		return t, false
	}
	t = memory.Turn{Role: memory.RoleAssistant, Text: stored.Text}
	for _, c := range stored.Calls {
		t.Calls = append(t.Calls, memory.ToolCall{ID: c.ID, Name: c.Tool, Arguments: c.Arguments})
	}
	return t, true
}

// TurnContent returns the content of the note of a turn that calls tools, with the ids of the calls, within the bounds of
// turns. It is for turns of elsewhere; those of runs are stored as they come up.
func TurnContent(t memory.Turn) (string, error) {
	stored := storeTurn(t, uuid.Nil, 0, maxResult)
	for i := range stored.Calls {
		stored.Calls[i].ID = t.Calls[i].ID
	}
	raw, err := json.Marshal(stored)
	return string(raw), fault.Wrap(err, fault.Internal, "encode a turn")
}

// noResult is shown for a call whose tool has not run.
const noResult = "[no result: the tool has not run]"

// turnFor returns a message as the model sees it. Marks in stored text are escaped.
func turnFor(n *memory.Note) memory.Turn {
	said := memory.UtteranceOf(n)
	body := text.EscapeTags(said.Content)
	event, _ := n.Attributes[memory.AttrEvent].(string)
	switch {
	case said.Role == memory.RoleTool && callOf(n) != "":
		return memory.Turn{Role: memory.RoleTool, Answers: callOf(n), Text: body}
	case said.Role == memory.RoleAssistant:
		t, ok := CallsOf(n)
		if !ok {
			return memory.Turn{Role: memory.RoleAssistant, Text: body}
		}
		t.Text = text.EscapeTags(t.Text)
		for i := range t.Calls {
			t.Calls[i].Arguments = cmp.Or(t.Calls[i].Arguments, "{}")
		}
		return t
	case event != "" && event != string(memory.EventMessage):
		return memory.Turn{Role: memory.RoleUser, Text: fmt.Sprintf("<event type=%q>\n%s\n</event>", event, body)}
	case said.Role == memory.RoleTool:
		return memory.Turn{Role: memory.RoleUser, Text: fmt.Sprintf("<event type=%q>\n%s\n</event>", "result", body)}
	case said.Role != memory.RoleUser:
		return memory.Turn{Role: memory.RoleUser, Text: fmt.Sprintf("<event type=%q>\n%s\n</event>", said.Role, body)}
	case said.Name != "":
		return memory.Turn{Role: memory.RoleUser, Text: text.EscapeTags(said.Name) + ": " + body}
	}
	return memory.Turn{Role: memory.RoleUser, Text: body}
}

// queued is a message of the queue, as the model sees it.
type queued struct {
	note memory.Note
	turn memory.Turn
	size int // tokens, with what stands for a result that does not exist yet
}

// arrange returns the turns of a queue in the order of a request. The messages of a run follow its event, and
// those of the current run are last, however they came in between each other. A result follows its
// call. Events of runs that have not begun are left out, since their own run answers them; zero: no
// run is current, and all are shown.
func arrange(list []queued, current uuid.UUID) []memory.Turn {
	begun, events := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for i := range list {
		if n := &list[i].note; beginsRun(n) {
			events[n.ID] = true
		} else if run := runOf(n); run != uuid.Nil {
			begun[run] = true
		}
	}
	var order []*queued
	var last []*queued // of the current run
	members := map[uuid.UUID][]*queued{}
	for i := range list {
		n := &list[i].note
		run := runOf(n)
		switch {
		case current != uuid.Nil && run == current:
			last = append(last, &list[i])
		case current != uuid.Nil && beginsRun(n) && !begun[run]:
			if memory.CompareIDs(run, current) < 0 {
				order = append(order, &list[i])
			}
		case beginsRun(n) || !events[run]:
			order = append(order, &list[i])
		default:
			members[run] = append(members[run], &list[i])
		}
	}
	var arranged []*queued
	for _, q := range order {
		arranged = append(arranged, q)
		if beginsRun(&q.note) {
			arranged = append(arranged, members[q.note.ID]...)
		}
	}
	return withResults(append(arranged, last...))
}

// withResults returns turns in which each call is followed by its result.
func withResults(list []*queued) []memory.Turn {
	results, called := map[string]string{}, map[string]bool{}
	for _, q := range list {
		if q.turn.Role == memory.RoleTool {
			results[q.turn.Answers] = q.turn.Text
		}
		for _, c := range q.turn.Calls {
			called[c.ID] = true
		}
	}
	var out []memory.Turn
	for _, q := range list {
		switch {
		case q.turn.Role == memory.RoleTool && called[q.turn.Answers]:
		case q.turn.Role == memory.RoleTool:
			out = append(out, memory.Turn{Role: memory.RoleUser, Text: fmt.Sprintf("<event type=%q>\n%s\n</event>", "result", q.turn.Text)})
		default:
			out = append(out, q.turn)
			for _, c := range q.turn.Calls {
				result, ok := results[c.ID]
				if !ok {
					result = noResult
				}
				out = append(out, memory.Turn{Role: memory.RoleTool, Answers: c.ID, Text: result})
			}
		}
	}
	return out
}
