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

// The summary of the messages that have left the window is a note of kind summary with the key KeyQueue.
// Its attribute AttrThrough is the id of the last message that it covers.
const (
	KeyQueue    = "queue"
	AttrThrough = "through"
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
	Tools   []memory.Tool
	Window  int // tokens
	Used    int // tokens of all parts, at most Window
	Parts   []Part
	Paging  memory.Paging
}

// messageTokens is what a message costs beside its content: its role and the marks around it.
const messageTokens = 4

// queuePage is how many messages are read at once.
const queuePage = 50

// Main builds the main context from a view (notes:read). The parts that come first have precedence: what
// is left of the window goes to the blocks, then to the summary, then to the newest messages. A block or
// summary that does not fit is cut, with a notice.
func (a *Service) Main(ctx context.Context, s tenant.Scope, v memory.View) (Main, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return Main{}, err
	}
	p, err := a.paging(&v.Collection)
	if err != nil {
		return Main{}, err
	}
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
	counted := fmt.Sprintf("It is %s UTC. Recall storage holds %d messages, archival storage %d passages.", a.clock().UTC().Format("Monday 2006-01-02 15:04"),
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
	if open = a.fit(open, m.Window-m.Used); open != "" {
		m.System += "\n\n" + open
	}
	m.add(PartFiles, a.count(open))

	through, err := a.addSummary(ctx, s, v, &m)
	if err != nil {
		return Main{}, err
	}
	if err := a.addQueue(ctx, s, v, &m, through); err != nil {
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

// addSummary adds the summary, and returns the last message that it covers; zero: none.
func (a *Service) addSummary(ctx context.Context, s tenant.Scope, v memory.View, m *Main) (through uuid.UUID, err error) {
	n, err := a.store.NoteByKey(ctx, s, v, memory.KindSummary, KeyQueue)
	if fault.Is(err, fault.NotFound) {
		m.add(PartSummary, 0)
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, err
	}
	if id, ok := n.Attributes[AttrThrough].(string); ok {
		if through, err = uuid.Parse(id); err != nil {
			through = uuid.Nil
		}
	}
	m.Summary = a.fit(text.EscapeTags(n.Content), m.Window-m.Used-messageTokens)
	m.add(PartSummary, a.sizeOf(m.Summary))
	return through, nil
}

// sizeOf returns the tokens of a message; 0 for none.
func (a *Service) sizeOf(content string) int {
	if content == "" {
		return 0
	}
	return a.count(content) + messageTokens
}

// addQueue adds the newest messages after one, as many as fit.
func (a *Service) addQueue(ctx context.Context, s tenant.Scope, v memory.View, m *Main, through uuid.UUID) error {
	tokens, room := 0, m.Window-m.Used
	var before uuid.UUID
read:
	for {
		page, err := a.store.ListNotes(ctx, s, v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, Newest: true, After: before, Limit: queuePage})
		if err != nil {
			return err
		}
		for i := range page {
			if slices.Compare(page[i].ID[:], through[:]) <= 0 {
				break read
			}
			size := a.sizeOf(page[i].Content)
			if tokens+size > room {
				break read
			}
			tokens += size
			m.Queue = append(m.Queue, page[i])
		}
		if len(page) < queuePage {
			break
		}
		before = page[len(page)-1].ID
	}
	slices.Reverse(m.Queue)
	m.add(PartMessages, tokens)
	return nil
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
