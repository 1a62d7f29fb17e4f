package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// writtenFacts extracts the facts of the written dialogues, with the ten turns before each as background. The
// turns of a dialogue are a minute apart.
func writtenFacts(t *testing.T) []drawn {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "dialogues.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []drawn
	var before []memory.Utterance
	last := ""
	for line := range strings.Lines(string(raw)) {
		var turn struct {
			Dialogue string `json:"dialogue"`
			Date     string `json:"date"`
			Speaker  string `json:"speaker"`
			Text     string `json:"text"`
		}
		if err := json.Unmarshal([]byte(line), &turn); err != nil {
			t.Fatal(err)
		}
		if turn.Dialogue != last {
			before, last = nil, turn.Dialogue
		}
		at, err := time.Parse(time.DateOnly, turn.Date)
		if err != nil {
			t.Fatal(err)
		}
		u := memory.Utterance{Role: memory.RoleUser, Name: turn.Speaker, Content: turn.Text, Time: at.Add(12*time.Hour + time.Duration(len(before))*time.Minute)}
		if turn.Speaker == "assistant" {
			u.Role, u.Name = memory.RoleAssistant, ""
		}
		for i, f := range extract(mem0.ExtractInput{Excerpts: true, Recent: before[max(0, len(before)-10):], New: []memory.Utterance{u}}).Facts {
			out = append(out, drawn{fmt.Sprintf("%s %d #%d", turn.Dialogue, len(before)+1, i+1), f, turn.Text})
		}
		before = append(before, u)
	}
	return out
}

// TestDialoguesUnderReview checks that the page of docs/reviews states how many of the facts it judges are good,
// and that most of what it judges is still what the rules return; else a new review is due. With the flag -draw
// it writes what they return now, to be judged.
func TestDialoguesUnderReview(t *testing.T) {
	t.Parallel()
	all := writtenFacts(t)
	if page, verdicts, ok := reviewOf(t, "dialogues", all); ok {
		checkReview(t, "dialogues", page, verdicts, all)
	}
}
