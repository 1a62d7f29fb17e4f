package letta

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
)

// The roles of messages in agent files that are not roles here.
const (
	roleFunction = "function" // tool, in old files
	roleApproval = "approval" // a call that waits, and its answer
	roleSummary  = "summary"
)

// Members of the line of an import.
const (
	lineID         = "id"
	lineKind       = "kind"
	lineKey        = "key"
	lineContent    = "content"
	lineAttributes = "attributes"
	lineOccurred   = "occurred_at"
)

// attrOK is the attribute of a result whose tool has succeeded.
const attrOK = "ok"

// line is a line of an import; see notes.Importer.
type line = map[string]any

// reader turns the messages of a file into lines. Messages that have no ids of ours get ids that follow from the
// collection and their position, so that importing a file again writes nothing.
type reader struct {
	collection *memory.Collection
	now        time.Time
	left       *left
	slipbox    *slipboxPart
	field      string // of the messages

	lines    []line
	at       time.Time // of the last message
	last     uuid.UUID
	run      uuid.UUID // of the current run of turns; zero: none
	step     int
	tools    map[string]string // that calls are of, by the ids of calls
	written  map[string]bool   // ids of calls whose message the file has
	blank    int
	other    map[string]int // parts that are not text, by type
	approval int
	cut      int
}

func newReader(c *memory.Collection, now time.Time, a *agentPart, field string, out *left) *reader {
	r := &reader{collection: c, now: now, left: out, slipbox: a.slipbox, field: field, at: c.CreatedAt, tools: map[string]string{}, written: map[string]bool{}, other: map[string]int{}}
	if a.slipbox != nil {
		for _, n := range a.slipbox.Notes {
			if attributes, ok := n[lineAttributes].(map[string]any); ok {
				if call, ok := attributes[memory.AttrCall].(string); ok {
					r.written[call] = true
				}
			}
		}
	}
	return r
}

// read turns the messages into lines, and returns the messages that have left the window.
//
//nolint:gocognit // one pass over the messages, with what the first two of the window are
func (r *reader) read(a *agentPart) error {
	if len(a.Messages) > maxMessages {
		return fault.New(fault.TooLarge, "the file has %d messages; at most %d are imported at once", len(a.Messages), maxMessages)
	}
	in := map[string]bool{}
	for _, id := range a.InContext {
		in[id] = true
	}
	shown := 0 // messages in the window so far
	var through uuid.UUID
	summary, outside := "", 0
	for i := range a.Messages {
		m := &a.Messages[i]
		field := memory.ElementField(r.field, i)
		if in[m.ID] || len(in) == 0 {
			shown++
			switch {
			case shown == 1 && m.Role == string(memory.RoleSystem):
				continue // the prompt, which is built for each step
			case shown == 2 && len(in) > 0:
				text, _, err := m.texts(field)
				if err != nil {
					return err
				}
				if said, ok := summaryOf(m.Role, text); ok {
					summary = said
					continue
				}
			}
			if len(in) > 0 && through == uuid.Nil && outside > 0 {
				through = r.last
			}
		} else if shown <= 1 {
			outside++
		}
		if err := r.message(m, field); err != nil {
			return err
		}
	}
	if err := r.summarize(summary, through, outside); err != nil {
		return err
	}
	r.report()
	return nil
}

// report lists what was left out of the messages.
func (r *reader) report() {
	for _, kind := range slices.Sorted(maps.Keys(r.other)) {
		r.left.add(r.field, fmt.Sprintf("%d parts of the type %q: only text is stored", r.other[kind], kind))
	}
	for _, l := range []struct {
		n      int
		reason string
	}{
		{r.blank, "messages without text and calls"},
		{r.approval, "requests and answers of approval: what waits there does not wait here"},
		{r.cut, "texts were cut to what a message may have"},
	} {
		if l.n > 0 {
			r.left.add(r.field, fmt.Sprintf("%d %s", l.n, l.reason))
		}
	}
}

// summaryOf returns the summary in the second message of the window, where Letta has it.
func summaryOf(role, text string) (string, bool) {
	if role == roleSummary {
		return text, strings.TrimSpace(text) != ""
	}
	var packed struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if role != string(memory.RoleUser) || json.Unmarshal([]byte(text), &packed) != nil || packed.Type != "system_alert" {
		return "", false
	}
	_, summary, ok := strings.Cut(packed.Message, summaryMark)
	if !ok {
		return "", false
	}
	if _, said, ok := strings.Cut(summary, ":\n"); ok {
		summary = said
	}
	return strings.TrimSpace(summary), true
}

// summaryMark is what the note before a summary says.
const summaryMark = "summary of the previous"

// summarize adds the summary of the messages that have left the window, or says that there is none.
func (r *reader) summarize(summary string, through uuid.UUID, outside int) error {
	if r.slipbox != nil {
		for _, n := range r.slipbox.Notes {
			if n[lineKind] != string(memory.KindSummary) {
				continue
			}
			if said, _ := n[lineContent].(string); summary == "" || strings.TrimSpace(said) == summary {
				return nil
			}
		}
		// The agent has been summed up elsewhere since it was exported.
		r.slipbox.Notes = slices.DeleteFunc(r.slipbox.Notes, func(n map[string]any) bool { return n[lineKind] == string(memory.KindSummary) })
	}
	if outside == 0 && summary == "" {
		return nil
	}
	if summary == "" {
		summary = fmt.Sprintf("[%d messages have left the window without a summary; conversation_search finds them]", outside)
	}
	attributes := map[string]any{"messages": outside}
	if through != uuid.Nil {
		attributes[memory.AttrThrough] = through.String()
	}
	content := r.bounded(summary)
	r.lines = append(r.lines, line{
		lineID: r.nextID("summary").String(), lineKind: string(memory.KindSummary), lineKey: memory.KeyQueue, lineContent: content, lineAttributes: attributes, lineOccurred: stamp(r.at),
	})
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// bounded returns a text that a note may have.
func (r *reader) bounded(s string) string {
	const notice = "… [cut at import]"
	if len(s) <= memory.MaxContentBytes {
		return s
	}
	r.cut++
	return clip.Head(s, memory.MaxContentBytes-len(notice)) + notice
}

// message adds the lines of a message.
func (r *reader) message(m *messagePart, field string) error {
	if m.CreatedAt != "" {
		at, ok := parseTime(m.CreatedAt)
		if !ok {
			return fault.InvalidField(field+".created_at", "must be %s", memory.TimeForm)
		}
		var v memory.Validation
		if at = v.EventTime(field+".created_at", at, r.now); v.Err() != nil {
			return v.Err()
		}
		r.at = at
	}
	text, others, err := m.texts(field)
	if err != nil {
		return err
	}
	for kind, n := range others {
		r.other[kind] += n
	}
	attributes := map[string]any{}
	role := memory.Role(m.Role)
	switch m.Role {
	case string(memory.RoleUser):
		r.run, text = uuid.Nil, unpackUser(text)
	case string(memory.RoleSystem), roleSummary:
		role = memory.RoleSystem
	case string(memory.RoleAssistant):
		if len(m.ToolCalls) > 0 {
			return r.turn(m, text)
		}
	case string(memory.RoleTool), roleFunction:
		return r.results(m, text)
	case roleApproval:
		r.approval++
		return nil
	default:
		return fault.InvalidField(field+".role", "must be one of user, assistant, tool, system, function, approval or summary")
	}
	attributes[memory.AttrRole] = string(role)
	if m.Name != nil && *m.Name != "" {
		attributes[memory.AttrName] = *m.Name
	}
	return r.add(m, "", text, attributes)
}

// turn adds a turn that calls tools, and the messages that it sends.
func (r *reader) turn(m *messagePart, text string) error {
	if r.run == uuid.Nil {
		r.run, r.step = uuid.NewSHA1(r.collection.ID, []byte("run "+m.ID)), 0
	}
	r.step++
	turn := memory.Turn{Role: memory.RoleAssistant, Text: text}
	for i, c := range m.ToolCalls {
		id := c.ID
		if id == "" || r.tools[id] != "" {
			id = fmt.Sprintf("%s/%d", m.ID, i)
		}
		r.tools[id] = fromLetta(c.Function.Name)
		turn.Calls = append(turn.Calls, memory.ToolCall{ID: id, Name: r.tools[id], Arguments: c.Function.Arguments})
	}
	content, err := agent.TurnContent(turn)
	if err != nil {
		return err
	}
	attributes := map[string]any{
		memory.AttrRole: string(memory.RoleAssistant), memory.AttrTool: turn.Calls[0].Name, memory.AttrRun: r.run.String(), memory.AttrStep: r.step, memory.AttrRecall: true,
	}
	if err := r.add(m, "", content, attributes); err != nil {
		return err
	}
	for _, c := range turn.Calls {
		var sent struct {
			Message string `json:"message"`
		}
		if c.Name != toolSend || r.written[c.ID] || json.Unmarshal([]byte(c.Arguments), &sent) != nil || strings.TrimSpace(sent.Message) == "" {
			continue
		}
		content := r.bounded(sent.Message)
		r.put(line{
			lineID: r.nextID(m.ID + " sent " + c.ID).String(), lineKind: string(memory.KindMessage), lineContent: content, lineOccurred: stamp(r.at),
			lineAttributes: map[string]any{
				memory.AttrRole: string(memory.RoleAssistant), memory.AttrTool: toolSend, memory.AttrCall: c.ID, memory.AttrRun: r.run.String(), memory.AttrStep: r.step, memory.AttrRecall: true,
			},
		})
	}
	return nil
}

// results adds the results of calls: one, or those of calls that were made in one turn.
func (r *reader) results(m *messagePart, text string) error {
	content, ok := unpackResult(text)
	list := m.Returns
	if len(list) < 2 {
		id := *cmp.Or(m.ToolCallID, new(""))
		if len(list) == 1 {
			id, ok = cmp.Or(id, list[0].CallID), ok && list[0].Status != "error"
			if strings.TrimSpace(content) == "" {
				content, _ = unpackResult(plain(list[0].Result))
			}
		}
		return r.result(m, "", id, content, ok)
	}
	for i, one := range list {
		content, ok := unpackResult(plain(one.Result))
		if err := r.result(m, fmt.Sprint(i), one.CallID, content, ok && one.Status != "error"); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) result(m *messagePart, place, id, content string, ok bool) error {
	tool := r.tools[id]
	if tool == "" && m.Name != nil {
		tool = fromLetta(*m.Name)
	}
	if strings.TrimSpace(content) == "" {
		content = "(empty)"
	}
	attributes := map[string]any{memory.AttrRole: string(memory.RoleTool), memory.AttrTool: tool, attrOK: ok}
	if id != "" {
		attributes[memory.AttrCall] = id
	}
	if r.run != uuid.Nil {
		attributes[memory.AttrRun], attributes[memory.AttrStep] = r.run.String(), r.step
	}
	return r.add(m, place, content, attributes)
}

// add adds a line for a message: with what an export of ours knew of it, if it is the same message.
func (r *reader) add(m *messagePart, place, content string, attributes map[string]any) error {
	out := line{lineKind: string(memory.KindMessage), lineContent: content, lineAttributes: attributes, lineOccurred: stamp(r.at)}
	known := r.known(m.ID)
	if place == "" && known != nil {
		maps.Copy(out, known)
	} else {
		out[lineID] = r.nextID(m.ID + " " + place).String()
	}
	text, _ := out[lineContent].(string)
	if strings.TrimSpace(text) == "" {
		r.blank++
		return nil
	}
	out[lineContent] = r.bounded(text)
	r.put(out)
	return nil
}

// put adds a line.
func (r *reader) put(l line) {
	if id, ok := l[lineID].(string); ok {
		if parsed, err := uuid.Parse(id); err == nil {
			r.last = parsed
		}
	}
	r.lines = append(r.lines, l)
}

// known returns what the metadata says of a message; nil when nothing, or when it is about another one, because the
// file was changed since.
func (r *reader) known(id string) map[string]any {
	if r.slipbox == nil {
		return nil
	}
	known := r.slipbox.Messages[id]
	when, _ := known[lineOccurred].(string)
	at, ok := parseTime(when)
	own, _ := known[lineID].(string)
	parsed, err := uuid.Parse(own)
	if !ok || err != nil || !at.Equal(r.at) || memory.CompareIDs(parsed, r.last) <= 0 {
		return nil
	}
	return known
}

// nextID returns an id of version 7 that is later than the last one. It follows from the collection and from what it is
// of.
func (r *reader) nextID(of string) uuid.UUID {
	var id uuid.UUID
	milli := uint64(max(0, r.at.UnixMilli()))
	seq := uint64(0)
	last := binary.BigEndian.Uint64(r.last[:8])
	if before := last >> 16; before >= milli {
		milli, seq = before, last&0xfff+1
		if seq > 0xfff {
			milli, seq = milli+1, 0
		}
	}
	sum := sha256.Sum256(append(r.collection.ID[:], of...))
	binary.BigEndian.PutUint64(id[:8], milli<<16|0x7000|seq)
	copy(id[8:], sum[:8])
	id[8] = id[8]&0x3f | 0x80
	return id
}

// unpackUser returns what a person said; Letta packs it with the time.
func unpackUser(text string) string {
	var packed struct {
		Type    string  `json:"type"`
		Message *string `json:"message"`
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || json.Unmarshal([]byte(text), &packed) != nil || packed.Type != "user_message" || packed.Message == nil {
		return text
	}
	return *packed.Message
}

// unpackResult returns the result of a tool, which Letta packs with a status and the time.
func unpackResult(text string) (string, bool) {
	var packed struct {
		Status  string          `json:"status"`
		Message json.RawMessage `json:"message"`
		Time    *string         `json:"time"`
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || json.Unmarshal([]byte(text), &packed) != nil || packed.Time == nil || packed.Status != "OK" && packed.Status != "Failed" {
		return text, true
	}
	return plain(packed.Message), packed.Status == "OK"
}

// plain returns the text of a JSON value: of a text what it says, nothing for null.
func plain(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
