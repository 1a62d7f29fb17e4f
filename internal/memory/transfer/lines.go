package transfer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// lines reads lines of JSON, or a JSON list, of messages ("role" and "content", or an author and a time), of conversations
// ("messages"), and of notes ("content"): what an export of slipbox has, and what programs write.
type lines struct {
	file string
	list bool
}

type anyLine struct {
	ID       json.RawMessage   `json:"id"`
	Role     string            `json:"role"`
	Name     string            `json:"name"`
	Session  json.RawMessage   `json:"session"`
	Content  json.RawMessage   `json:"content"`
	Messages []json.RawMessage `json:"messages"`
	At       json.RawMessage   `json:"occurred_at"` // a text, or seconds or milliseconds since 1970
	Time     json.RawMessage   `json:"timestamp"`
	Created  json.RawMessage   `json:"created_at"`
	Tags     []string          `json:"tags"`
}

func linesFile(s *Source) string {
	if len(s.files) == 1 {
		return s.files[0]
	}
	var found []string
	for _, name := range s.files {
		if slices.Contains([]string{".jsonl", ".ndjson"}, strings.ToLower(path.Ext(name))) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// isLines reports whether the first value of a file is an object with one of the members.
func isLines(s *Source) bool {
	name := linesFile(s)
	if name == "" {
		return false
	}
	head := strings.TrimSpace(s.head(name))
	inner := strings.TrimSpace(strings.TrimPrefix(head, "["))
	if !strings.HasPrefix(inner, "{") {
		return false
	}
	var value json.RawMessage
	if json.NewDecoder(strings.NewReader(inner)).Decode(&value) != nil { // a line that is longer than what was looked at
		return len(inner) > sniffed/2 && (begins(inner, '{', "role", "content") || begins(inner, '{', "messages", "role"))
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(value, &members)
	_, content := members["content"]
	var first anyLine // one without role and name is of a format that is not known
	_ = json.Unmarshal(firstMessage(inner), &first)
	messages := first.Role+first.Name != "" || bytes.HasPrefix(bytes.TrimSpace(members["messages"]), []byte("[]"))
	_, chat := members["name"] // an export of one chat has a name, and is not a line
	return content || messages && !chat || isAuthored(value)
}

func (t *lines) index(r *reading) ([]piece, error) {
	t.file = linesFile(r.source)
	t.list = r.isList(t.file)
	// Lines may refer to each other by their positions, and have no order but their own.
	err := t.each(r, func(json.RawMessage) error { return nil })
	return []piece{{to: -1}}, err
}

func (t *lines) each(r *reading, do func(raw json.RawMessage) error) error {
	if t.list {
		return list(r, t.file, func(raw *json.RawMessage, _, _ int64) error { return do(*raw) })
	}
	return r.stream(t.file, func(s *stream) error {
		for s.More() {
			s.meter.n = 0
			var raw json.RawMessage
			if err := s.Decode(&raw); err != nil {
				return s.broken(err)
			}
			if err := do(raw); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *lines) read(r *reading, _ piece) error {
	n := 0
	return t.each(r, func(raw json.RawMessage) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n++
		var l anyLine
		if err := json.Unmarshal(raw, &l); err != nil {
			return fault.New(fault.Invalid, "line %d is neither a message nor a note: an object with content is expected", n)
		}
		switch {
		case len(l.Messages) > 0 && l.Content == nil:
			return t.conversation(r, &l, n)
		case l.Role != "":
			return t.said(r, &l, raw, scalar(l.Session))
		}
		if m, ok := readAuthored(raw); ok {
			return t.written(r, &l, &m)
		}
		if l.Content != nil {
			return t.noted(r, &l, raw)
		}
		r.left("lines without content", 1)
		return nil
	})
}

// conversation reads a line that has many messages.
func (t *lines) conversation(r *reading, c *anyLine, n int) error {
	session := cmp.Or(scalar(c.ID), scalar(c.Session), unnumbered(r.source.name)+" "+strconv.Itoa(n))
	for _, raw := range c.Messages {
		var l anyLine
		if err := json.Unmarshal(raw, &l); err != nil {
			return fault.New(fault.Invalid, "line %d has a message that is not an object", n)
		}
		if l.Role+l.Name == "" {
			return fault.New(fault.Invalid, "line %d has a message that nobody says: role or name is expected", n)
		}
		if len(l.At)+len(l.Time)+len(l.Created) == 0 {
			l.At, l.Time, l.Created = c.At, c.Time, c.Created
		}
		if err := t.said(r, &l, raw, session); err != nil {
			return err
		}
	}
	return nil
}

func (l *anyLine) time(zone *time.Location) time.Time {
	return firstTime(zone, l.At, l.Time, l.Created)
}

func (t *lines) said(r *reading, l *anyLine, raw json.RawMessage, session string) error {
	m := message{role: l.Role, name: l.Name, session: session, at: l.time(r.Zone), text: contentOf(l.Content), id: scalar(l.ID)}
	var more struct {
		Attributes map[string]any `json:"attributes"`
	}
	if err := json.Unmarshal(raw, &more); err != nil {
		return fault.New(fault.Invalid, "a message has attributes that are not an object")
	}
	m.attributes = more.Attributes
	if m.role == "user" && m.name != "" {
		m.role = "" // a person, of whom there may be several
	}
	return r.message(m)
}

// written passes a message of a program on that names authors. A day is a session, unless the program says which.
func (t *lines) written(r *reading, l *anyLine, a *authored) error {
	m := message{id: scalar(a.ID), name: a.author(), session: scalar(l.Session), at: a.at(r.Zone), text: a.words()}
	if m.session == "" {
		m.session = dayOf(unnumbered(r.source.name), m.at)
	}
	return r.message(m)
}

// noted passes a note on as it is: the importer knows its fields.
func (t *lines) noted(r *reading, l *anyLine, raw json.RawMessage) error {
	r.report.Notes++
	r.report.count(Line{Content: contentOf(l.Content), Tags: l.Tags, OccurredAt: scalar(l.At)}, l.time(r.Zone))
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return err
	}
	return r.pass(Line{Raw: out.Bytes()})
}

// contentOf returns a text: a string, or the texts of a list of parts, as OpenAI's programs write them.
func contentOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	var said []string
	for _, p := range parts {
		if p.Text != "" {
			said = append(said, p.Text)
		}
	}
	return strings.Join(said, "\n\n")
}

// scalar returns a text or a number as text.
func scalar(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}
