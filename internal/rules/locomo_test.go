package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/text"
)

type turn struct {
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

// hasGoodKeywords reports whether a turn has at least three keywords that each occur in its text
// and are not stop words. A title between quotation marks may have some, and words of time.
func hasGoodKeywords(t *testing.T, h *Analyst, u turn) bool {
	t.Helper()
	a := h.analyze(amem.AnalyzeInput{Content: u.Speaker + ": " + u.Text, Speaker: u.Speaker})
	lang, _ := text.Guess(u.Text)
	good := 0
	for _, k := range a.Keywords {
		fine := strings.Contains(u.Text, k) && utf8.RuneCountInString(k) > 1
		words := strings.Fields(k)
		isTitle := len(words) > 1 && regexp.MustCompile(`["'“‘]`+regexp.QuoteMeta(k)).MatchString(u.Text)
		for i, w := range words {
			inName := isTitle || i > 0 && i < len(words)-1 && (w == "of" || w == "the" || w == "and") // "Lord of the Rings"
			if !inName && (text.IsStopWord(w, lang) || text.IsStopWord(w, text.English)) || !isTitle && text.IsTimeWord(w) || strings.EqualFold(w, u.Speaker) {
				fine = false
			}
		}
		if !fine {
			t.Errorf("keyword %q of %q", k, u.Text)
			continue
		}
		good++
	}
	return good >= 3
}

// keywordShares returns the share of turns with good keywords, of a sample of 100 at even
// distances and of all turns.
func keywordShares(t *testing.T, turns []turn) (sampled, all float64) {
	t.Helper()
	h := New()
	in100, inAll := 0, 0
	step := max(1, len(turns)/100)
	for i, u := range turns {
		ok := hasGoodKeywords(t, h, u)
		if ok {
			inAll++
		}
		if i%step == 0 && i/step < 100 && ok {
			in100++
		}
	}
	return float64(in100) / float64(min(100, len(turns))), float64(inAll) / float64(len(turns))
}

// wantDescribed leaves room for turns that say little: "the twins" alone is a better list than one with words that name
// nothing.
const wantDescribed = 0.8

// TestKeywordsOfDialogue (C005, C016) checks that at least 80 of 100 turns of real talk get three
// keywords, although they are short.
func TestKeywordsOfDialogue(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "dialogue.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var turns []turn
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		var u turn
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		turns = append(turns, u)
	}
	if len(turns) < 120 {
		t.Fatalf("the sample has %d turns", len(turns))
	}
	sampled, all := keywordShares(t, turns)
	t.Logf("three keywords or more: %.1f%% of a sample of 100, %.1f%% of %d turns", 100*sampled, 100*all, len(turns))
	if sampled < wantDescribed {
		t.Errorf("%.2f of the sample have three keywords, want %.2f", sampled, wantDescribed)
	}
}

// TestKeywordsOfLoCoMo checks the same on the LoCoMo conversations. EVAL_DATA is the folder that
// holds them.
func TestKeywordsOfLoCoMo(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("EVAL_DATA")
	if dir == "" {
		t.Skip("EVAL_DATA is not set")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "locomo7.json"))
	if err != nil {
		t.Fatal(err)
	}
	var conversations []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
	}
	if err := json.Unmarshal(raw, &conversations); err != nil {
		t.Fatal(err)
	}
	var turns []turn
	for _, c := range conversations {
		var sessions []string
		for name := range c.Conversation {
			sessions = append(sessions, name)
		}
		sort.Strings(sessions)
		for _, name := range sessions {
			var session []turn
			if json.Unmarshal(c.Conversation[name], &session) == nil {
				turns = append(turns, session...)
			}
		}
	}
	sampled, all := keywordShares(t, turns)
	t.Logf("three keywords or more: %.1f%% of a sample of 100, %.1f%% of %d turns", 100*sampled, 100*all, len(turns))
	if sampled < wantDescribed || all < wantDescribed {
		t.Errorf("%.3f of the sample and %.3f of all have three keywords, want %.2f", sampled, all, wantDescribed)
	}
}
