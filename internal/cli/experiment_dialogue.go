package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/wording"
)

const (
	userRole      = "user"
	assistantRole = "assistant"
)

// dialogue is what an experiment learns, and the questions about it.
type dialogue struct {
	id        string
	turns     []utterance
	questions []question
}

// utterance is a turn: a message as the API takes it.
type utterance struct {
	Role       string `json:"role,omitempty"`
	Name       string `json:"name,omitempty"`
	Content    string `json:"content"`
	OccurredAt string `json:"occurred_at,omitempty"`
	Session    string `json:"session,omitempty"`
}

// question is asked of what was learned. Gold are the positions of the turns that answer it.
type question struct {
	Text string `json:"q"`
	Gold []int  `json:"gold"`
}

// labeled is a dialogue with labels, in a line.
type labeled struct {
	ID    string `json:"id"`
	Turns []struct {
		Date    string `json:"d"` // local time, to the minute
		Speaker string `json:"s"`
		Role    string `json:"r"` // person, user or assistant
		Text    string `json:"t"`
	} `json:"turns"`
	Questions []question `json:"questions"`
}

// readDialogue reads a file of turns, or a labeled dialogue. Questions come from their own file, or are those of the dialogue.
func readDialogue(file, id, questions string) (d dialogue, err error) {
	lines, err := readLines(file)
	if err != nil {
		return d, err
	}
	if len(lines) == 0 {
		return d, fmt.Errorf("%s is empty; a line is a turn, as in {\"role\": \"user\", \"content\": \"I moved to Lisbon.\"}", clean(file))
	}
	var first struct {
		Turns json.RawMessage `json:"turns"`
	}
	switch {
	case json.Unmarshal(lines[0], &first) == nil && first.Turns != nil:
		d, err = chooseLabeled(file, id, lines)
	case id != "":
		err = fmt.Errorf("--dialogue: %s is one dialogue, with a turn in each line", clean(file))
	default:
		d, err = readTurns(file, lines)
	}
	if err != nil {
		return d, err
	}
	if questions != "" {
		if lines, err = readLines(questions); err != nil {
			return d, err
		}
		if d.questions, err = decodeLines[question](questions, lines); err != nil {
			return d, err
		}
	}
	err = d.check(file)
	return d, err
}

// readLines returns the lines of a file that are not blank.
func readLines(file string) (out [][]byte, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(raw, []byte("\ufeff"))))
	rows.Buffer(nil, len(raw)+1)
	for rows.Scan() {
		if line := bytes.TrimSpace(rows.Bytes()); len(line) > 0 {
			out = append(out, bytes.Clone(line))
		}
	}
	return out, rows.Err()
}

func decodeLines[T any](file string, lines [][]byte) ([]T, error) {
	out := make([]T, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal(line, &out[i]); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", clean(file), i+1, err)
		}
	}
	return out, nil
}

func readTurns(file string, lines [][]byte) (d dialogue, err error) {
	d.id = filepath.Base(file)
	d.turns, err = decodeLines[utterance](file, lines)
	return d, err
}

// chooseLabeled returns the labeled dialogue of an id; without one, the only one.
func chooseLabeled(file, id string, lines [][]byte) (d dialogue, err error) {
	all, err := decodeLines[labeled](file, lines)
	if err != nil {
		return d, err
	}
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	at := slices.Index(ids, id)
	switch {
	case id == "" && len(all) == 1:
		at = 0
	case at < 0:
		return d, fmt.Errorf("choose a dialogue of %s with --dialogue: %s", clean(file), clean(strings.Join(ids, ", ")))
	}
	d = dialogue{id: all[at].ID, questions: all[at].Questions}
	for _, t := range all[at].Turns {
		one := utterance{Role: t.Role, Name: t.Speaker, Content: t.Text}
		if t.Date != "" {
			one.OccurredAt, one.Session = t.Date+":00Z", strings.SplitN(t.Date, "T", 2)[0]
		}
		if t.Role == "person" {
			one.Role = userRole
		}
		if one.Role == assistantRole {
			one.Name = ""
		}
		d.turns = append(d.turns, one)
	}
	return d, nil
}

// check returns an error for a dialogue that cannot be learned, or a question that cannot be scored.
func (d *dialogue) check(file string) error {
	if len(d.turns) == 0 {
		return fmt.Errorf("%s: the dialogue has no turns", clean(file))
	}
	for i := range d.turns {
		if strings.TrimSpace(d.turns[i].Content) == "" {
			return fmt.Errorf("%s: turn %d has no content", clean(file), i)
		}
	}
	for i, q := range d.questions {
		if strings.TrimSpace(q.Text) == "" {
			return fmt.Errorf("question %d has no text (q)", i+1)
		}
		for _, t := range q.Gold {
			if t < 0 || t >= len(d.turns) {
				return fmt.Errorf("question %d: there is no turn %d (gold); the dialogue has %s, from 0", i+1, t, wording.Count(len(d.turns), "turn", "turns"))
			}
		}
		slices.Sort(q.Gold)
		d.questions[i].Gold = slices.Compact(q.Gold)
	}
	return nil
}

// users returns how many people speak, the assistant aside.
func (d *dialogue) users() int {
	names := map[string]bool{}
	for i := range d.turns {
		if t := &d.turns[i]; t.Role == "" || t.Role == userRole {
			names[t.Name] = true
		}
	}
	return len(names)
}

// asOnePerson returns the turns with the first speaker as the user, and the others as the assistant.
func (d *dialogue) asOnePerson() []utterance {
	out := slices.Clone(d.turns)
	for i := range out {
		t := &out[i]
		if t.Role = assistantRole; t.Name == d.turns[0].Name && d.turns[i].Role != assistantRole {
			t.Role = userRole
		}
	}
	return out
}
