package eval

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
)

// ReviewsDir has what was written for reviews; its README.md describes the files.
const ReviewsDir = "internal/eval/reviews"

// reviewedTurn is a turn of a dialogue that was written for reviews. It has a date, and no time.
type reviewedTurn struct{ Dialogue, Date, Speaker string }

// reviewedSet collects dialogues from lines that name them, in the order of their first line.
type reviewedSet struct {
	dialogues []*Labeled
	at        map[string]*Labeled
}

// of returns the dialogue with a name.
func (s *reviewedSet) of(name string) *Labeled {
	d, ok := s.at[name]
	if !ok {
		d = &Labeled{ID: name}
		if s.at == nil {
			s.at = map[string]*Labeled{}
		}
		s.at[name] = d
		s.dialogues = append(s.dialogues, d)
	}
	return d
}

// say adds a turn. Turns are said a minute apart, from nine o'clock on.
func (d *Labeled) say(t reviewedTurn, said string) {
	n, role := len(d.Turns), "person"
	if strings.EqualFold(t.Speaker, "assistant") {
		role = "assistant"
	}
	d.Turns = append(d.Turns, LabeledTurn{Index: n, Date: fmt.Sprintf("%sT%02d:%02d", t.Date, 9+n/60, n%60), Speaker: t.Speaker, Role: role, Text: said})
}

// checked returns the dialogues, if none contradicts itself.
func (s *reviewedSet) checked() ([]Labeled, error) {
	out := make([]Labeled, 0, len(s.dialogues))
	for _, d := range s.dialogues {
		if problems := d.Problems(); len(problems) > 0 {
			return nil, fmt.Errorf("dialogues of reviews:\n%s", strings.Join(problems, "\n"))
		}
		d.Lang = d.guessed()
		out = append(out, *d)
	}
	return out, nil
}

// guessed returns the language of a dialogue that names none: these are English or Chinese.
func (d *Labeled) guessed() string {
	if lang, _ := text.Guess(d.Turns[0].Text); lang == text.Chinese {
		return "zh"
	}
	return "en"
}

// ReadReviewed reads the dialogues for which a reviewer listed the wanted facts.
func ReadReviewed(dir string) ([]Labeled, error) {
	turns, err := readLines[struct {
		reviewedTurn
		Text string
	}](filepath.Join(dir, "dialogues.jsonl"))
	if err != nil {
		return nil, err
	}
	wanted, err := readLines[struct {
		Dialogue, Span, Text, Who string
		Turn                      int
	}](filepath.Join(dir, "wanted.jsonl"))
	if err != nil {
		return nil, err
	}
	var set reviewedSet
	for _, w := range wanted {
		d := set.of(w.Dialogue)
		d.Facts = append(d.Facts, Label{Number: len(d.Facts) + 1, Turn: w.Turn, Span: w.Span, Text: w.Text, Who: w.Who})
	}
	for _, t := range turns {
		if d, ok := set.at[t.Dialogue]; ok {
			d.say(t.reviewedTurn, t.Text)
		}
	}
	return set.checked()
}

// ReadContradictions reads pairs of statements, of which the second ends the first or only seems to, as
// dialogues of one speaker and two turns.
func ReadContradictions(dir string) ([]Labeled, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "contradictions.tsv"))
	if err != nil {
		return nil, fmt.Errorf("read contradictions: %w", err)
	}
	var set reviewedSet
	for line := range strings.Lines(string(raw)) {
		kind, pair, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		first, second, found := strings.Cut(pair, "\t")
		if !found || kind != "ends" && kind != "stays" {
			return nil, fmt.Errorf("contradictions: no pair: %q", line)
		}
		d := set.of(fmt.Sprintf("pair-%03d", len(set.dialogues)+1))
		old, later := Label{Number: 1, Span: first, Text: first}, Label{Number: 2, Turn: 1, Span: second, Text: second}
		if kind == "ends" {
			later.Ends = []int{1}
		} else {
			d.Traps = []Trap{{Turn: 1, Old: 1}}
		}
		d.Facts = []Label{old, later}
		d.say(reviewedTurn{Date: "2025-05-05", Speaker: "Robin"}, first)
		d.say(reviewedTurn{Date: "2025-05-06", Speaker: "Robin"}, second)
	}
	return set.checked()
}
