package memory

import (
	"encoding/json"
	"maps"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text/parts"
	"github.com/slipboxhq/slipbox/internal/text/unsaid"
)

// Attributes that describe a message's position in a conversation.
const (
	AttrRole    = "role"       // user, assistant, system, developer or tool
	AttrName    = "name"       // of the speaker, as used in prompts and facts
	AttrSession = "session"    // text or number
	AttrTurn    = "turn"       // id of its exchange
	AttrRecall  = "recalled"   // true: its author saw recalled memories, so nothing is learned from it
	AttrExpires = "expires_at" // RFC 3339: it expires then, and the facts learned from it do
	AttrTool    = "tool"       // the tool that the message calls or answers
	// AttrTranscript is true of a request that a program has made of what was said before, and of its answer: see [Transcripts].
	AttrTranscript = "transcript"
)

// Attributes of the messages of an agent's run.
const (
	AttrEvent = "event" // what began the run, or came up in it: an EventType
	AttrRun   = "run"   // id of the run, which is that of its event's note
	AttrStep  = "step"  // from 1; the event has none
	AttrCall  = "call"  // of a result, or of what a tool has written: the id of the call
	AttrUntil = "until" // of the message KeyPause: RFC 3339
)

// KeyQueue is the key of the summary of the messages that have left the window of an agent, and AttrThrough its attribute
// with the id of the last of them. When some of them have changed, the summary is stale, and AttrAgain has the id of the
// first of those.
const (
	KeyQueue    = "queue"
	AttrThrough = "through"
	AttrAgain   = "again_from"
)

// SumsUp reports whether a note is the summary of an agent's queue, and returns the last message that it covers.
func SumsUp(n *Note) (through uuid.UUID, ok bool) {
	if n.Kind != KindSummary || n.Key != KeyQueue {
		return uuid.Nil, false
	}
	id, _ := n.Attributes[AttrThrough].(string)
	through, err := uuid.Parse(id)
	return through, err == nil
}

// TaskFlush is the task of a policy that has an agent sum up again what has left its window. It is done by a job of
// kind flush.
const TaskFlush = "flush"

// TaskTimer is the task of a policy that starts a run at a time. Its arguments are a TimedEvent.
const TaskTimer = "timer"

// TaskHeartbeat is the task of a policy that starts a run at regular times, when nothing else happens. It has
// no key, so that a collection has one.
const TaskHeartbeat = "heartbeat"

// TimedEvent is an event that begins a run when its time has come.
type TimedEvent struct {
	Type    EventType `json:"type"`
	Content string    `json:"content"`
}

// KeyPause is the key of the message that says until when an agent has no regular heartbeats.
const KeyPause = "heartbeats:pause"

// HeartbeatText is what a heartbeat says that has no text of its own.
const HeartbeatText = "Nothing has happened for a while. Look whether there is something to do."

// EventType is what makes an agent act.
type EventType string

// The events.
const (
	EventMessage   EventType = "message"   // somebody said something
	EventAlert     EventType = "alert"     // the system has something to say
	EventTimer     EventType = "timer"     // a time has come
	EventHeartbeat EventType = "heartbeat" // a regular time has come
)

// ExpiryOf returns the time in AttrExpires. ok is false without one, and for a value that is no
// time (filter.ParseTime): it never expires.
func ExpiryOf(attributes map[string]any) (at time.Time, ok bool) {
	s, ok := attributes[AttrExpires].(string)
	if !ok {
		return time.Time{}, false
	}
	at, err := filter.ParseTime(s)
	return at, err == nil
}

// ExpireAt sets when a note expires; zero: never. Of a message and a fact AttrExpires says it, too: policies and searches read it
// there.
func (n *Note) ExpireAt(at time.Time) {
	n.ExpiresAt = at
	if n.Kind != KindMessage && n.Kind != KindFact {
		return
	}
	n.Attributes = maps.Clone(n.Attributes)
	if at.IsZero() {
		delete(n.Attributes, AttrExpires)
		return
	}
	if n.Attributes == nil {
		n.Attributes = map[string]any{}
	}
	n.Attributes[AttrExpires] = at.UTC().Format(time.RFC3339Nano)
}

// Outlives returns a note without its end, if that is over. What is brought back stays.
func (n *Note) Outlives(now time.Time) Note {
	out := *n
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		out.ExpireAt(time.Time{})
	}
	return out
}

// NumberOf returns an attribute that is a number, without its fraction; 0 for anything else. Stores return
// numbers as int64, float64 or json.Number.
func NumberOf(attributes map[string]any, name string) int64 {
	switch v := attributes[name].(type) {
	case int:
		return int64(v)
	case int64:
		return v
	case float64:
		return int64(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil && math.Abs(f) < 1<<63 {
			return int64(f)
		}
	}
	return 0
}

// Role is the author role of a message.
type Role string

// The roles. Nothing is learned from messages of a system, a developer or a tool.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleTool      Role = "tool"
)

// Roles lists every role.
func Roles() []Role { return []Role{RoleUser, RoleAssistant, RoleSystem, RoleDeveloper, RoleTool} }

// RoleOf returns the role that a program means by a name ([parts.RoleOf]). Any other name stays as it is.
func RoleOf(name string) Role {
	role, _ := parts.RoleOf(name)
	return Role(role)
}

// Utterance is a message as policies and models see it.
type Utterance struct {
	Role    Role
	Name    string // "" unknown
	Content string
	Time    time.Time
}

// UtteranceOf returns a message note as an utterance. A note without a role is a user's.
func UtteranceOf(n *Note) Utterance {
	u := Utterance{Role: RoleUser, Content: n.Content, Time: n.OccurredAt}
	if s, ok := n.Attributes[AttrRole].(string); ok && s != "" {
		u.Role = Role(s)
	}
	u.Name, _ = n.Attributes[AttrName].(string)
	return u
}

// LeaveOut replaces what was not said in a note, such as the thinking of a model and encoded data, by marks. The calls of an agent
// stay as they are: a program that has the tool reads them. It reports whether it changed the note.
func LeaveOut(n *Note) (changed bool) {
	byModel := UtteranceOf(n).Role == RoleAssistant
	if IsToolTraffic(n) && byModel {
		return false
	}
	said := n.Content
	if n.Kind == KindNote && n.Attributes[AttrRole] == nil {
		said = unsaid.MarkEnded(unsaid.MarkNamed(said, byModel))
	} else {
		said = unsaid.Mark(said, byModel)
	}
	changed, n.Content = said != n.Content, said
	return changed
}

// IsToolTraffic reports whether a message is what an agent and its tools exchanged in a run: calls as JSON, or a result. What the
// agent said to people is none.
func IsToolTraffic(n *Note) bool {
	if n.Kind != KindMessage || n.Attributes[AttrRun] == nil {
		return false
	}
	role := UtteranceOf(n).Role
	return role == RoleTool || role == RoleAssistant && n.Attributes[AttrTool] != nil && n.Attributes[AttrCall] == nil
}

// ToolTraffic returns the filter for the notes of which [IsToolTraffic] is true.
func ToolTraffic() filter.Expr {
	has := func(name string, want bool) filter.Expr {
		return &filter.Leaf{Field: filter.Attributes, Path: []string{name}, Op: filter.Exists, Want: want}
	}
	return filter.And{
		OfKinds(KindMessage), has(AttrRun, true),
		filter.Or{filter.AttributeIs(AttrRole, string(RoleTool)), filter.And{filter.AttributeIs(AttrRole, string(RoleAssistant)), has(AttrTool, true), has(AttrCall, false)}},
	}
}

// Transcripts returns the filter for messages in which nothing was said: a chat program sent a conversation that is stored already, to ask
// for a title, tags or the next questions. They are kept. A search finds them only where a filter names [AttrTranscript] or all that is
// hidden is asked for: else they would fill contexts with what is said twice.
func Transcripts() filter.Expr {
	is := func(name string) filter.Expr {
		return &filter.Leaf{Field: filter.Attributes, Path: []string{name}, Op: filter.Eq, Values: []filter.Value{{Type: filter.Bool, Bool: true}}}
	}
	// Callers have attributes of any name. Only recalled is reserved.
	return filter.And{OfKinds(KindMessage), is(AttrRecall), is(AttrTranscript)}
}

// IsTranscript reports whether [Transcripts] has a note.
func IsTranscript(n *Note) bool {
	return n.Kind == KindMessage && n.Attributes[AttrRecall] == true && n.Attributes[AttrTranscript] == true
}

// Learnable reports whether facts may be extracted from a message: its role is
// user or assistant, and its author saw no recalled memories.
func Learnable(n *Note) bool {
	if n.Attributes[AttrRecall] == true {
		return false
	}
	r := UtteranceOf(n).Role
	return r == RoleUser || r == RoleAssistant
}

// MaxMessages is how many messages one call may add.
const MaxMessages = 500
