package eval

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed sample/conversation.json
var sample []byte

// Turn is one utterance of a conversation.
type Turn struct {
	ID      string // "D3:7": session 3, turn 7
	Speaker string
	Session int
	At      time.Time // the session's time plus one second per turn
	Text    string    // speaker and utterance, and the caption of a shared image
}

// Question has gold evidence: the ids of the turns that answer it.
type Question struct {
	Text     string
	Category int // 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial
	Gold     []string
}

// Conversation is a LoCoMo conversation (Maharana et al., ACL 2024).
type Conversation struct {
	ID        string
	Turns     []Turn
	Questions []Question
}

// Sample gives the conversation that ships with slipbox, of our own writing, in the same shape.
func Sample() (Conversation, error) {
	cs, err := decodeLoCoMo(sample)
	if err != nil {
		return Conversation{}, err
	}
	return cs[0], nil
}

// ReadLoCoMo reads a file of LoCoMo conversations.
func ReadLoCoMo(path string) ([]Conversation, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read conversations: %w", err)
	}
	cs, err := decodeLoCoMo(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cs, nil
}

// sessionTime is how LoCoMo writes times: "1:56 pm on 8 May, 2023".
const sessionTime = "3:04 pm on 2 January, 2006"

var evidenceID = regexp.MustCompile(`D:?(\d+):0*(\d+)`)

func decodeLoCoMo(raw []byte) ([]Conversation, error) {
	var file []struct {
		SampleID     string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []struct {
			Question string   `json:"question"`
			Evidence []string `json:"evidence"`
			Category int      `json:"category"`
		} `json:"qa"`
	}
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&file); err != nil {
		return nil, fmt.Errorf("not a LoCoMo file: %w", err)
	}
	out := make([]Conversation, 0, len(file))
	for _, f := range file {
		c := Conversation{ID: f.SampleID}
		known := map[string]bool{}
		for n := 1; ; n++ {
			key := "session_" + strconv.Itoa(n)
			rawTurns, ok := f.Conversation[key]
			if !ok {
				if n > len(f.Conversation) {
					break
				}
				continue
			}
			turns, err := decodeSession(n, rawTurns, f.Conversation[key+"_date_time"])
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", f.SampleID, key, err)
			}
			for _, t := range turns {
				known[t.ID] = true
			}
			c.Turns = append(c.Turns, turns...)
		}
		for _, q := range f.QA {
			c.Questions = append(c.Questions, Question{Text: q.Question, Category: q.Category, Gold: gold(q.Evidence, known)})
		}
		out = append(out, c)
	}
	return out, nil
}

func decodeSession(n int, rawTurns, rawTime json.RawMessage) ([]Turn, error) {
	var when string
	if err := json.Unmarshal(rawTime, &when); err != nil {
		return nil, fmt.Errorf("date-time: %w", err)
	}
	start, err := time.ParseInLocation(sessionTime, when, time.UTC)
	if err != nil {
		return nil, fmt.Errorf("date-time: %w", err)
	}
	var turns []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	if err := json.Unmarshal(rawTurns, &turns); err != nil {
		return nil, fmt.Errorf("turns: %w", err)
	}
	out := make([]Turn, len(turns))
	for i, t := range turns {
		text := t.Speaker + ": " + t.Text
		if t.Caption != "" {
			text += " (shared image: " + t.Caption + ")"
		}
		out[i] = Turn{ID: t.ID, Speaker: t.Speaker, Session: n, At: start.Add(time.Duration(i) * time.Second), Text: text}
	}
	return out, nil
}

// gold repairs evidence ids as published ("D8:6; D9:17", "D:11:26", "D30:05")
// and drops those that no turn has, and repeats.
func gold(evidence []string, known map[string]bool) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range evidenceID.FindAllStringSubmatch(strings.Join(evidence, " ; "), -1) {
		id := "D" + m[1] + ":" + m[2]
		if known[id] && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}
