package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// Of a dialogue of 60 turns, in two languages over eleven days, at least 28 of 33 facts that a
// reader would want at its end are kept, and at least six of the seven that ended are gone.
func TestDialogueIsKept(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "dialogue60.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var s memoryList
	var before []memory.Utterance
	for line := range strings.Lines(string(raw)) {
		parts := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		at, err := time.Parse(time.DateOnly, parts[0])
		if err != nil {
			t.Fatal(err)
		}
		u := memory.Utterance{Role: memory.RoleUser, Name: parts[1], Content: parts[2], Time: at.Add(18 * time.Hour)}
		for _, f := range extract(mem0.ExtractInput{Excerpts: true, Recent: before[max(0, len(before)-10):], New: []memory.Utterance{u}}).Facts {
			s.learn(f)
		}
		before = append(before, u)
	}
	if len(before) != 60 {
		t.Fatalf("%d turns", len(before))
	}
	// Each is a list of words that one memory has.
	wanted := []string{
		"Mei designer", "Tom nurse", "Tom Hamburg", "Luna", "Mei beagle", "Momo", "Tom allergic peanuts", "Tom lactose", "Mei allergic shellfish", "Mei green tea",
		"Clara vet", "Clara lives Munich", "小丽 北京大学", "cancel Japan", "Mei plays piano", "Tom techno", "Mei jazz", "Tom dentist 17 April 2026", "Mei Shanghai",
		"徐汇区", "address Lange Reihe 12", "2027年3月 德国", "won't marathon", "Mr. Chen early meetings", "shift six", "花生过敏", "birthday 3 May", "not vegetarian",
		"speaks German", "Tom metformin", "Lumen", "exam 3 June", "Paula divorced",
	}
	ended := []string{"Mei lives Beijing", "Tom drinks five cups", "Tom going to run", "Tom plans Japan July", "Mei exam 20 May", "Mei works Orbis", "Tom is married Paula"}
	has := func(words string) bool {
		return slices.ContainsFunc(s.texts, func(memo string) bool {
			return !slices.ContainsFunc(strings.Fields(words), func(w string) bool { return !strings.Contains(memo, w) })
		})
	}
	var missing, live []string
	for _, w := range wanted {
		if !has(w) {
			missing = append(missing, w)
		}
	}
	for _, w := range ended {
		if has(w) {
			live = append(live, w)
		}
	}
	t.Logf("%d memories; of %d wanted are missing %q; of %d that ended are live %q\n%s", len(s.texts), len(wanted), missing, len(ended), live, strings.Join(s.texts, "\n"))
	if len(missing) > len(wanted)-28 {
		t.Errorf("missing: %q", missing)
	}
	if len(live) > 1 {
		t.Errorf("ended and live: %q", live)
	}
}
