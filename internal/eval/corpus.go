package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
)

// Labeled is a dialogue of the corpus with what a careful reader notes of it. corpus/README.md
// describes the format.
type Labeled struct {
	ID        string            `json:"id"`
	Lang      string            `json:"lang"`
	Setting   string            `json:"setting"`
	People    []string          `json:"people"`
	Turns     []LabeledTurn     `json:"turns"`
	Facts     []Label           `json:"facts"`
	Traps     []Trap            `json:"traps"`
	Recalls   []Recall          `json:"recalls"`
	Questions []LabeledQuestion `json:"questions"`
}

// LabeledTurn is what one person, or the assistant, says.
type LabeledTurn struct {
	Index   int    `json:"i"`
	Date    string `json:"d"` // local time, to the minute
	Speaker string `json:"s"`
	Role    string `json:"r"` // person, user or assistant
	Text    string `json:"t"`
}

// Label is a fact that a careful reader notes of a turn. The other facts are named by their numbers.
type Label struct {
	Number  int    `json:"f"`
	Turn    int    `json:"turn"`
	Span    string `json:"span"` // exact text of the turn
	Text    string `json:"text"` // understood alone
	Who     string `json:"who"`
	Class   string `json:"cls"`
	Ends    []int  `json:"ends"`
	Refines []int  `json:"refines"`
	Same    []int  `json:"same"`
}

// Trap is a turn that sounds as if it ended an older fact, and does not.
type Trap struct {
	Turn int    `json:"turn"`
	Old  int    `json:"old"`
	Why  string `json:"why"`
}

// Recall is a turn at which a good companion remembers earlier ones.
type Recall struct {
	Turn int   `json:"turn"`
	Gold []int `json:"gold"`
}

// LabeledQuestion is a question at the end of the dialogue.
type LabeledQuestion struct {
	Text   string `json:"q"`
	Gold   []int  `json:"gold"` // all turns that are needed
	Kind   string `json:"kind"`
	Answer string `json:"a"`
	Lang   string `json:"lang"` // if it is not that of the dialogue
}

// CorpusDir is where the dialogues are in the repository.
const CorpusDir = "corpus/dialogues"

// FirstFiles are what the names of the corpus' first seven files begin with: 165 dialogues, of which most
// figures are. They are a set of their own, so that figures do not change when the corpus grows.
var FirstFiles = []string{"assistant", "chinese", "languages", "people"}

// writerOf names who wrote the files whose names begin so. Each of the first files has a writer of its own.
var writerOf = map[string]string{
	"code": "daily", "family": "daily", "long": "daily", "mixed": "daily", "support": "daily", "voice": "daily", "work": "daily",
	"harbour": "village", "helper": "village", "land": "village", "parish": "village", "village": "village", "xiangzhen": "village",
	"n3": "threes", "tech": "tech", "town": "town", "rail": "rail", "coast": "coast",
}

// believedWriters are believed with all that they wrote, so that figures show talk by people from whom
// nothing was learned.
var believedWriters = []string{"people-2", "chinese-2", "threes", "rail", "coast"}

// File returns the name of the dialogue's file: its id without the number.
func (d *Labeled) File() string { return d.ID[:max(strings.LastIndex(d.ID, "-"), 0)] }

// Writer returns a name for who wrote the dialogue.
func (d *Labeled) Writer() string {
	begin, _, _ := strings.Cut(d.ID, "-")
	return cmp.Or(writerOf[begin], d.File())
}

// Believed reports whether the dialogue only measures: nothing is learned from it, and no rule or prompt
// chosen on it. Believed are all dialogues of five writers, and of the others every fifth, whose number
// ends in 3 or 8.
func (d *Labeled) Believed() bool {
	return slices.Contains(believedWriters, d.Writer()) || strings.HasSuffix(d.ID, "3") || strings.HasSuffix(d.ID, "8")
}

// OfFiles returns the dialogues of the files whose names begin so; all without a name.
func OfFiles(dialogues []Labeled, begin []string) []Labeled {
	return slices.DeleteFunc(dialogues, func(d Labeled) bool {
		return len(begin) > 0 && !slices.ContainsFunc(begin, func(name string) bool { return strings.HasPrefix(d.ID, name+"-") })
	})
}

// At returns when a turn was said. The clock is local, and no zone is known.
func (t *LabeledTurn) At() (time.Time, error) {
	at, err := time.Parse("2006-01-02T15:04", t.Date)
	if err != nil {
		return at, fmt.Errorf("time of turn %d: %w", t.Index, err)
	}
	return at, nil
}

// label returns the label with a number, or nil.
func (d *Labeled) label(number int) *Label {
	for i := range d.Facts {
		if d.Facts[i].Number == number {
			return &d.Facts[i]
		}
	}
	return nil
}

// Problems returns what contradicts itself: labels of turns that do not exist, spans that are not in
// their turn, numbers that name no earlier fact.
func (d *Labeled) Problems() (out []string) {
	complain := func(format string, args ...any) { out = append(out, d.ID+": "+fmt.Sprintf(format, args...)) }
	for i := range d.Turns {
		if _, err := d.Turns[i].At(); err != nil || d.Turns[i].Index != i {
			complain("turn %d has the number %d and the time %q", i, d.Turns[i].Index, d.Turns[i].Date)
		}
	}
	known := func(turn int) bool { return turn >= 0 && turn < len(d.Turns) }
	facts := map[int]bool{}
	for _, f := range d.Facts {
		if !known(f.Turn) || !strings.Contains(d.Turns[f.Turn].Text, f.Span) {
			complain("fact %d is not said in turn %d", f.Number, f.Turn)
		}
		for _, old := range slices.Concat(f.Ends, f.Refines, f.Same) {
			if !facts[old] {
				complain("fact %d names fact %d, which is not before it", f.Number, old)
			}
		}
		if facts[f.Number] {
			complain("two facts have the number %d", f.Number)
		}
		facts[f.Number] = true
	}
	for _, t := range d.Traps {
		if !known(t.Turn) || !facts[t.Old] {
			complain("a trap names turn %d and fact %d", t.Turn, t.Old)
		}
	}
	for _, r := range d.Recalls {
		if !known(r.Turn) || slices.ContainsFunc(r.Gold, func(g int) bool { return g < 0 || g >= r.Turn }) {
			complain("turn %d recalls %v", r.Turn, r.Gold)
		}
	}
	for _, q := range d.Questions {
		if slices.ContainsFunc(q.Gold, func(g int) bool { return !known(g) }) {
			complain("%q is answered by the turns %v", q.Text, q.Gold)
		}
	}
	return out
}

// ReadCorpus reads the dialogues of a folder, in the order of their files. It fails when one
// contradicts itself.
func ReadCorpus(dir string) ([]Labeled, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no dialogues in %q: %w", dir, cmp.Or(err, os.ErrNotExist))
	}
	var out []Labeled
	for _, file := range files {
		lines, err := readLines[Labeled](file)
		if err != nil {
			return nil, err
		}
		for i := range lines {
			if problems := lines[i].Problems(); len(problems) > 0 {
				return nil, fmt.Errorf("%s:\n%s", file, strings.Join(problems, "\n"))
			}
		}
		out = append(out, lines...)
	}
	return out, nil
}

// AsData returns dialogues as a data set, a conversation each. A turn at which a companion remembers earlier ones is
// a question of the category "recall", asked after what came before it.
func AsData(dialogues []Labeled) (*Dataset, error) {
	d := &Dataset{Name: "corpus", Budgets: []int{500, 1000, 2000}, Categories: []string{"question", "recall", "word for word", "rare word"}}
	for i := range dialogues {
		from := &dialogues[i]
		c := Conversation{ID: from.ID}
		for j := range from.Turns {
			t := &from.Turns[j]
			at, err := t.At()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", from.ID, err)
			}
			turn := Turn{ID: strconv.Itoa(j), Speaker: t.Speaker, Session: at.Format(time.DateOnly), At: at, Text: t.Speaker + ": " + t.Text}
			if t.Role == "assistant" {
				turn.Role, turn.Speaker = t.Role, t.Role
				turn.Text = t.Role + ": " + t.Text
			}
			turn.Rendered = "[" + turn.Session + "] " + turn.Text
			c.Turns = append(c.Turns, turn)
		}
		for _, q := range from.Questions {
			c.Questions = append(c.Questions, Question{Text: q.Text, Category: "question", Answer: q.Answer, Gold: turnIDs(q.Gold)})
		}
		for _, r := range from.Recalls {
			c.Questions = append(c.Questions, Question{Text: from.Turns[r.Turn].Text, Category: "recall", Before: r.Turn, Gold: turnIDs(r.Gold)})
		}
		c.Questions = append(c.Questions, ownWords(from)...)
		d.Conversations = append(d.Conversations, c)
	}
	return d, nil
}

// ownWordsEach is that one turn in so many is asked for in its own words.
const ownWordsEach = 12

// ownWords returns questions that are a turn, word for word, or one word that no other turn has: a code, a name, a
// number of an order. A person who asks so wants that turn first.
func ownWords(d *Labeled) (out []Question) {
	turns := map[string]int{} // with a word
	words := make([][]string, len(d.Turns))
	for i := range d.Turns {
		words[i] = text.Words(d.Turns[i].Text)
		for _, w := range slices.Compact(slices.Sorted(slices.Values(words[i]))) {
			turns[w]++
		}
	}
	for i := range d.Turns {
		gold := turnIDs([]int{i})
		if i%ownWordsEach == 0 && len(words[i]) > 3 {
			out = append(out, Question{Text: d.Turns[i].Text, Category: "word for word", Gold: gold})
		}
		rare := slices.IndexFunc(words[i], func(w string) bool { return turns[w] == 1 && utf8.RuneCountInString(w) > 5 })
		if i%ownWordsEach == ownWordsEach/2 && rare >= 0 {
			out = append(out, Question{Text: words[i][rare], Category: "rare word", Gold: gold})
		}
	}
	return out
}

func turnIDs(turns []int) (out []string) {
	for _, t := range turns {
		out = append(out, strconv.Itoa(t))
	}
	return out
}

// readLines reads a JSON value of each line of a file.
func readLines[T any](file string) ([]T, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read dialogues: %w", err)
	}
	out, err := decodeLines[T](raw)
	if err != nil {
		return nil, fmt.Errorf("%s, %w", file, err)
	}
	return out, nil
}

func decodeLines[T any](raw []byte) (out []T, err error) {
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw)+1)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	return out, nil
}
