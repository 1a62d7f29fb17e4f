package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// System is a memory system to measure: a policy and its settings.
type System struct {
	Name   string
	Policy string
	Config map[string]any // of the policy, if not the default
	// Step waits after each request until all jobs have ended, so that deferred work sees the same
	// memories in every run.
	Step bool
}

// TalkBudgets are the token budgets that memory systems are compared at.
var TalkBudgets = []int{500, 1000, 2000}

// Systems returns the memory systems that learn from conversations, and the plain messages to
// compare them with. Of several persons none is the owner; otherwise an assistant talks with one.
func Systems(several bool) []System {
	with := func(config map[string]any) map[string]any {
		if several {
			config["persons"] = "several"
		}
		return config
	}
	return []System{
		{Name: "messages", Policy: "none"},
		{Name: "amem", Policy: "amem"},
		{Name: "layered", Policy: "layered", Config: with(map[string]any{}), Step: true},
		{Name: "mem0", Policy: "mem0", Step: true},
		{Name: "mem0g", Policy: "mem0g", Step: true},
		// A day is summarized two seconds after its last message.
		{Name: "memorybank", Policy: "memorybank", Config: with(map[string]any{"summary_delay": 2})},
		{Name: "memoryos", Policy: "memoryos", Config: with(map[string]any{}), Step: true},
	}
}

// Stored counts the messages and derived notes of one or more collections.
type Stored struct {
	Conversations int            `json:"conversations"`
	Messages      int            `json:"messages"`
	Derived       map[string]int `json:"derived"` // notes by kind
	Tokens        int            `json:"tokens"`  // of the rendered derived notes
	Raw           int            `json:"raw"`     // tokens of the rendered messages
}

// Notes returns the number of derived notes.
func (s *Stored) Notes() int {
	n := 0
	for _, of := range s.Derived {
		n += of
	}
	return n
}

// Share returns the size of the derived text relative to the dialogue, in tokens.
func (s *Stored) Share() float64 { return float64(s.Tokens) / float64(max(s.Raw, 1)) }

func sumStored(all []Stored) Stored {
	out := Stored{Derived: map[string]int{}}
	for _, s := range all {
		out.Conversations += s.Conversations
		out.Messages += s.Messages
		out.Tokens += s.Tokens
		out.Raw += s.Raw
		for kind, n := range s.Derived {
			out.Derived[kind] += n
		}
	}
	return out
}

// Kinds of notes. Messages are not derived.
const (
	kindMessage = "message"
	kindFact    = "fact"
)

// countStored counts the notes of a collection.
func countStored(ctx context.Context, c *Client, collection string) (Stored, error) {
	out := Stored{Conversations: 1, Derived: map[string]int{}}
	err := c.CountNotes(ctx, collection, func(raw json.RawMessage) error {
		var n FoundNote
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("decode note: %w", err)
		}
		tokens := Tokens(n.rendered())
		if n.Kind == kindMessage {
			out.Messages++
			out.Raw += tokens
			return nil
		}
		out.Derived[n.Kind]++
		out.Tokens += tokens
		return nil
	})
	return out, err
}

// messagesPerAdd is the number of turns of a session per request: one of each person.
const messagesPerAdd = 2

// messagesAtOnce is the same for a system whose memories do not depend on it.
const messagesAtOnce = 50

// OpenTalk adds conversations to a memory system, two turns of a session per request, all in the
// role user. It waits until all jobs have ended, including deferred ones.
func OpenTalk(ctx context.Context, c *Client, d *Dataset, prefix string, s System, logf func(format string, args ...any)) (*Bench, error) {
	b := &Bench{Client: c, Data: d, Policy: s.Policy, Config: s.Config, Talk: true}
	start := time.Now()
	for i := range d.Conversations {
		conversation := &d.Conversations[i]
		at := time.Now()
		l, err := addConversation(ctx, c, prefix+conversation.ID, s, conversation)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", conversation.ID, err)
		}
		stored, err := countStored(ctx, c, l.Collection)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", conversation.ID, err)
		}
		if l.Pending > 0 || stored.Messages != len(conversation.Turns) {
			return nil, fmt.Errorf("%s: %d of %d messages are stored, %d notes without a vector", conversation.ID, stored.Messages, len(conversation.Turns), l.Pending)
		}
		logf("%s: %s added, %d of %d, %d messages, %d notes derived in %.1f s", d.Name, conversation.ID, i+1, len(d.Conversations), stored.Messages, stored.Notes(), time.Since(at).Seconds())
		b.Embedder = l.Embedder
		b.Loaded, b.Stored = append(b.Loaded, l), append(b.Stored, stored)
	}
	b.Loading = time.Since(start)
	return b, nil
}

// addConversation creates a collection and adds the turns.
func addConversation(ctx context.Context, c *Client, name string, s System, conversation *Conversation) (Loaded, error) {
	col, err := c.CreateConfigured(ctx, name, s.Policy, s.Config)
	if err != nil {
		return Loaded{}, fmt.Errorf("create collection %s: %w", name, err)
	}
	perAdd := messagesPerAdd
	if !s.Step {
		perAdd = messagesAtOnce
	}
	return addTurns(ctx, c, col, conversation, perAdd, func(out *Loaded, messages []Message) ([]string, error) {
		ids, err := c.AddMessages(ctx, col.ID, messages)
		if err == nil && s.Step {
			err = Drain(ctx, c, col.ID, len(out.IDs), nil)
		}
		return ids, err
	})
}

// addTurns adds the turns of a conversation, up to perAdd of a session at a time, and waits until all jobs
// have ended, including deferred ones. add sends the messages and returns the ids of their notes.
func addTurns(ctx context.Context, c *Client, col Collection, conversation *Conversation, perAdd int, add func(out *Loaded, messages []Message) ([]string, error)) (Loaded, error) {
	start := time.Now()
	turns, cuts := conversation.Turns, conversation.cuts()
	out := Loaded{Collection: col.ID, Embedder: col.Embedder, IDs: make(map[string]string, len(turns)), Revisions: map[int]int64{}}
	for len(turns) > 0 {
		n := 1
		for n < min(perAdd, len(turns)) && turns[n].Session == turns[0].Session && !cuts[len(out.IDs)+n] {
			n++
		}
		messages := make([]Message, n)
		for i := range messages {
			messages[i] = turns[i].message()
		}
		ids, err := add(&out, messages)
		if err != nil {
			return out, err
		}
		for i, id := range ids {
			out.IDs[id] = turns[i].ID
		}
		turns = turns[n:]
		if cuts[len(out.IDs)] {
			if out.Revisions[len(out.IDs)], err = headAfter(ctx, c, col.ID, len(out.IDs), nil); err != nil {
				return out, err
			}
		}
	}
	if err := Drain(ctx, c, col.ID, len(out.IDs), nil); err != nil {
		return out, err
	}
	out.Took = time.Since(start)
	failed, err := c.FailedJobs(ctx, col.ID)
	if err != nil {
		return out, err
	}
	if failed > 0 {
		return out, fmt.Errorf("%d jobs failed", failed)
	}
	col, err = c.Collection(ctx, col.ID)
	out.Notes, out.Pending = col.Counts.Notes, col.Counts.Pending
	return out, err
}

// message returns the message of a turn: the speaker is a field, not a part of the text.
func (t *Turn) message() Message {
	m := Message{
		Role: cmp.Or(t.Role, "user"), Name: t.Speaker, Content: strings.TrimPrefix(t.Text, t.Speaker+": "), OccurredAt: &t.At, Session: t.Session,
		Attributes: map[string]any{"dia_id": t.ID},
	}
	if t.Speaker == t.Role { // a role is not a name
		m.Name = ""
	}
	return m
}

// PrintStored writes a Markdown table of what the systems derived, with a row for each track. It
// writes nothing without such results.
func PrintStored(w io.Writer, results []*Result) error {
	var b strings.Builder
	seen := map[string]bool{}
	for _, r := range results {
		if r.Stored == nil || seen[r.Track] {
			continue
		}
		if len(seen) == 0 {
			b.WriteString("\n| track | derived notes | of which | tokens | share of the dialogue | tokens per conversation | seconds to load |\n|---|---|---|---|---|---|---|\n")
		}
		seen[r.Track] = true
		s := r.Stored
		kinds := make([]string, 0, len(s.Derived))
		for _, k := range slices.Sorted(maps.Keys(s.Derived)) {
			kinds = append(kinds, fmt.Sprintf("%s %d", k, s.Derived[k]))
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %.3f | %d | %.0f |\n", r.Track, s.Notes(), strings.Join(kinds, ", "), s.Tokens, s.Share(), s.Tokens/max(s.Conversations, 1), r.Loading)
	}
	return printed(io.WriteString(w, b.String()))
}
