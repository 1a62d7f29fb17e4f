package eval

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// contentLimit is the largest size of a note's content, in bytes.
const contentLimit = 64 << 10

// newBEAM returns an empty data set with BEAM's categories and budgets.
func newBEAM(name string) *Dataset {
	return &Dataset{Name: name, Budgets: []int{2000, 8000}, Categories: []string{
		"contradiction_resolution", "event_ordering", "information_extraction", "instruction_following", "knowledge_update",
		"multi_session_reasoning", "preference_following", "summarization", "temporal_reasoning",
	}}
}

// ReadBEAM reads beam100k_14.json.gz of a data folder: chats with an assistant that gives long
// answers ("Beyond a Million Tokens", 2025). Each message is a turn.
func ReadBEAM(dir string) (*Dataset, error) {
	d := newBEAM("beam")
	raw, err := d.readPacked(dir, "beam100k_14.json.gz")
	if err != nil {
		return nil, err
	}
	if d.Conversations, err = decodeBEAM(raw); err != nil {
		return nil, err
	}
	return d, nil
}

// messageDate is the format of BEAM's dates: "March-15-2024".
const messageDate = "January-2-2006"

type beamChat struct {
	Chat     any `json:"chat"` // a number
	Messages []struct {
		ID      int    `json:"id"`
		Role    string `json:"role"`
		Session int    `json:"session"`
		Date    string `json:"date"`
		Content string `json:"content"`
	} `json:"messages"`
	Questions []struct {
		Category string `json:"category"`
		Question string `json:"question"`
		Answer   string `json:"answer"`
		Evidence []int  `json:"evidence"`
	} `json:"questions"`
}

func decodeBEAM(raw []byte) ([]Conversation, error) {
	var chats []beamChat
	if err := json.Unmarshal(raw, &chats); err != nil {
		return nil, fmt.Errorf("not a BEAM file: %w", err)
	}
	out := make([]Conversation, 0, len(chats))
	for _, chat := range chats {
		c := Conversation{ID: "chat-" + fmt.Sprint(chat.Chat)}
		known := map[int]bool{}
		var day time.Time
		var when string
		for _, m := range chat.Messages {
			if m.Date != "" { // otherwise the day of the previous message
				at, err := time.ParseInLocation(messageDate, m.Date, time.UTC)
				if err != nil {
					return nil, fmt.Errorf("%s: message %d: date: %w", c.ID, m.ID, err)
				}
				day, when = at, m.Date
			}
			text := m.Role + ": " + m.Content
			known[m.ID] = true
			c.Turns = append(c.Turns, Turn{
				ID: strconv.Itoa(m.ID), Speaker: m.Role, Role: m.Role, Session: strconv.Itoa(m.Session), At: day.Add(time.Duration(m.ID) * time.Second),
				Text: clip.Head(text, contentLimit), Rendered: "[" + when + "] " + text,
			})
		}
		for _, q := range chat.Questions {
			question := Question{Text: q.Question, Category: q.Category, Answer: q.Answer}
			for _, id := range q.Evidence {
				if known[id] {
					question.Gold = append(question.Gold, strconv.Itoa(id))
				} else {
					question.Unknown = append(question.Unknown, strconv.Itoa(id))
				}
			}
			question.Audited = question.Gold
			c.Questions = append(c.Questions, question)
		}
		out = append(out, c)
	}
	return out, nil
}
