package transfer

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// claude reads Claude's export: conversations, of which later messages say which one they answer.
type claude struct{ file, me string }

// claudeMemory is what Claude has written down about a person, in Markdown.
type claudeMemory struct {
	Talk     string            `json:"conversations_memory"`
	Projects map[string]string `json:"project_memories"`
}

type claudeConversation struct {
	ID        string          `json:"uuid"`
	Name      string          `json:"name"`
	CreatedAt string          `json:"created_at"`
	UpdatedAt string          `json:"updated_at"`
	Messages  []claudeMessage `json:"chat_messages"`
}

type claudeMessage struct {
	ID      string `json:"uuid"`
	Parent  string `json:"parent_message_uuid"`
	Sender  string `json:"sender"`
	Text    string `json:"text"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	CreatedAt   string `json:"created_at"`
	Attachments []struct {
		Name    string `json:"file_name"`
		Content string `json:"extracted_content"`
	} `json:"attachments"`
	Files []struct {
		Name string `json:"file_name"`
	} `json:"files"`
}

func claudeFile(s *Source) string {
	if len(s.files) == 1 && s.zip == nil {
		return s.files[0]
	}
	return s.find("conversations.json")
}

func isClaude(s *Source) bool {
	name := claudeFile(s)
	return name != "" && begins(s.head(name), '[', "chat_messages", "uuid")
}

func (t *claude) index(r *reading) (pieces []piece, err error) {
	t.file = claudeFile(r.source)
	if people := path.Join(path.Dir(t.file), "users.json"); r.source.has(t.file, "users.json") {
		list, err := decodeFile[[]struct {
			Name string `json:"full_name"`
		}](r, people)
		if err != nil {
			return nil, err
		}
		if len(list) == 1 {
			t.me = list[0].Name // the account that was exported
		}
	}
	if r.source.has(t.file, claudeMemories) {
		pieces = append(pieces, piece{unix(r.source.modified(t.memories())), 1, 0, -1})
	}
	err = list(r, t.file, func(c *claudeConversation, from, to int64) error {
		pieces = append(pieces, piece{unix(cmp.Or(stamp(c.UpdatedAt), stamp(c.CreatedAt))), 0, from, to})
		return nil
	})
	return pieces, err
}

const claudeMemories = "memories.json"

func (t *claude) memories() string { return path.Join(path.Dir(t.file), claudeMemories) }

// readMemories passes what Claude knows on as notes, each section as one.
func (t *claude) readMemories(r *reading) error {
	list, err := decodeFile[[]claudeMemory](r, t.memories())
	if err != nil {
		return err
	}
	for _, m := range list {
		texts := []string{m.Talk}
		for _, id := range slices.Sorted(maps.Keys(m.Projects)) {
			texts = append(texts, m.Projects[id])
		}
		for _, text := range texts {
			for _, part := range sections(plain(text)) {
				l := Line{Content: part.content, Attributes: map[string]any{AttrSource: r.report.Format}}
				if part.heading != "" {
					l.Attributes[AttrSection] = part.heading
				}
				if err := r.note(l, r.source.modified(t.memories())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (t *claude) read(r *reading, p piece) error {
	if p.file == 1 {
		return t.readMemories(r)
	}
	c, err := decodePart[claudeConversation](r, t.file, p)
	if err != nil {
		return err
	}
	begun := stamp(c.CreatedAt)
	session := sessionOf(c.Name, c.ID, begun)
	for _, m := range c.branch() {
		role := map[string]string{"human": "user", "assistant": "assistant"}[m.Sender]
		if role == "" {
			r.left("messages of tools and systems", 1)
			continue
		}
		out := message{id: m.ID, role: role, session: session, at: stamp(m.CreatedAt), text: m.words(), files: m.files()}
		if role == "user" && r.Me == "" {
			out.name = t.me
		}
		if out.at.IsZero() {
			out.at = begun
		}
		if err := r.message(out); err != nil {
			return err
		}
	}
	return nil
}

// branch returns the messages up to the last one, where each says what it answers; otherwise all of them.
func (c *claudeConversation) branch() []*claudeMessage {
	byID := map[string]*claudeMessage{}
	var all, out []*claudeMessage
	for i := range c.Messages {
		m := &c.Messages[i]
		byID[m.ID] = m
		all = append(all, m)
	}
	if len(all) == 0 || all[len(all)-1].Parent == "" {
		return all
	}
	for m := all[len(all)-1]; m != nil; m = byID[m.Parent] {
		delete(byID, m.ID)
		out = append(out, m)
	}
	slices.Reverse(out)
	return out
}

func (m *claudeMessage) words() string {
	var said []string
	for _, part := range m.Content {
		if part.Type == "text" && part.Text != "" {
			said = append(said, part.Text)
		}
	}
	if len(said) == 0 {
		return m.Text
	}
	return strings.Join(said, "\n\n")
}

func (m *claudeMessage) files() (out []string) {
	for _, f := range m.Attachments {
		out = append(out, f.Name)
	}
	for _, f := range m.Files {
		out = append(out, f.Name)
	}
	return out
}

// stamp returns a time of RFC 3339, or one without a zone as UTC; zero: it is none.
func stamp(text string) time.Time {
	at, _ := timeOf(text, time.UTC)
	return at.UTC().Truncate(time.Microsecond)
}
