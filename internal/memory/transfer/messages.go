package transfer

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// messages reads an object with a list of messages that have an author and a time, under any of the names below: what Instagram
// and Messenger export, and what DiscordChatExporter writes. A day of a chat is a session.
type messages struct {
	files []string
	names names
	owner string            // of Discord's own export, which has what one person wrote alone
	chats map[string]string // in it, the titles by ids
}

// authored is a message, with the names that programs have for its author and its time.
type authored struct {
	ID         json.RawMessage `json:"id"`
	Type       json.RawMessage `json:"type"`
	SenderName string          `json:"sender_name"`
	SenderOf   string          `json:"senderName"`
	Author     json.RawMessage `json:"author"`
	From       json.RawMessage `json:"from"`
	Sender     json.RawMessage `json:"sender"`
	Millis     json.RawMessage `json:"timestamp_ms"`
	Time       json.RawMessage `json:"timestamp"`
	Date       json.RawMessage `json:"date"`
	Created    json.RawMessage `json:"created_at"`
	Content    json.RawMessage `json:"content"`
	Contents   json.RawMessage `json:"contents"`
	Text       json.RawMessage `json:"text"`
	Body       json.RawMessage `json:"body"`
	Forwarded  json.RawMessage `json:"forwardedMessage"`
	Embeds     json.RawMessage `json:"embeds"`
	Files      json.RawMessage `json:"attachments"`
	Share      json.RawMessage `json:"share"`
}

// embed is a card of Discord: what a bot says, or a look at what a link leads to.
type embed struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Fields      []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"fields"`
}

// author is who wrote a message.
type author struct {
	ID       json.RawMessage `json:"id"`
	Name     string          `json:"name"`
	Nickname string          `json:"nickname"` // on a server of Discord
	Bot      bool            `json:"isBot"`
}

// discordSaid are the kinds of what somebody says: the answer of a program to a command has a number, or a name in newer exports.
var discordSaid = []string{"", "Default", "Reply", "20", "ChatInputCommand", "23", "ContextMenuCommand"}

// channel is where messages are from.
type channel struct {
	title   string
	discord bool
}

// messageFiles returns the files of a source that have such messages: an export of Instagram, Messenger or DiscordChatExporter has many.
func messageFiles(s *Source) (out []string) {
	for _, name := range s.files {
		if path.Base(name) == "messages.json" && begins(s.head(name), '[', "ID", "Timestamp", "Contents") {
			out = append(out, name)
		} else if (len(s.files) == 1 || strings.EqualFold(path.Ext(name), ".json")) && isAuthored(firstMessage(s.head(name))) {
			out = append(out, name)
		}
	}
	return out
}

func isMessages(s *Source) bool { return len(messageFiles(s)) > 0 }

// firstMessage returns the first of the list of messages of an object, of which only the beginning is known; nil: there is none.
func firstMessage(head string) (raw json.RawMessage) {
	s := newStream(strings.NewReader(head), "")
	_ = s.members(func(name string) error {
		if name != "messages" || raw != nil {
			return s.skip()
		}
		return s.elements(func() error {
			if raw != nil {
				return s.skip()
			}
			return s.Decode(&raw)
		})
	})
	return raw
}

// readAuthored reads a message; ok reports whether it has an author and a time.
func readAuthored(raw json.RawMessage) (m authored, ok bool) {
	ok = json.Unmarshal(raw, &m) == nil && m.author() != "" && !m.at(time.UTC).IsZero()
	return m, ok
}

func isAuthored(raw json.RawMessage) bool {
	_, ok := readAuthored(raw)
	return ok
}

func (m *authored) by() (of author) {
	for _, raw := range []json.RawMessage{m.Author, m.From, m.Sender} {
		_ = json.Unmarshal(raw, &of) // a name, or an object with one
		if of.Name = cmp.Or(of.Nickname, of.Name, scalar(raw)); of.Name != "" {
			return of
		}
	}
	return author{Name: cmp.Or(repaired(m.SenderName), m.SenderOf)}
}

func (m *authored) author() string { return m.by().Name }

func (m *authored) at(zone *time.Location) time.Time {
	return firstTime(zone, m.Millis, m.Time, m.Date, m.Created)
}

// words returns what a message says.
func (m *authored) words() string {
	said := cmp.Or(contentOf(m.Content), contentOf(m.Text), contentOf(m.Body), contentOf(m.Contents))
	if m.SenderName != "" {
		var share struct {
			Link string `json:"link"`
			Text string `json:"share_text"`
		}
		_ = json.Unmarshal(m.Share, &share) // in other programs, it is something else
		return repaired(cmp.Or(said, joined([]string{share.Text, share.Link}, "\n")))
	}
	if said != "" && !m.by().Bot {
		return said // an embed is of a link in it
	}
	if forwarded, ok := m.forwarded(); ok && said == "" {
		return forwarded.words()
	}
	var embeds []embed
	_ = json.Unmarshal(m.Embeds, &embeds)
	parts := []string{said}
	for _, e := range embeds {
		parts = append(parts, e.Title, e.Description)
		for _, f := range e.Fields {
			parts = append(parts, joined([]string{f.Name, f.Value}, ": "))
		}
	}
	return joined(parts, "\n")
}

// forwarded returns the message that a message of Discord passes on: it has no words of its own then.
func (m *authored) forwarded() (of authored, ok bool) {
	return of, len(m.Forwarded) > 0 && json.Unmarshal(m.Forwarded, &of) == nil && len(of.Forwarded) == 0
}

// message returns it as a line has it.
func (t *messages) message(m *authored, zone *time.Location) message {
	by := m.by()
	out := message{id: scalar(m.ID), name: cmp.Or(by.Name, t.owner), at: m.at(zone), text: m.words()}
	if id := scalar(by.ID); id != "" {
		out.name = t.names.of(id)
	}
	if by.Bot {
		out.role = "assistant"
	}
	var attached []struct {
		Name string `json:"fileName"`
	}
	_ = json.Unmarshal(m.Files, &attached)
	for _, f := range attached {
		out.files = append(out.files, f.Name)
	}
	return out
}

// repaired returns a text whose UTF-8 was written as Latin-1, as Meta does; others as they are.
func repaired(text string) string {
	raw, err := charmap.ISO8859_1.NewEncoder().String(text)
	if err != nil || !utf8.ValidString(raw) {
		return text
	}
	return raw
}

// each calls do for the messages of a file, and returns where they are from.
func (t *messages) each(r *reading, name string, do func(m *authored) error) (c channel, err error) {
	one := func(m *authored, _, _ int64) error { return do(m) }
	if r.isList(name) {
		c.title = strings.TrimPrefix(path.Base(path.Dir(name)), "c")
		c.title = cmp.Or(t.chats[c.title], c.title)
		return c, list(r, name, one)
	}
	err = r.stream(name, func(s *stream) error {
		return s.members(func(member string) error {
			var raw json.RawMessage
			switch member {
			case "title", "name", "threadName", "channel":
				if err := s.Decode(&raw); err != nil {
					return err
				}
				var of struct {
					Name string `json:"name"`
				}
				c.discord = c.discord || member == "channel"
				_ = json.Unmarshal(raw, &of) // a name, or an object with one
				c.title = cmp.Or(of.Name, repaired(scalar(raw)), c.title)
				return nil
			case "messages":
				return decodeList(r, s, one)
			}
			return s.skip()
		})
	})
	c.title = cmp.Or(c.title, stem(path.Base(name)))
	return c, err
}

// readOwner reads whose export of Discord it is, and the titles of its chats.
func (t *messages) readOwner(r *reading) error {
	if len(t.files) == 0 || path.Base(t.files[0]) != "messages.json" {
		return nil
	}
	user, err := decodeFile[struct {
		Name   string `json:"username"`
		Called string `json:"global_name"`
	}](r, r.source.find("user.json"))
	if err != nil {
		return err
	}
	t.owner = cmp.Or(user.Called, user.Name)
	if index := path.Join(path.Dir(path.Dir(t.files[0])), "index.json"); slices.Contains(r.source.files, index) {
		t.chats, err = decodeFile[map[string]string](r, index)
	}
	return err
}

func (t *messages) index(r *reading) (pieces []piece, err error) {
	t.files, t.names = messageFiles(r.source), newNames()
	r.several = len(t.files) > 1
	if err := t.readOwner(r); err != nil {
		return nil, err
	}
	for i, name := range t.files {
		p := piece{file: i, to: -1}
		_, err := t.each(r, name, func(m *authored) error {
			p.at = max(p.at, unix(m.at(r.Zone)))
			by := m.by()
			t.names.add(scalar(by.ID), by.Name)
			return nil
		})
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// read passes the messages of a file on, oldest first: some programs write the newest first.
func (t *messages) read(r *reading, p piece) error {
	var all []message
	var kinds []string
	c, err := t.each(r, t.files[p.file], func(m *authored) error {
		all, kinds = append(all, t.message(m, r.Zone)), append(kinds, scalar(m.Type))
		return nil
	})
	if err != nil {
		return err
	}
	said := all[:0]
	for i, m := range all {
		if c.discord && !slices.Contains(discordSaid, kinds[i]) {
			r.left("notices of the program", 1)
			continue
		}
		m.session = dayOf(c.title, m.at)
		if m.id != "" {
			m.id = clip.Head(c.title, 150) + ":" + m.id
		}
		said = append(said, m)
	}
	if n := len(said); n > 0 && said[0].at.After(said[n-1].at) {
		slices.Reverse(said)
	}
	slices.SortStableFunc(said, func(a, b message) int { return a.at.Compare(b.at) })
	for _, m := range said {
		if err := r.message(m); err != nil {
			return err
		}
	}
	return nil
}
