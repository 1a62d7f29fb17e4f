package letta

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// pageNotes is how many notes one read returns.
const pageNotes = 500

// Export returns the memory of an agent as an agent file (notes:read). Conflict when it is too much for one file.
func (l *Service) Export(ctx context.Context, s tenant.Scope, ref string) ([]byte, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	v, err := l.store.OpenView(ctx, s, ref, memory.At{})
	if err != nil {
		return nil, err
	}
	if err := l.agentOnly(&v.Collection); err != nil {
		return nil, err
	}
	ex := exportRun{l: l, s: s, v: v, own: slipboxPart{Version: slipboxVersion, Messages: map[string]map[string]any{}}}
	if len(v.Collection.PolicyConfig) > 0 { // with its members in order, so that equal agents have equal files
		var config any
		if err := decode(v.Collection.PolicyConfig, &config, ""); err != nil {
			return nil, err
		}
		if ex.own.Config, err = json.Marshal(config); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "encode the settings")
		}
	}
	doc, err := ex.document(ctx)
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(doc)
	return out, fault.Wrap(err, fault.Internal, "the agent file cannot be encoded")
}

// exportRun is a running export.
type exportRun struct {
	l   *Service
	s   tenant.Scope
	v   memory.View
	own slipboxPart

	messages []memory.Note
	summary  *memory.Note // of the queue; nil: none
	size     int64
	left     left
}

func (ex *exportRun) document(ctx context.Context) (*document, error) {
	if err := ex.read(ctx); err != nil {
		return nil, err
	}
	main, err := ex.l.agent.Main(ctx, ex.s, ex.v)
	if err != nil {
		return nil, err
	}
	c := &ex.v.Collection
	var about aboutAgent
	if raw, err := json.Marshal(c.Metadata[metaFile]); err == nil && json.Unmarshal(raw, &about) != nil { // it was changed by a caller
		about = aboutAgent{}
	}
	now := stamp(ex.l.clock())
	doc := &document{
		Groups: []json.RawMessage{}, Files: []json.RawMessage{}, Sources: []json.RawMessage{}, MCPServers: []json.RawMessage{}, Metadata: map[string]any{},
		Blocks: []blockPart{}, Tools: []toolPart{}, CreatedAt: now,
	}
	a := agentPart{
		ID: "agent-0", Name: cmp.Or(about.Name, c.DisplayName, c.Name), Description: &about.Description, AgentType: cmp.Or(about.AgentType, "memgpt_agent"),
		System: &main.Paging.Instructions, BlockIDs: []string{}, Inline: []blockPart{}, ToolIDs: []string{}, Tags: append([]string{}, about.Tags...),
		Messages: []messagePart{}, InContext: []string{}, ToolRules: exportRules(main.Paging.Rules, main.Paging.Approve),
	}
	if err := ex.blocks(ctx, doc, &a); err != nil {
		return nil, err
	}
	ex.tools(doc, &a, main.Tools, about.Tools)
	if err := ex.queue(&a, main.System, now); err != nil {
		return nil, err
	}
	attached, err := ex.l.store.Attachments(ctx, ex.s, memory.AttachmentQuery{Collection: c.ID})
	if err != nil {
		return nil, err
	}
	for _, at := range attached {
		if at.Mode == memory.AttachFolder {
			ex.left.add("folders", fmt.Sprintf("the folder %s is attached: files are not carried", at.Block))
		}
	}
	for _, l := range ex.left.sorted() {
		ex.own.Left = append(ex.own.Left, map[string]string{"path": l.Path, "reason": l.Reason})
	}
	a.Metadata = map[string]any{slipboxMember: ex.own}
	doc.Agents = []agentPart{a}
	return doc, nil
}

// read reads the notes. Those that are not messages of the queue go into the metadata.
func (ex *exportRun) read(ctx context.Context) error {
	for n, err := range memory.EachNote(ctx, ex.l.store, ex.s, ex.v, memory.NoteQuery{Kinds: carriedKinds(), Limit: pageNotes}) {
		if err != nil {
			return err
		}
		if ex.size += n.Size(); ex.size > maxExport {
			return fault.New(fault.Conflict, "the memory has more than %d MiB of text, too much for one file; page through messages and notes instead", maxExport>>20)
		}
		switch {
		case n.Kind == memory.KindMessage && !agent.IsWritten(n):
			ex.messages = append(ex.messages, *n)
			continue
		case n.Kind == memory.KindSummary && n.Key == memory.KeyQueue:
			ex.summary = n
		}
		l := lineOf(n)
		l[lineKind], l[lineContent] = string(n.Kind), n.Content
		ex.own.Notes = append(ex.own.Notes, l)
	}
	if len(ex.messages) > maxMessages || len(ex.own.Notes) > maxMessages {
		return fault.New(fault.Conflict, "the memory has more than %d messages or passages, too much for one file", maxMessages)
	}
	return nil
}

// lineOf returns a note as a line of an import, without kind and content.
func lineOf(n *memory.Note) line {
	l := line{lineID: n.ID.String(), lineOccurred: stamp(n.OccurredAt), "created_at": stamp(n.CreatedAt), "importance": n.Importance}
	for name, text := range map[string]string{lineKey: n.Key, "context": n.Context, "category": n.Category} {
		if text != "" && text != memory.DefaultCategory {
			l[name] = text
		}
	}
	for name, list := range map[string][]string{"keywords": n.Keywords, "tags": n.Tags} {
		if len(list) > 0 {
			l[name] = list
		}
	}
	l[lineAttributes] = n.Attributes
	if n.Attributes == nil {
		l[lineAttributes] = map[string]any{}
	}
	return l
}

// blocks adds the blocks. One that is attached becomes one of the agent's own.
func (ex *exportRun) blocks(ctx context.Context, doc *document, a *agentPart) error {
	list, err := ex.l.blocks.List(ctx, ex.s, ex.v, uuid.Nil, 0)
	if err != nil {
		return err
	}
	for i := range list {
		b := block.Of(&list[i])
		id := fmt.Sprintf("block-%d", i)
		if list[i].Collection != ex.v.Collection.ID {
			ex.left.add(memory.ElementField("blocks", i), "it is shared with other agents; the file has a copy")
		}
		p := blockPart{ID: id, Label: b.Label, Value: b.Value, Limit: &b.Limit, ReadOnly: b.ReadOnly, Metadata: b.Metadata, Description: &b.Description}
		if p.Metadata == nil {
			p.Metadata = map[string]any{}
		}
		doc.Blocks = append(doc.Blocks, p)
		a.BlockIDs = append(a.BlockIDs, id)
	}
	return nil
}

// tools adds the tools of the agent, and the names of those that an imported file had besides.
func (ex *exportRun) tools(doc *document, a *agentPart, list []memory.Tool, names []string) {
	for _, t := range list {
		schema, err := json.Marshal(map[string]any{"name": toLetta(t.Name), "description": t.Description, "parameters": t.Parameters})
		if err != nil {
			continue
		}
		doc.Tools = append(doc.Tools, toolPart{Name: toLetta(t.Name), Description: t.Description, ToolType: "letta_core", SourceType: "python", Tags: []string{}, JSONSchema: schema})
	}
	for _, name := range names {
		doc.Tools = append(doc.Tools, toolPart{Name: name, ToolType: "custom", SourceType: "python", Tags: []string{}})
	}
	for i := range doc.Tools {
		doc.Tools[i].ID = fmt.Sprintf("tool-%d", i)
		a.ToolIDs = append(a.ToolIDs, doc.Tools[i].ID)
	}
}

// queue adds the messages: the prompt, the summary, and all that were said. In the context are the first two and the
// messages that the summary does not cover.
func (ex *exportRun) queue(a *agentPart, prompt, now string) error {
	var through uuid.UUID
	if ex.summary != nil {
		if id, ok := memory.SumsUp(ex.summary); ok {
			through = id
		}
	}
	add := func(m messagePart, shown bool) *messagePart {
		m.ID, m.Type = fmt.Sprintf("message-%d", len(a.Messages)), "message"
		if m.Returns == nil {
			m.Returns = []returnPart{}
		}
		if shown {
			a.InContext = append(a.InContext, m.ID)
		}
		a.Messages = append(a.Messages, m)
		return &a.Messages[len(a.Messages)-1]
	}
	add(messagePart{Role: string(memory.RoleSystem), Content: textContent(prompt), CreatedAt: now}, true)
	summed := ex.summary == nil
	check := newReader(&ex.v.Collection, ex.l.clock().Add(memory.MaxEventAhead), &agentPart{}, "", &left{})
	for i := range ex.messages {
		n := &ex.messages[i]
		shown := memory.CompareIDs(n.ID, through) > 0
		if shown && !summed {
			summed = true
			add(ex.summaryMessage(), true)
		}
		m := add(messageOf(n), shown)
		known := lineOf(n)
		// What an import would make of the message is compared with the message.
		check.lines = nil
		if err := check.message(m, ""); err != nil {
			return err
		}
		if len(check.lines) == 0 || check.lines[0][lineContent] != n.Content {
			known[lineContent] = n.Content
		}
		ex.own.Messages[m.ID] = known
	}
	if !summed {
		add(ex.summaryMessage(), true)
	}
	return nil
}

// summaryMessage returns the summary in the form in which Letta has it.
func (ex *exportRun) summaryMessage() messagePart {
	at := ex.summary.OccurredAt
	text, err := json.Marshal(map[string]any{
		"type": "system_alert", "time": at.UTC().Format(time.RFC3339),
		"message": "Note: prior messages have been hidden from view due to conversation memory constraints.\nThe following is a " + summaryMark + " messages:\n" + ex.summary.Content,
	})
	if err != nil {
		text = nil
	}
	return messagePart{Role: string(memory.RoleUser), Content: textContent(string(text)), CreatedAt: stamp(at)}
}

func textContent(s string) json.RawMessage {
	raw, err := json.Marshal([]contentPart{{Type: "text", Text: s}})
	if err != nil {
		return json.RawMessage("[]")
	}
	return raw
}

// messageOf returns a message in the form of the file.
func messageOf(n *memory.Note) messagePart {
	said := memory.UtteranceOf(n)
	m := messagePart{Role: string(said.Role), Content: textContent(n.Content), CreatedAt: stamp(n.OccurredAt)}
	if said.Role == memory.RoleDeveloper {
		m.Role = string(memory.RoleSystem)
	}
	if said.Name != "" {
		m.Name = &said.Name
	}
	if turn, ok := agent.CallsOf(n); ok {
		m.Content = textContent(turn.Text)
		for _, c := range turn.Calls {
			arguments := c.Arguments
			if strings.TrimSpace(arguments) == "" {
				arguments = "{}"
			}
			m.ToolCalls = append(m.ToolCalls, callPart{ID: c.ID, Type: "function", Function: functionPart{Name: toLetta(c.Name), Arguments: arguments}})
		}
	}
	call, _ := n.Attributes[memory.AttrCall].(string)
	if said.Role == memory.RoleTool {
		if tool, ok := n.Attributes[memory.AttrTool].(string); ok {
			name := toLetta(tool)
			m.Name = &name
		}
		status := "success"
		if n.Attributes[attrOK] == false {
			status = "error"
		}
		if call != "" {
			m.ToolCallID = &call
			raw, err := json.Marshal(n.Content)
			if err == nil {
				m.Returns = []returnPart{{CallID: call, Status: status, Result: raw}}
			}
		}
	}
	return m
}
