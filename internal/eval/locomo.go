package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The categories of LoCoMo's questions, by their numbers in its files.
var locomoCategories = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

// newLoCoMo returns an empty data set with LoCoMo's categories and budgets.
func newLoCoMo(name string) *Dataset {
	return &Dataset{
		Name: name, Categories: []string{"multi-hop", "temporal", "open-domain", "single-hop", "adversarial"},
		Apart: "adversarial", Budgets: []int{500, 1000, 2000},
	}
}

// ReadLoCoMo reads the LoCoMo conversations of a data folder (Maharana et al., ACL 2024) from
// locomo7.json, and an audit of their labels from locomo7_audit.json.
func ReadLoCoMo(dir string) (*Dataset, error) {
	d := newLoCoMo("locomo")
	raw, err := d.readFile(dir, "locomo7.json")
	if err != nil {
		return nil, err
	}
	audit, err := d.readFile(dir, "locomo7_audit.json")
	if err != nil {
		return nil, err
	}
	if d.Conversations, err = decodeLoCoMo(raw, audit); err != nil {
		return nil, err
	}
	return d, nil
}

// sessionTime is the format of LoCoMo's times: "1:56 pm on 8 May, 2023".
const sessionTime = "3:04 pm on 2 January, 2006"

var evidenceID = regexp.MustCompile(`D:?(\d+):0*(\d+)`)

// correction is the audited evidence of one question.
type correction struct {
	Sample   string   `json:"sample_id"`
	Question int      `json:"qa_index"` // from 0, in its conversation
	Evidence []string `json:"evidence_audited"`
}

type locomoFile struct {
	SampleID     string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string   `json:"question"`
		Answer   any      `json:"answer"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

// decodeLoCoMo decodes conversations, and their audit unless that is nil.
func decodeLoCoMo(raw, audit []byte) ([]Conversation, error) {
	var files []locomoFile
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // keeps the digits of numeric answers
	if err := dec.Decode(&files); err != nil {
		return nil, fmt.Errorf("not a LoCoMo file: %w", err)
	}
	var corrections []correction
	if audit != nil {
		if err := json.Unmarshal(audit, &corrections); err != nil {
			return nil, fmt.Errorf("not an audit of LoCoMo: %w", err)
		}
	}
	out := make([]Conversation, 0, len(files))
	for i := range files {
		c, err := files[i].conversation(corrections)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", files[i].SampleID, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func (f *locomoFile) conversation(corrections []correction) (Conversation, error) {
	c := Conversation{ID: f.SampleID}
	known := map[string]bool{}
	// Session numbers start at 1 and may have gaps.
	for n := 1; n <= len(f.Conversation); n++ {
		key := "session_" + strconv.Itoa(n)
		rawTurns, ok := f.Conversation[key]
		if !ok {
			continue
		}
		turns, err := decodeSession(n, rawTurns, f.Conversation[key+"_date_time"])
		if err != nil {
			return c, fmt.Errorf("%s: %w", key, err)
		}
		for _, t := range turns {
			known[t.ID] = true
		}
		c.Turns = append(c.Turns, turns...)
	}
	audited := map[int][]string{}
	for _, x := range corrections {
		if ids := gold(x.Evidence, known); x.Sample == f.SampleID && len(ids) > 0 {
			audited[x.Question] = ids
		}
	}
	for i, q := range f.QA {
		category, ok := locomoCategories[q.Category]
		if !ok {
			return c, fmt.Errorf("question %d: category %d is none of 1 to 5", i, q.Category)
		}
		out := Question{Text: q.Question, Category: category, Gold: gold(q.Evidence, known), Unknown: unknown(q.Evidence, known)}
		if q.Answer != nil {
			out.Answer = fmt.Sprint(q.Answer)
		}
		out.Audited = out.Gold
		if ids := audited[i]; ids != nil {
			out.Audited = ids
		}
		c.Questions = append(c.Questions, out)
	}
	return c, nil
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
		out[i] = Turn{
			ID: t.ID, Speaker: t.Speaker, Session: strconv.Itoa(n), At: start.Add(time.Duration(i) * time.Second),
			Text: text, Rendered: "[" + when + "] " + text,
			Attributes: map[string]any{"dia_id": t.ID, "speaker": t.Speaker, "session": n},
		}
	}
	return out, nil
}

// gold normalizes published evidence ids ("D8:6; D9:17", "D:11:26", "D30:05"). It drops unknown ids
// and repeats.
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

// unknown returns the published evidence ids that no turn has.
func unknown(evidence []string, known map[string]bool) []string {
	var out []string
	for _, e := range evidence {
		found := evidenceID.FindAllStringSubmatch(e, -1)
		if len(found) == 0 {
			out = append(out, e)
		}
		for _, m := range found {
			if id := "D" + m[1] + ":" + m[2]; !known[id] {
				out = append(out, id)
			}
		}
	}
	return out
}
