package rules

import (
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
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
)

// reviewSeeds selects what the pages of docs/reviews judge. A page gets a new seed once a rule was chosen on what was drawn.
var reviewSeeds = map[string]uint64{"facts": 20261208, "links": 20261208, "edges": 20261128, "keywords": 20261127}

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

// reviewedSets returns conversations that the rules were not chosen on, set by set: what is said in them, and what is
// kept of it as notes. MADial-Bench has both, and of its dialogues those that no weight was learned from; of the others
// the notes are what the person says.
func reviewedSets(t *testing.T, dir string) (talks, notes [][]reviewedDialogue) {
	t.Helper()
	set := map[string]int{"conv": 0, "bank": 2, "madial": 3, "madialzh": 4}
	notes = make([][]reviewedDialogue, len(set)+1)
	for _, d := range reviewedDialogues(t, dir, false) {
		prefix, _, _ := strings.Cut(d.id, "-")
		at, ok := set[prefix]
		if !ok {
			at = 1 // a persona of RealMem
		}
		if at == 0 {
			d.betweenPeople()
		}
		if strings.HasPrefix(prefix, "madial") {
			d.turns = alternate(d.turns, 0) // links are learned from the others
		}
		notes[at] = append(notes[at], d)
	}
	talks = append(talks, notes[:3]...)
	for _, file := range []string{"madial_dev.json.gz", "madial_zh_dev.json.gz"} {
		talks = append(talks, slices.DeleteFunc(madialTalks(t, dir, file), func(d reviewedDialogue) bool { return learnsFrom(d.id) }))
	}
	return talks, notes
}

// madialTalks returns the dialogues before the questions of MADial-Bench.
func madialTalks(t *testing.T, dir, file string) []reviewedDialogue {
	t.Helper()
	var set struct {
		Convs []struct {
			ID string `json:"id"`
			Qs []struct {
				I    int         `json:"i"`
				Msgs [][2]string `json:"msgs"`
			} `json:"qs"`
		} `json:"convs"`
	}
	readGzip(t, filepath.Join(dir, file), &set)
	var out []reviewedDialogue
	for _, c := range set.Convs {
		for _, q := range c.Qs {
			d := reviewedDialogue{id: c.ID + "-" + strconv.Itoa(q.I)}
			for i, m := range q.Msgs {
				u := memory.Utterance{Role: memory.RoleUser, Name: m[0], Content: m[1], Time: tierTime}
				if m[0] == "Assistant" {
					u.Role = memory.RoleAssistant
				}
				d.turns = append(d.turns, reviewedTurn{strconv.Itoa(i), u})
			}
			out = append(out, d)
		}
	}
	return out
}

// readGzip decodes a compressed file of JSON.
func readGzip(t *testing.T, path string, into any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(plain).Decode(into); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// talkFacts extracts the facts of everything that a person says, with the three turns before it as background.
func talkFacts(talks []reviewedDialogue) []drawn {
	var out []drawn
	for _, d := range talks {
		var before []memory.Utterance
		for _, turn := range d.turns {
			if turn.Role == memory.RoleUser {
				for i, f := range extract(mem0.ExtractInput{Recent: before, New: []memory.Utterance{turn.Utterance}}).Facts {
					source := turn.Content
					if len(before) > 0 {
						source = "[" + before[len(before)-1].Content + "] " + source
					}
					out = append(out, drawn{fmt.Sprintf("%s %s #%d", d.id, turn.id, i+1), f, source})
				}
			}
			before = append(before, turn.Utterance)
			before = before[max(0, len(before)-3):]
		}
	}
	return out
}

// factEdges returns the relations of every fact.
func factEdges(facts []drawn) []drawn {
	var out []drawn
	for _, f := range facts {
		entities := findEntities(mem0.EntitiesInput{Texts: []string{f.text}}).Entities
		for i, r := range findRelations(mem0.RelationsInput{Texts: []string{f.text}, Entities: entities}).Relations {
			out = append(out, drawn{fmt.Sprintf("%s/%d", f.id, i+1), r.Source + " — " + r.Relation + " — " + r.Destination, f.text})
		}
	}
	return out
}

// describedNotes returns the keyword list of every note.
func describedNotes(dialogues []reviewedDialogue) []drawn {
	h := New()
	var lists []drawn
	for _, d := range dialogues {
		for _, turn := range d.turns {
			if turn.Role == memory.RoleUser {
				a := h.analyze(amem.AnalyzeInput{Content: turn.Content, Speaker: turn.Name})
				lists = append(lists, drawn{d.id + " " + turn.id + " #1", strings.Join(a.Keywords, ", "), turn.Content})
			}
		}
	}
	return lists
}

// linkedTurns is how many turns of a conversation are compared with one another for a review of links.
const linkedTurns = 300

// linksBetween returns the links that a gateway makes between the first notes of each dialogue.
func linksBetween(t *testing.T, dialogues []reviewedDialogue) []drawn {
	t.Helper()
	dialogues = slices.Clone(dialogues)
	for i := range dialogues {
		dialogues[i].turns = dialogues[i].turns[:min(linkedTurns, len(dialogues[i].turns))]
	}
	var links []drawn
	for _, n := range neighborhoods(t, dialogues) {
		for i, handle := range evolve(n.in).SuggestedConnections {
			links = append(links, drawn{fmt.Sprintf("%s #%d", n.id, i+1), n.in.Neighbors[handle].Content, n.in.New.Content})
		}
	}
	return links
}

var reviewLine = regexp.MustCompile("(?m)^\\| \\d+ \\| (\\S+ \\S+ #\\S+) \\| `([0-9a-f]{12})` \\| (good|bad) \\|")

// inDraw orders items by the hash of a seed and their ids. What is drawn before and after a change of the rules differs
// only where they return more or less.
func inDraw(seed uint64, items []drawn) []drawn {
	key := func(d drawn) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, d.id))
		return string(sum[:])
	}
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b drawn) int { return cmp.Compare(key(a), key(b)) })
	return items
}

// perSet draws the same number of each set, 100 in all. What a set has too little of is drawn from the others.
func perSet(seed uint64, sets [][]drawn) []drawn {
	var out []drawn
	for _, items := range sets {
		items = inDraw(seed, items)
		out = append(out, items[:min(100/len(sets), len(items))]...)
	}
	taken := map[string]bool{}
	for _, d := range out {
		taken[d.id] = true
	}
	for _, d := range inDraw(seed, slices.Concat(sets...)) {
		if len(out) < 100 && !taken[d.id] {
			out = append(out, d)
		}
	}
	return out
}

// reviewOf writes items into a page to judge, with the flag -draw. Without it, it returns the page of
// docs/reviews and the verdicts in it. ok is false when there are none to check.
func reviewOf(t *testing.T, name string, items []drawn) (page string, verdicts [][]string, ok bool) {
	t.Helper()
	if *draw != "" {
		var page strings.Builder
		for i, d := range items {
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

// checkReview checks that a page states how many of its verdicts are good, and that at least half of what it judges is
// still what the rules return; else a new review is due.
func checkReview(t *testing.T, name, page string, verdicts [][]string, all []drawn) {
	t.Helper()
	known := map[string]bool{}
	for _, d := range all {
		known[d.id+d.hash()] = true
	}
	good, same := 0, 0
	for _, v := range verdicts {
		if v[3] == "good" {
			good++
		}
		if known[v[1]+v[2]] {
			same++
		} else {
			t.Logf("%s: no longer returned: %s", name, v[1])
		}
	}
	t.Logf("%s: %d of %d judged are still returned; the rules return %d", name, same, len(verdicts), len(all))
	if want := fmt.Sprintf("**%d of %d are good**", good, len(verdicts)); !strings.Contains(page, want) {
		t.Errorf("the review of %s does not say %q", name, want)
	}
	if 2*same < len(verdicts) {
		t.Errorf("the rules return %d of the %d that the review of %s judged: review again", same, len(verdicts), name)
	}
}

// TestUnderReview draws 100 facts, edges, links and keyword lists, the same number from each of five sets of
// conversations that the rules were not chosen on, and writes them into the folder of the flag -draw. It checks the
// pages of docs/reviews that judge these.
func TestUnderReview(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("EVAL_DATA")
	if dir == "" {
		t.Skip("EVAL_DATA is not set")
	}
	talks, notes := reviewedSets(t, dir)
	items := map[string][][]drawn{}
	add := func(name string, list []drawn) { items[name] = append(items[name], list) }
	for _, talk := range talks {
		facts := talkFacts(talk)
		add("facts", facts)
		add("edges", factEdges(facts))
	}
	for _, set := range notes {
		add("keywords", describedNotes(set))
		add("links", linksBetween(t, set))
	}
	for name, sets := range items {
		if page, verdicts, ok := reviewOf(t, name, perSet(reviewSeeds[name], sets)); ok {
			checkReview(t, name, page, verdicts, slices.Concat(sets...))
		}
	}
}
