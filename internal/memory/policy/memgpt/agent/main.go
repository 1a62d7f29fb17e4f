package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// PartName names a part of the main context.
type PartName string

// The parts, in the order of a request; the tools are sent beside it.
const (
	PartSystem   PartName = "system" // the instructions
	PartCounts   PartName = "counts"
	PartBlocks   PartName = "blocks"
	PartFiles    PartName = "files" // open views of files
	PartSummary  PartName = "summary"
	PartMessages PartName = "messages"
	PartTools    PartName = "tools"
)

// Part is the size of a part.
type Part struct {
	Name   PartName
	Tokens int
}

// Main is the main context of an agent: what the request of its next step holds.
type Main struct {
	// System is the system message: the instructions, the counts, the blocks and the open files.
	System  string
	Summary string        // of the messages that have left the window; "" when none has
	Queue   []memory.Note // the newest messages that fit, oldest first
	Turns   []memory.Turn // the queue as the model sees it
	Tools   []memory.Tool
	Window  int // tokens
	Used    int // tokens of all parts, at most Window
	Parts   []Part
	Paging  memory.Paging
	// Overflow reports that there are more messages than fit.
	Overflow bool

	through uuid.UUID    // the last message that the summary covers; zero: none
	summary *memory.Note // nil: none
}

// messageTokens is what a message costs beside its content: its role and the marks around it. callTokens is
// what a call or a result costs at most beside its texts.
const (
	messageTokens = 4
	callTokens    = 24
)

// queuePage is how many messages are read in one call.
const queuePage = 50

// Main builds the main context from a view (notes:read). The parts that come first have precedence: what
// is left of the window goes to the blocks, then to the summary, then to the newest messages. A block or
// summary that does not fit is cut, with a notice.
func (a *Service) Main(ctx context.Context, s tenant.Scope, v memory.View) (Main, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return Main{}, err
	}
	p, err := a.equipped(ctx, s, &v.Collection)
	if err != nil {
		return Main{}, err
	}
	return a.build(ctx, s, v, p, nil)
}

// build builds the main context of a run from what the agent works with; nil: of the next run.
func (a *Service) build(ctx context.Context, s tenant.Scope, v memory.View, p memory.Paging, event *memory.Note) (Main, error) {
	m := Main{Tools: p.Tools, Window: p.Window, Paging: p}
	described, err := json.Marshal(p.Tools)
	if err != nil {
		return Main{}, fault.Wrap(err, fault.Internal, "encode the tools")
	}
	tools := a.count(string(described))
	m.Used = tools
	m.add(PartSystem, a.count(p.Instructions))
	counts, err := a.store.Counts(ctx, s, v)
	if err != nil {
		return Main{}, err
	}
	now := a.clock().In(v.Collection.Zone())
	counted := fmt.Sprintf("It is %s. Recall storage holds %d messages, archival storage %d passages.", now.Format("Monday ")+memory.Minute(now),
		counts.Kinds[memory.KindMessage], counts.Kinds[memory.KindPassage]+counts.Kinds[memory.KindNote])
	m.add(PartCounts, a.count(counted))
	list, err := a.blocks.List(ctx, s, v, uuid.Nil, 0)
	if err != nil {
		return Main{}, err
	}
	blocks := a.fit(renderBlocks(list), m.Window-m.Used)
	m.add(PartBlocks, a.count(blocks))
	m.System = p.Instructions + "\n\n" + counted + "\n\n" + blocks
	open, err := a.files.Shown(ctx, s, v, m.Window)
	if err != nil {
		return Main{}, err
	}
	if open = a.fit(open, (m.Window-m.Used)/2); open != "" { // the messages need room, too
		m.System += "\n\n" + open
	}
	m.add(PartFiles, a.count(open))

	if err := a.addSummary(ctx, s, v, &m); err != nil {
		return Main{}, err
	}
	if err := a.addQueue(ctx, s, v, &m, event); err != nil {
		return Main{}, err
	}
	m.Parts = append(m.Parts, Part{PartTools, tools})
	return m, nil
}

// add adds a part. Between two parts there is at most one token that neither counts.
func (m *Main) add(name PartName, tokens int) {
	m.Parts = append(m.Parts, Part{name, tokens})
	m.Used += tokens
}

// Request returns the turns of the next request to the model: the system message, the summary as a message of
// the person's side, and the queue.
func (m *Main) Request() []memory.Turn {
	out := []memory.Turn{{Role: memory.RoleSystem, Text: m.System}}
	if m.Summary != "" {
		out = append(out, memory.Turn{Role: memory.RoleUser, Text: m.Summary})
	}
	return append(out, m.Turns...)
}

// addSummary adds the summary.
func (a *Service) addSummary(ctx context.Context, s tenant.Scope, v memory.View, m *Main) error {
	n, err := a.store.NoteByKey(ctx, s, v, memory.KindSummary, memory.KeyQueue)
	if fault.Is(err, fault.NotFound) {
		m.add(PartSummary, 0)
		return nil
	}
	if err != nil {
		return err
	}
	if through, ok := memory.SumsUp(&n); ok {
		m.through = through
	}
	m.summary = &n
	said := n.Content
	if n.Provenance.Stale { // it may say what was deleted since
		said = "[what has left the window is being summed up again; conversation_search finds it]"
	}
	m.Summary = a.fit("<summary>\n"+text.EscapeTags(said)+"\n</summary>", m.Window-m.Used-messageTokens)
	m.add(PartSummary, a.sizeOf(m.Summary))
	return nil
}

// shareOfEvent is the part of the window that an event may have that has left the queue: one in so many.
const shareOfEvent = 8

// sizeOf returns the tokens of a message; 0 for none.
func (a *Service) sizeOf(content string) int {
	if content == "" {
		return 0
	}
	return a.count(content) + messageTokens
}

// sizeOfTurn returns the tokens of a turn, with room for the results of its calls when there are none yet.
func (a *Service) sizeOfTurn(t *memory.Turn) int {
	size := messageTokens
	if t.Text != "" {
		size += a.count(t.Text)
	}
	if t.Role == memory.RoleTool {
		size += callTokens
	}
	for _, c := range t.Calls {
		size += a.count(c.Name+c.Arguments) + 2*callTokens
	}
	return size
}

// addQueue adds the newest messages after the summary, as many as fit. The newest one is cut when it alone
// is too long. The event of the current run is added even when it has left the window: the agent works on it, and endpoints
// refuse or continue a request that ends with what the assistant said before.
func (a *Service) addQueue(ctx context.Context, s tenant.Scope, v memory.View, m *Main, event *memory.Note) error {
	room, taken := m.Window-m.Used, 0
	var current uuid.UUID
	var turns []queued
	if event != nil {
		current = event.ID
		if memory.CompareIDs(event.ID, m.through) <= 0 {
			q := queued{note: *event, turn: turnFor(event)}
			q.turn.Text = a.fit(q.turn.Text, m.Window/shareOfEvent)
			taken, turns = a.sizeOfTurn(&q.turn), append(turns, q)
		}
	}
	list, err := a.newest(ctx, s, v, m, room-taken)
	if err != nil {
		return err
	}
	m.Turns = arrange(append(turns, list...), current)
	used := 0
	for i := range m.Turns {
		used += a.sizeOfTurn(&m.Turns[i])
		used -= callTokens * len(m.Turns[i].Calls) // their results are in the list
	}
	for i := range list {
		m.Queue = append(m.Queue, list[i].note)
	}
	m.add(PartMessages, min(used, room))
	return nil
}

// newest returns the newest messages after the summary, as many as have room, oldest first.
func (a *Service) newest(ctx context.Context, s tenant.Scope, v memory.View, m *Main, room int) ([]queued, error) {
	tokens := 0
	var list []queued
	for n, err := range memory.EachNote(ctx, a.store, s, v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, Newest: true, Limit: queuePage}) {
		if err != nil {
			return nil, err
		}
		if memory.CompareIDs(n.ID, m.through) <= 0 {
			break
		}
		if isWritten(n) {
			continue
		}
		q := queued{note: *n, turn: turnFor(n)}
		if q.size = a.sizeOfTurn(&q.turn); tokens+q.size > room {
			m.Overflow = true
			if !a.shorten(&q, room-tokens, len(list) == 0) {
				break
			}
		}
		tokens += q.size
		list = append(list, q)
	}
	slices.Reverse(list)
	return list, nil
}

// shorten cuts a message that does not fit. Only the newest one and results of tools are cut, since the model
// needs the end of the queue; ok is false when nothing useful remains.
func (a *Service) shorten(q *queued, room int, newest bool) (ok bool) {
	const least = 64 // tokens
	if !newest && q.turn.Role != memory.RoleTool || room < least || len(q.turn.Calls) > 0 {
		return false
	}
	share := room - messageTokens - callTokens
	if !newest {
		share /= 2 // its call comes before it
	}
	q.turn.Text = a.fit(q.turn.Text, share)
	q.size = a.sizeOfTurn(&q.turn)
	return q.turn.Text != "" && q.size <= room
}

// renderBlocks renders blocks between marks that their text cannot forge.
func renderBlocks(list []memory.Note) string {
	var b strings.Builder
	b.WriteString("<memory_blocks>\n")
	for i := range list {
		it := block.Of(&list[i])
		fmt.Fprintf(&b, "<block label=%q characters=\"%d of %d\"", text.EscapeTags(it.Label), utf8.RuneCountInString(it.Value), it.Limit)
		if it.ReadOnly {
			b.WriteString(` read_only="true"`)
		}
		b.WriteString(">\n")
		if it.Description != "" {
			b.WriteString("<description>" + text.EscapeTags(it.Description) + "</description>\n")
		}
		if it.Value != "" {
			b.WriteString(text.EscapeTags(it.Value) + "\n")
		}
		b.WriteString("</block>\n")
	}
	b.WriteString("</memory_blocks>")
	return b.String()
}

// fit returns a text that has at most so many tokens, cut with a notice when it has more; "" when not
// even the notice fits.
func (a *Service) fit(s string, tokens int) string {
	if a.count(s) <= tokens {
		return s
	}
	least, most := 0, utf8.RuneCountInString(s) // characters that fit, and that do not
	for most-least > 1 {
		if middle := (least + most) / 2; a.count(cut(s, middle)) <= tokens {
			least = middle
		} else {
			most = middle
		}
	}
	if out := cut(s, least); a.count(out) <= tokens {
		return out
	}
	return ""
}
