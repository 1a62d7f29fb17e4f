package transfer

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// chatGPT reads ChatGPT's export: conversations whose messages are a tree, because answers are made again and questions edited. What
// is read is the branch that the person saw last.
type chatGPT struct{ files []string }

type chatGPTConversation struct {
	ID        string                 `json:"id"`
	OtherID   string                 `json:"conversation_id"`
	Title     string                 `json:"title"`
	CreatedAt *float64               `json:"create_time"`
	UpdatedAt *float64               `json:"update_time"`
	Current   string                 `json:"current_node"`
	Mapping   map[string]chatGPTNode `json:"mapping"`
}

type chatGPTNode struct {
	Message  *chatGPTMessage `json:"message"`
	Parent   string          `json:"parent"`
	Children []string        `json:"children"`
}

type chatGPTMessage struct {
	ID     string `json:"id"`
	Author struct {
		Role string `json:"role"`
	} `json:"author"`
	CreatedAt *float64 `json:"create_time"`
	Content   *struct {
		Type  string            `json:"content_type"`
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	Recipient string   `json:"recipient"`
	Weight    *float64 `json:"weight"`
	Metadata  struct {
		Hidden bool              `json:"is_visually_hidden_from_conversation"`
		Marks  []json.RawMessage `json:"content_references"`
	} `json:"metadata"`
}

func chatGPTFiles(s *Source) (out []string) {
	for _, name := range s.files {
		base := path.Base(name)
		if strings.HasPrefix(base, "conversations") && strings.HasSuffix(base, ".json") || len(s.files) == 1 && s.zip == nil {
			out = append(out, name)
		}
	}
	return out
}

func isChatGPT(s *Source) bool {
	files := chatGPTFiles(s)
	return len(files) > 0 && begins(s.head(files[0]), '[', "mapping", "title")
}

func (t *chatGPT) index(r *reading) (pieces []piece, err error) {
	t.files = chatGPTFiles(r.source)
	r.several = len(t.files) > 1
	for i, name := range t.files {
		err := list(r, name, func(c *chatGPTConversation, from, to int64) error {
			pieces = append(pieces, piece{unix(cmp.Or(seconds(c.UpdatedAt), seconds(c.CreatedAt))), i, from, to})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return pieces, nil
}

func (t *chatGPT) read(r *reading, p piece) error {
	c, err := decodePart[chatGPTConversation](r, t.files[p.file], p)
	if err != nil {
		return err
	}
	id := cmp.Or(c.ID, c.OtherID)
	begun, branch := seconds(c.CreatedAt), c.branch()
	if id == "" && len(branch) > 0 {
		id = branch[0]
	}
	session := sessionOf(c.Title, id, begun)
	for _, node := range branch {
		m := c.Mapping[node].Message
		if m == nil {
			continue
		}
		if m.Author.Role != "user" && m.Author.Role != "assistant" || m.Recipient != "" && m.Recipient != "all" {
			r.left("messages of tools and systems", 1)
			continue
		}
		if m.Metadata.Hidden || m.Weight != nil && *m.Weight == 0 {
			r.left("messages that the conversation does not show", 1)
			continue
		}
		words, images := m.words()
		out := message{id: m.ID, role: m.Author.Role, session: session, at: seconds(m.CreatedAt), text: words, attributes: map[string]any{}}
		if out.id == "" {
			out.id = id + ":" + node
		}
		if out.at.IsZero() {
			out.at = begun
		}
		if images > 0 {
			out.attributes["images"] = images
		}
		if err := r.message(out); err != nil {
			return err
		}
	}
	return nil
}

// branch returns the nodes from the root to the current one. Without one it follows the newest children.
func (c *chatGPTConversation) branch() (out []string) {
	seen := map[string]bool{}
	at := c.Current
	if _, ok := c.Mapping[at]; !ok {
		at = c.newestLeaf()
	}
	for at != "" && !seen[at] {
		seen[at] = true
		out = append(out, at)
		at = c.Mapping[at].Parent
	}
	slices.Reverse(out)
	return out
}

func (c *chatGPTConversation) newestLeaf() (leaf string) {
	newest := time.Time{}
	for id, node := range c.Mapping {
		if len(node.Children) > 0 || node.Message == nil {
			continue
		}
		at := seconds(node.Message.CreatedAt)
		if leaf == "" || at.After(newest) || at.Equal(newest) && id > leaf {
			leaf, newest = id, at
		}
	}
	return leaf
}

// words returns what a message says, and how many images and recordings it has.
func (m *chatGPTMessage) words() (string, int) {
	if m.Content == nil || m.Content.Type != "text" && m.Content.Type != "multimodal_text" {
		return "", 0
	}
	var said []string
	images := 0
	for _, raw := range m.Content.Parts {
		var text string
		var part struct {
			Type string `json:"content_type"`
			Text string `json:"text"`
		}
		switch {
		case json.Unmarshal(raw, &text) == nil:
			said = append(said, text)
		case json.Unmarshal(raw, &part) == nil && part.Text != "":
			said = append(said, part.Text)
		default:
			images++
		}
	}
	return m.unmarked(strings.TrimSpace(strings.Join(said, "\n\n"))), images
}

// chatGPTMark matches what the page draws in place of signs that a person does not see: a citation, a name with a card, a link.
var chatGPTMark = regexp.MustCompile(`[ \t]?\x{e200}([^\x{e200}\x{e201}]*)\x{e201}|[ \t]?【\d+(?::\d+)?†[^【】\n]*】`)

// unmarked returns a text with the words that the page shows for its marks. Marks that have none, such as citations, are left out.
func (m *chatGPTMessage) unmarked(text string) string {
	if m.Author.Role != "assistant" || !strings.ContainsAny(text, "\ue200【") {
		return text
	}
	names := map[string]string{}
	for _, raw := range m.Metadata.Marks {
		var mark struct {
			Text string `json:"matched_text"`
			Name string `json:"name"`
		}
		if json.Unmarshal(raw, &mark) == nil && mark.Name != "" {
			names[mark.Text] = mark.Name
		}
	}
	return strings.TrimSpace(chatGPTMark.ReplaceAllStringFunc(text, func(found string) string {
		mark := strings.TrimLeft(found, " \t")
		space := found[:len(found)-len(mark)]
		parts := strings.Split(strings.Trim(mark, "\ue200\ue201"), "\ue202")
		var about []json.RawMessage
		switch {
		case names[mark] != "":
			return space + names[mark]
		case len(parts) > 1 && json.Unmarshal([]byte(parts[1]), &about) == nil && len(about) > 1: // the kind of a thing, and its name
			return space + scalar(about[1])
		case len(parts) > 2 && strings.Contains(parts[2], "://"):
			return space + parts[1] + " (" + parts[2] + ")"
		}
		return ""
	}))
}

// sessionOf names a conversation so that two of one title stay apart.
func sessionOf(title, id string, at time.Time) string {
	title = label(title)
	short := id[max(0, len(id)-8):]
	if title == "" && !at.IsZero() {
		title = at.Format(time.DateOnly)
	}
	switch {
	case title == "":
		return short
	case short == "":
		return title
	}
	return label(clip.Head(title, maxTitleOf) + " #" + short)
}

// maxTitleOf bounds the title in the name of a session.
const maxTitleOf = 180

// dayOf names the session of a day of a chat.
func dayOf(title string, at time.Time) string {
	title = clip.Head(title, maxTitleOf)
	if at.IsZero() {
		return title
	}
	return title + " " + at.Format(time.DateOnly)
}
