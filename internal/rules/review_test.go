package rules

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/text"
)

// reviewSeed selects what the pages of docs/reviews judge. If the rules change after a review,
// change the seed and review again.
const reviewSeed = 20261201

// draw is a folder in which TestUnderReview writes what is to be judged, with the texts. The data
// may not be passed on, so the folder is outside of the tree.
var draw = flag.String("draw", "", "write what is to be reviewed into this folder, with texts")

// drawn is one thing to judge: an id that says where it is from, the thing, and what it was made of.
type drawn struct {
	id, text, source string
}

// hash identifies the text without showing it.
func (r drawn) hash() string {
	sum := sha256.Sum256([]byte(r.text))
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

// locomoFacts extracts the facts of every turn, with the three turns before it as background. Each
// speaker is treated as the user.
func locomoFacts(t *testing.T, dir string) []drawn {
	t.Helper()
	var out []drawn
	var before []memory.Utterance
	last := ""
	eachDialogueTurn(t, dir, func(conversation string, turn dialogueTurn, saidAt time.Time) {
		if conversation != last {
			before, last = nil, conversation
		}
		u := memory.Utterance{Role: memory.RoleUser, Name: turn.Speaker, Content: turn.Text, Time: saidAt}
		for i, f := range extract(mem0.ExtractInput{Recent: before, New: []memory.Utterance{u}}).Facts {
			out = append(out, drawn{fmt.Sprintf("%s %s #%d", conversation, turn.ID, i+1), f, turn.Text})
		}
		before = append(before, u)
		before = before[max(0, len(before)-3):]
	})
	return out
}

// locomoEdges returns the relations of every fact.
func locomoEdges(facts []drawn) []drawn {
	var out []drawn
	for _, f := range facts {
		entities := findEntities(mem0.EntitiesInput{Texts: []string{f.text}}).Entities
		for i, r := range findRelations(mem0.RelationsInput{Texts: []string{f.text}, Entities: entities}).Relations {
			out = append(out, drawn{fmt.Sprintf("%s/%d", f.id, i+1), r.Source + " — " + r.Relation + " — " + r.Destination, f.text})
		}
	}
	return out
}

// locomoNotes returns the keyword list of every turn, and the links between turns. The neighbors of
// a turn are the five before it in its conversation that share the most terms, and the share is
// their similarity: the encoder is not at hand here.
func locomoNotes(t *testing.T, dir string) (keywordLists, links []drawn) {
	t.Helper()
	h := New()
	type note struct {
		id, said string
		memory.Described
		terms map[string]bool
	}
	var notes []note
	last := ""
	eachDialogueTurn(t, dir, func(conversation string, turn dialogueTurn, _ time.Time) {
		if conversation != last {
			notes, last = nil, conversation
		}
		content := turn.Speaker + ": " + turn.Text
		a := h.analyze(amem.AnalyzeInput{Content: content, Speaker: turn.Speaker})
		n := note{id: conversation + " " + turn.ID, said: content, terms: stringSet(text.Terms(turn.Text)),
			Described: memory.Described{Handle: -1, Content: content, Context: a.Context, Keywords: a.Keywords, Tags: a.Tags}}
		keywordLists = append(keywordLists, drawn{n.id + " #1", strings.Join(a.Keywords, ", "), turn.Text})
		var near []note
		for _, m := range notes {
			shared := 0
			for term := range n.terms {
				if m.terms[term] {
					shared++
				}
			}
			if shared > 0 {
				m.Score = float64(shared) / math.Sqrt(float64(len(n.terms)*len(m.terms)))
				near = append(near, m)
			}
		}
		slices.SortStableFunc(near, func(a, b note) int { return cmp.Compare(b.Score, a.Score) })
		near = near[:min(5, len(near))]
		in := amem.EvolveInput{New: n.Described}
		for i := range near {
			near[i].Handle = i
			in.Neighbors = append(in.Neighbors, near[i].Described)
		}
		for i, handle := range evolve(in).SuggestedConnections {
			links = append(links, drawn{fmt.Sprintf("%s #%d", n.id, i+1), near[handle].said, content})
		}
		notes = append(notes, n)
	})
	return keywordLists, links
}

var reviewLine = regexp.MustCompile("(?m)^\\| \\d+ \\| (\\S+ \\S+ #\\S+) \\| `([0-9a-f]{12})` \\| (good|bad) \\|")

// reviewOf shuffles items, and with the flag -draw writes the first 100 into a page to judge. Without it, it returns the page of
// docs/reviews and the verdicts in it. ok is false when there are none to check.
func reviewOf(t *testing.T, name string, seed uint64, all []drawn) (page string, verdicts [][]string, ok bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	t.Logf("%s: %d", name, len(all))
	if *draw != "" {
		var page strings.Builder
		for i, d := range all[:min(100, len(all))] {
			fmt.Fprintf(&page, "| %d | %s | `%s` |  |  |\n    %s\n    <- %s\n", i+1, d.id, d.hash(), d.text, strings.Join(strings.Fields(d.source), " "))
		}
		if err := os.WriteFile(filepath.Join(*draw, name+".md"), []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return "", nil, false
	}
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "reviews", name+".md"))
	if err != nil {
		t.Error(err)
		return "", nil, false
	}
	return string(raw), reviewLine.FindAllStringSubmatch(string(raw), -1), true
}

// TestUnderReview draws 100 facts, edges, links and keyword lists at random, and writes them into
// the folder of the flag -draw. It checks that the pages of docs/reviews judge these, and state the
// number of the good ones.
func TestUnderReview(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("EVAL_DATA")
	if dir == "" {
		t.Skip("EVAL_DATA is not set")
	}
	facts := locomoFacts(t, dir)
	keywordLists, links := locomoNotes(t, dir)
	for name, all := range map[string][]drawn{"facts": facts, "edges": locomoEdges(facts), "links": links, "keywords": keywordLists} {
		page, verdicts, ok := reviewOf(t, name, reviewSeed, all)
		if !ok {
			continue
		}
		if len(verdicts) != 100 {
			t.Errorf("the review of %s has %d verdicts", name, len(verdicts))
			continue
		}
		good := 0
		for i, d := range all[:100] {
			if verdicts[i][1] != d.id || verdicts[i][2] != d.hash() {
				t.Errorf("%s %d is %s %s, the review judged %s %s", name, i+1, d.id, d.hash(), verdicts[i][1], verdicts[i][2])
			}
			if verdicts[i][3] == "good" {
				good++
			}
		}
		if want := fmt.Sprintf("**%d of 100 are good**", good); !strings.Contains(page, want) {
			t.Errorf("the review of %s does not say %q", name, want)
		}
	}
}
