package rules

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// notebookPart is a sentence of a written dialogue, with what a careful reader notes of it.
type notebookPart struct {
	ID   string   `json:"id"`
	Text string   `json:"text"`
	Fact string   `json:"fact"` // "" if the sentence is not worth a note
	Ends []string `json:"ends"` // earlier parts that do not hold from this one on
	Not  []string `json:"not"`  // earlier parts that a careless reader could take for ended
}

// notebookTurn is a turn of a dialogue.
type notebookTurn struct {
	Dialogue string         `json:"dialogue"`
	Date     string         `json:"date"`
	Speaker  string         `json:"speaker"`
	Parts    []notebookPart `json:"parts"`
}

// utterance returns a turn, n turns behind the first.
func (turn *notebookTurn) utterance(t *testing.T, n int) memory.Utterance {
	t.Helper()
	at, err := time.Parse(time.DateOnly, turn.Date)
	if err != nil {
		t.Fatal(err)
	}
	between := " "
	if strings.HasPrefix(turn.Dialogue, "zh") {
		between = ""
	}
	texts := make([]string, len(turn.Parts))
	for i := range turn.Parts {
		texts[i] = turn.Parts[i].Text
	}
	u := memory.Utterance{Role: memory.RoleUser, Name: turn.Speaker, Content: strings.Join(texts, between), Time: at.Add(12*time.Hour + time.Duration(n)*time.Minute)}
	if turn.Speaker == "assistant" {
		u.Role, u.Name = memory.RoleAssistant, ""
	}
	return u
}

// noted is a candidate of a dialogue, with the part that it says.
type noted struct {
	dialogue string
	turn, n  int // of the turn
	part     *notebookPart
	candidate
	at time.Time
}

// readNotebook returns the turns of the written dialogues.
func readNotebook(t *testing.T) []notebookTurn {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "notebook.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []notebookTurn
	for line := range strings.Lines(string(raw)) {
		var turn notebookTurn
		if err := json.Unmarshal([]byte(line), &turn); err != nil {
			t.Fatal(err)
		}
		out = append(out, turn)
	}
	return out
}

// notebookCandidates returns all that the rules find in the written dialogues.
func notebookCandidates(t *testing.T) []noted {
	t.Helper()
	var out []noted
	var before []memory.Utterance
	turns := readNotebook(t)
	for i := range turns {
		turn := &turns[i]
		if i == 0 || turns[i-1].Dialogue != turn.Dialogue {
			before = nil
		}
		u := turn.utterance(t, len(before))
		for n, c := range candidates(mem0.ExtractInput{Excerpts: true, Recent: before[max(0, len(before)-10):], New: []memory.Utterance{u}}) {
			out = append(out, noted{turn.Dialogue, len(before) + 1, n + 1, turn.partOf(c.fact), c, u.Time})
		}
		before = append(before, u)
	}
	return out
}

// partOf returns the part that a candidate says: the one with which it shares most.
func (turn *notebookTurn) partOf(fact string) *notebookPart {
	if _, _, said, ok := excerptParts(fact); ok {
		fact = said
	}
	words := wordsOf(fact)
	best, most := &turn.Parts[0], 0.0
	for i := range turn.Parts {
		own := wordsOf(turn.Parts[i].Text)
		if len(own) == 0 {
			continue
		}
		n := float64(overlap(words, own))
		if share := n + n/float64(len(own)); share > most {
			best, most = &turn.Parts[i], share
		}
	}
	return best
}

var drawNotebook = flag.String("draw-notebook", "", "write what the rules find in the written dialogues into this folder, to be judged")

// TestNotebookCandidates: nearly all that is worth a note is among the candidates. With -draw-notebook it writes them, to be judged.
func TestNotebookCandidates(t *testing.T) {
	t.Parallel()
	all := notebookCandidates(t)
	found := map[string]bool{}
	excerpts := 0
	for i := range all {
		found[all[i].dialogue+all[i].part.ID] = true
		if all[i].excerpt {
			excerpts++
		}
	}
	wanted, kept := 0, 0
	turns := readNotebook(t)
	for i := range turns {
		for _, p := range turns[i].Parts {
			if p.Fact == "" || turns[i].Speaker == "assistant" {
				continue
			}
			wanted++
			if found[turns[i].Dialogue+p.ID] {
				kept++
			}
		}
	}
	t.Logf("%d candidates, %d of them excerpts; of %d sentences that are worth a note, %d have one", len(all), excerpts, wanted, kept)
	if 100*kept < 97*wanted {
		t.Errorf("of %d sentences that are worth a note, %d have a candidate", wanted, kept)
	}
	if *drawNotebook != "" {
		writeNotebook(t, *drawNotebook, turns, all)
	}
}

// writeNotebook writes the dialogues with all that the rules find in them.
func writeNotebook(t *testing.T, dir string, turns []notebookTurn, all []noted) {
	t.Helper()
	for i := range turns {
		name := filepath.Join(dir, turns[i].Dialogue+".txt")
		if i == 0 || turns[i-1].Dialogue != turns[i].Dialogue {
			_ = os.Remove(name)
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		first := slices.IndexFunc(turns, func(o notebookTurn) bool { return o.Dialogue == turns[i].Dialogue })
		fmt.Fprintf(f, "%d. [%s] %s: %s\n", i-first+1, turns[i].Date, turns[i].Speaker, turns[i].utterance(t, 0).Content)
		for j := range all {
			if all[j].dialogue == turns[i].Dialogue && all[j].turn == i-first+1 {
				fmt.Fprintf(f, "    %d#%d\t%s\n", all[j].turn, all[j].n, all[j].fact)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
