package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// reviewSeed selects the facts that docs/reviews/facts.md judges. If the rules change after a
// review, change the seed and review again.
const reviewSeed = 20230611

// reviewedFact is a fact of the LoCoMo conversations and where it was said.
type reviewedFact struct {
	id, fact, source string
}

// hash identifies the text of a fact without showing it.
func (r reviewedFact) hash() string {
	sum := sha256.Sum256([]byte(r.fact))
	return hex.EncodeToString(sum[:6])
}

type dialogueTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
}

// eachDialogueTurn calls a function for every turn of the conversations, session by session, with
// the time of the session.
func eachDialogueTurn(t *testing.T, dir string, each func(conversation string, turn dialogueTurn, saidAt time.Time)) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "locomo7.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		for n := 1; n <= len(c.Conversation); n++ {
			name := "session_" + strconv.Itoa(n)
			var turns []dialogueTurn
			if json.Unmarshal(c.Conversation[name], &turns) != nil {
				continue
			}
			var at string
			if err := json.Unmarshal(c.Conversation[name+"_date_time"], &at); err != nil {
				t.Fatal(err)
			}
			saidAt, err := time.Parse("3:04 pm on 2 January, 2006", at)
			if err != nil {
				t.Fatal(err)
			}
			for _, turn := range turns {
				each(c.ID, turn, saidAt)
			}
		}
	}
}

// locomoFacts extracts the facts of every turn. Each speaker is treated as the user.
func locomoFacts(t *testing.T, dir string) []reviewedFact {
	t.Helper()
	var out []reviewedFact
	eachDialogueTurn(t, dir, func(conversation string, turn dialogueTurn, saidAt time.Time) {
		u := memory.Utterance{Role: memory.RoleUser, Name: turn.Speaker, Content: turn.Text, Time: saidAt}
		for i, f := range extract(mem0.ExtractInput{New: []memory.Utterance{u}}).Facts {
			out = append(out, reviewedFact{fmt.Sprintf("%s %s #%d", conversation, turn.ID, i+1), f, turn.Text})
		}
	})
	return out
}

var reviewLine = regexp.MustCompile("(?m)^\\| \\d+ \\| (\\S+ \\S+ #\\d+) \\| `([0-9a-f]{12})` \\| (kept|junk) \\|")

// TestFactsUnderReview selects 100 facts at random and shows them with -v. It checks that the
// committed review judges these facts and states the right share of junk.
func TestFactsUnderReview(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("EVAL_DATA")
	if dir == "" {
		t.Skip("EVAL_DATA is not set")
	}
	all := locomoFacts(t, dir)
	r := rand.New(rand.NewPCG(reviewSeed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	t.Logf("%d facts", len(all))
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "reviews", "facts.md"))
	if err != nil {
		t.Error(err)
	}
	verdicts := reviewLine.FindAllStringSubmatch(string(raw), -1)
	if len(verdicts) != 100 {
		t.Errorf("the review has %d verdicts", len(verdicts))
	}
	junk := 0
	for i, f := range all[:100] {
		t.Logf("%d | %s | %s | %s", i+1, f.id, f.hash(), f.fact)
		if i < len(verdicts) {
			if verdicts[i][1] != f.id || verdicts[i][2] != f.hash() {
				t.Errorf("fact %d is %s %s, the review judged %s %s", i+1, f.id, f.hash(), verdicts[i][1], verdicts[i][2])
			}
			if verdicts[i][3] == "junk" {
				junk++
			}
		}
	}
	if want := fmt.Sprintf("**%d of 100 are junk**", junk); !strings.Contains(string(raw), want) {
		t.Errorf("the review does not say %q", want)
	}
}
