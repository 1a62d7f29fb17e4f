package eval

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// userGold and assistantGold are the categories of RealMem's questions: who said what answers them. The
// second one has the questions with at least one turn of the assistant.
const (
	userGold      = "said by the user"
	assistantGold = "said by the assistant"
)

// ReadRealMem reads realmem6.json.gz of a data folder: long chats of a person with an assistant (RealMem,
// 2026). A question is a message of the person, and may use only the turns before it.
func ReadRealMem(dir string) (*Dataset, error) {
	d := &Dataset{Name: "realmem", Budgets: []int{500, 1000, 2000}, Categories: []string{userGold, assistantGold}, Sessions: true}
	if err := d.readConverted(dir, "realmem6.json.gz"); err != nil {
		return nil, err
	}
	return d, nil
}

// ReadVehicle reads vehicle20.json.gz of a data folder: persons who know each other talk for months, and speak to their car
// (VehicleMemBench, Y. Chen et al., 2026). A question is a situation and a wish.
func ReadVehicle(dir string) (*Dataset, error) {
	d := &Dataset{Name: "vehicle", Budgets: []int{500, 1000, 2000}, Categories: []string{"wish"}, Sessions: true}
	if err := d.readConverted(dir, "vehicle20.json.gz"); err != nil {
		return nil, err
	}
	return d, nil
}

// ReadMADial reads the English or the Chinese part of MADial-Bench (J. He et al., NAACL 2025) of a data
// folder: memories, and dialogues in which a good assistant recalls some of them.
func ReadMADial(dir string, chinese bool) (*Dataset, error) {
	d, file := &Dataset{Name: "madial", Budgets: []int{500, 1000, 2000}, Categories: []string{"recall"}}, "madial_dev.json.gz"
	if chinese {
		d.Name, file = "madial-zh", "madial_zh_dev.json.gz"
	}
	if err := d.readConverted(dir, file); err != nil {
		return nil, err
	}
	return d, nil
}

// converted is the common form of both data sets.
type converted struct {
	Conversations []struct {
		ID    string `json:"id"`
		Turns []struct {
			ID      any       `json:"id"` // text or number
			Role    string    `json:"role"`
			Name    string    `json:"name"`
			Session string    `json:"session"`
			Time    time.Time `json:"time"`
			Text    string    `json:"text"`
		} `json:"turns"`
		Questions []struct {
			Text     string      `json:"q"`
			Answer   string      `json:"answer"`
			Category string      `json:"cat"`
			Gold     []int       `json:"gold"`  // indexes of turns
			Sessions []string    `json:"gsess"` // of the gold
			Before   *int        `json:"asof"`  // turns that may be used; null: all
			Dialogue [][2]string `json:"msgs"`  // who and what; the last is Text
			Who      string      `json:"who"`
		} `json:"qs"`
	} `json:"convs"`
}

func (d *Dataset) readConverted(dir, name string) error {
	raw, err := d.readPacked(dir, name)
	if err != nil {
		return err
	}
	var data converted
	if err := json.Unmarshal(raw, &data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, from := range data.Conversations {
		c := Conversation{ID: strings.ToLower(from.ID)} // names of collections have no capitals
		roles := make([]string, len(from.Turns))
		for i, t := range from.Turns {
			turn := Turn{ID: strconv.Itoa(i), Speaker: t.Name, Session: t.Session, At: t.Time, Text: clip.Head(t.Text, contentLimit)}
			if t.Name != "" {
				turn.Text = clip.Head(t.Name+": "+t.Text, contentLimit)
				turn.Attributes = map[string]any{"speaker": t.Name, "role": t.Role, "session": t.Session}
			}
			turn.Rendered = "[" + t.Time.Format(time.DateOnly) + "] " + turn.Text
			if roles[i] = t.Role; t.Role == "assistant" {
				turn.Role = t.Role
			}
			c.Turns = append(c.Turns, turn)
		}
		for _, q := range from.Questions {
			question := Question{Text: q.Text, Category: q.Category, Answer: q.Answer, GoldSessions: q.Sessions}
			if q.Before != nil {
				question.Before = *q.Before
				question.Category = userGold
			}
			for _, i := range q.Gold {
				if i < 0 || i >= len(c.Turns) {
					return fmt.Errorf("%s: %s: there is no turn %d", name, c.ID, i)
				}
				question.Gold = append(question.Gold, c.Turns[i].ID)
				if q.Before != nil && roles[i] == "assistant" {
					question.Category = assistantGold
				}
			}
			question.Audited = question.Gold
			for _, m := range q.Dialogue {
				question.Dialogue = append(question.Dialogue, dialogueMessage(m, q.Who))
			}
			c.Questions = append(c.Questions, question)
		}
		d.Conversations = append(d.Conversations, c)
	}
	return nil
}

// dialogueMessage returns a message of a dialogue. who is the person that the assistant talks with.
func dialogueMessage(m [2]string, who string) Message {
	if m[0] == who {
		return Message{Role: "user", Name: who, Content: m[1]}
	}
	return Message{Role: "assistant", Content: m[1]}
}
