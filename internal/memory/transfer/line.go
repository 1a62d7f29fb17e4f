package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/clip"
)

const (
	maxContent = 16_000  // characters of the text of a line; what is longer becomes several
	maxSeen    = 1 << 17 // messages of one time that are compared with each other
	maxLabel   = 200     // bytes of a name or a session
	maxPeople  = 1_000   // that a report names
	shown      = 3       // messages that a report shows
	maxShown   = 280     // characters of such a message
)

// Line is one line of an import: a message if it has a role, else a note. Raw is a line as the source has it.
type Line struct {
	ID         string         `json:"id,omitempty"` // of a message: the same in each export
	Role       string         `json:"role,omitempty"`
	Name       string         `json:"name,omitempty"`
	Session    string         `json:"session,omitempty"`
	Content    string         `json:"content"`
	OccurredAt string         `json:"occurred_at,omitempty"`
	Tags       []string       `json:"tags,omitempty"`
	Links      []int          `json:"links,omitempty"` // of a note: the positions of other lines, from 0
	Attributes map[string]any `json:"attributes,omitempty"`
	Infer      *bool          `json:"infer,omitempty"` // nil: true

	Raw json.RawMessage `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (l Line) MarshalJSON() ([]byte, error) {
	if l.Raw != nil {
		return l.Raw, nil
	}
	type plain Line
	return json.Marshal(plain(l))
}

// Report is what was understood of a source.
type Report struct {
	Format   string         `json:"format"`
	What     string         `json:"what"`
	Messages int            `json:"messages"`
	Notes    int            `json:"notes"`
	Sessions int            `json:"sessions"`
	People   []Person       `json:"people"` // most messages first
	From     string         `json:"from,omitempty"`
	To       string         `json:"to,omitempty"`
	Undated  int            `json:"undated"`
	First    []Line         `json:"first"`
	Left     map[string]int `json:"left"`             // what was left out, with how often
	Doubts   []string       `json:"doubts,omitempty"` // what the source does not say, and what was assumed
	// AskMe is set where the memory is of one person, and nothing says who that is.
	AskMe bool `json:"ask_me"`

	people  map[string]int
	first   time.Time
	last    time.Time
	session string
}

// Person is somebody who speaks in a source.
type Person struct {
	Name     string `json:"name"`
	Messages int    `json:"messages"`
}

// message is a message as a translator reads it.
type message struct {
	id         string // unique in the source; "": it has none
	role       string // "": of a person
	name       string
	session    string
	at         time.Time
	text       string
	files      []string // their names
	attributes map[string]any
}

func (r *reading) left(reason string, n int) { r.report.Left[reason] += n }

// message passes a message on.
func (r *reading) message(m message) error {
	m.text = plain(m.text)
	for i := range m.files {
		m.files[i] = label(m.files[i])
	}
	m.files = slices.DeleteFunc(m.files, func(name string) bool { return name == "" })
	if m.text == "" {
		m.text = strings.Join(m.files, "\n")
	}
	switch {
	case m.text == "":
		r.left("messages without words", 1)
		return nil
	case !r.Since.IsZero() && !m.at.IsZero() && m.at.Before(r.Since):
		r.left("messages before the date that was asked for", 1)
		return nil
	}
	at := r.time(m.at)
	m.name, m.session = label(m.name), label(m.session)
	if m.id == "" {
		m.id = r.idOf(m, at)
	}
	if r.several && r.twice(m.id) {
		r.left("messages that are there twice", 1)
		return nil
	}
	l := Line{Role: m.role, Name: m.name, Session: m.session, OccurredAt: at, Attributes: m.attributes}
	if l.Attributes == nil {
		l.Attributes = map[string]any{}
	}
	l.Attributes["source"] = r.report.Format
	if len(m.files) > 0 {
		l.Attributes["files"] = m.files
	}
	if l.Role == "" {
		l.Role = r.roleOf(m.name)
		r.report.person(m.name)
	}
	if l.Role == "user" && l.Name == "" {
		l.Name = r.Me
	}
	r.report.Messages++
	l.Content = m.text
	r.report.count(l, m.at)
	for i, part := range Pieces(m.text, maxContent) {
		l.Content, l.ID = part, clip.Bytes(r.report.Format+":"+m.id, maxLabel)
		if i > 0 {
			l.ID += fmt.Sprintf("/%d", i+1)
		}
		if err := r.pass(l); err != nil {
			return err
		}
	}
	return nil
}

// twice reports whether a message with this id came before. It keeps the beginnings of digests.
func (r *reading) twice(id string) bool {
	sum := sha256.Sum256([]byte(id))
	key := [8]byte(sum[:8])
	was := r.known[key]
	r.known[key] = true
	return was
}

// idOf returns an id for a message that has none: of what it says, and of how often it was said at that time. So the same
// message has the same id in a longer export of the same chat.
func (r *reading) idOf(m message, at string) string {
	switch when := m.session + "\x00" + at; {
	case when != r.seenAt:
		clear(r.seen)
		r.seenAt, r.round = when, 0
	case len(r.seen) == maxSeen: // of messages without a date
		clear(r.seen)
		r.round++
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %d", m.session, at, m.role, m.name, m.text, r.round))
	id := hex.EncodeToString(sum[:12])
	r.seen[id]++
	if n := r.seen[id]; n > 1 {
		id += fmt.Sprintf(".%d", n)
	}
	return id
}

// roleOf returns the role of a person.
func (r *reading) roleOf(name string) string {
	if r.OnePerson && folded(name) != folded(r.Me) {
		return "assistant"
	}
	return "user"
}

// note passes a note on.
func (r *reading) note(l Line, at time.Time) error {
	if !r.Since.IsZero() && !at.IsZero() && at.Before(r.Since) {
		r.left("notes before the date that was asked for", 1)
		return nil
	}
	l.OccurredAt = r.time(at)
	r.report.Notes++
	r.report.count(l, at)
	return r.pass(l)
}

func (r *reading) pass(l Line) error {
	r.lines++
	return r.yield(l)
}

// time returns a time as a line has it. One that cannot be right is left out: then the time of the import is taken.
func (r *reading) time(at time.Time) string {
	if at.IsZero() || at.Unix() == 0 || at.Year() < 1900 || at.After(r.Now.Add(time.Minute)) {
		r.report.Undated++
		return ""
	}
	return at.Format(time.RFC3339Nano)
}

func (p *Report) person(name string) {
	if _, known := p.people[name]; known || len(p.people) < maxPeople {
		p.people[name]++
	}
}

func (p *Report) count(l Line, at time.Time) {
	if l.Session != "" && l.Session != p.session {
		p.session = l.Session
		p.Sessions++
	}
	if l.OccurredAt != "" && !at.IsZero() {
		if p.first.IsZero() || at.Before(p.first) {
			p.first = at
		}
		if at.After(p.last) {
			p.last = at
		}
	}
	if len(p.First) < shown {
		l.Content = clip.Runes(l.Content, maxShown)
		l.Attributes, l.Raw = nil, nil
		if at.IsZero() {
			l.OccurredAt = "" // a line may have there something that is not a time
		}
		p.First = append(p.First, l)
	}
}

func (p *Report) finish(o Options) {
	for _, name := range slices.Sorted(maps.Keys(p.people)) {
		if name != "" {
			p.People = append(p.People, Person{name, p.people[name]})
		}
	}
	slices.SortStableFunc(p.People, func(a, b Person) int { return b.Messages - a.Messages })
	if !p.first.IsZero() {
		p.From, p.To = p.first.Format(time.RFC3339), p.last.Format(time.RFC3339)
	}
	known := slices.ContainsFunc(p.People, func(one Person) bool { return folded(one.Name) == folded(o.Me) })
	p.AskMe = o.OnePerson && len(p.People) > 1 && !known
	if p.People == nil {
		p.People = []Person{}
	}
	if p.First == nil {
		p.First = []Line{}
	}
}

// plain returns a text without the marks that programs put around and into it, and without zero bytes.
func plain(text string) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case c == '\u200e', c == '\u200f', c >= '\u202a' && c <= '\u202e', c >= '\u2066' && c <= '\u2069', c == '\ufeff':
			return -1
		case c == '\u202f':
			return ' '
		case unicode.IsControl(c) && c != '\n' && c != '\t':
			return -1
		}
		return c
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	return strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
}

// label returns a name in one line.
func label(text string) string {
	text = strings.Join(strings.Fields(plain(text)), " ")
	if len(text) <= maxLabel {
		return text
	}
	return clip.Bytes(text, maxLabel)
}

// Pieces cuts a text into parts of at most size characters, at the last empty line, line end or space that fits.
func Pieces(text string, size int) []string {
	var out []string
	for text != "" {
		end := 0 // in bytes
		for range size {
			_, n := utf8.DecodeRuneInString(text[end:])
			end += n
		}
		if end == len(text) {
			return append(out, text)
		}
		for _, sep := range []string{"\n\n", "\n", " "} {
			if i := strings.LastIndex(text[:end], sep); i > 0 {
				end = i
				break
			}
		}
		if part := strings.TrimSpace(text[:end]); part != "" {
			out = append(out, part)
		}
		text = strings.TrimSpace(text[end:])
	}
	return out
}
