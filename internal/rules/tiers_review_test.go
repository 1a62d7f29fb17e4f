package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
)

// reviewedDialogue is a conversation whose themes, dimensions, knowledge and triples are reviewed. One
// person is the user, everybody else an assistant.
type reviewedDialogue struct {
	id    string
	turns []reviewedTurn
}

// betweenPeople makes both speakers users: nobody is an assistant.
func (d *reviewedDialogue) betweenPeople() {
	for i := range d.turns {
		d.turns[i].Role = memory.RoleUser
	}
}

type reviewedTurn struct {
	id string
	memory.Utterance
}

// chosenOn are the conversations that rules may be chosen on. Reviews are of the others.
var chosenOn = map[string]bool{"conv-26": true, "conv-30": true, "conv-41": true, "Adeleke_Okonjo": true, "Ethan_Hunt": true}

// reviewedDialogues returns the conversations of LoCoMo, RealMem and MADial-Bench in a folder: those that
// rules may be chosen on, or the others.
func reviewedDialogues(t *testing.T, dir string, chosen bool) []reviewedDialogue {
	t.Helper()
	var out []reviewedDialogue
	add := func(dialogue string, turn reviewedTurn) {
		if chosenOn[dialogue] != chosen {
			return
		}
		if len(out) == 0 || out[len(out)-1].id != dialogue {
			out = append(out, reviewedDialogue{id: dialogue})
		}
		d := &out[len(out)-1]
		d.turns = append(d.turns, turn)
	}
	users := map[string]string{}
	eachDialogueTurn(t, dir, func(conversation string, turn dialogueTurn, saidAt time.Time) {
		u := memory.Utterance{Role: memory.RoleAssistant, Name: turn.Speaker, Content: turn.Text, Time: saidAt}
		if users[conversation] == "" {
			users[conversation] = turn.Speaker
		}
		if users[conversation] == turn.Speaker {
			u.Role = memory.RoleUser
		}
		add(conversation, reviewedTurn{turn.ID, u})
	})
	for _, file := range []string{"realmem6.json.gz", "madial_dev.json.gz", "madial_zh_dev.json.gz"} {
		var set struct {
			Convs []struct {
				ID    string `json:"id"`
				Turns []struct {
					Role string `json:"role"`
					Name string `json:"name"`
					Time string `json:"time"`
					Text string `json:"text"`
				} `json:"turns"`
			} `json:"convs"`
		}
		readGzip(t, filepath.Join(dir, file), &set)
		for _, c := range set.Convs {
			for i, turn := range c.Turns {
				at, err := time.Parse(time.RFC3339, turn.Time)
				if err != nil {
					at = tierTime
				}
				u := memory.Utterance{Role: memory.RoleUser, Name: turn.Name, Content: turn.Text, Time: at}
				if turn.Role == "assistant" {
					u.Role = memory.RoleAssistant
				}
				add(c.ID, reviewedTurn{strconv.Itoa(i), u})
			}
		}
	}
	addMemoryBank(t, dir, add)
	return out
}

// addMemoryBank adds the exchanges of MemoryBank's English test memory.
func addMemoryBank(t *testing.T, dir string, add func(string, reviewedTurn)) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "memorybank_en.json"))
	if err != nil {
		t.Fatal(err)
	}
	var people map[string]struct {
		Name    string `json:"name"`
		History map[string][]struct {
			Query    string `json:"query"`
			Response string `json:"response"`
		} `json:"history"`
	}
	if err := json.Unmarshal(raw, &people); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(people)) {
		history := people[name].History
		for _, day := range slices.Sorted(maps.Keys(history)) {
			at, err := time.Parse(time.DateOnly, day)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range history[day] {
				id := fmt.Sprintf("%s/%d", day, i)
				add("bank-"+strings.ReplaceAll(strings.TrimSpace(name), " ", "_"), reviewedTurn{id, memory.Utterance{Role: memory.RoleUser, Name: name, Content: x.Query, Time: at}})
				add("bank-"+strings.ReplaceAll(strings.TrimSpace(name), " ", "_"), reviewedTurn{id + "a", memory.Utterance{Role: memory.RoleAssistant, Content: x.Response, Time: at}})
			}
		}
	}
}

// reviewedPage is a page with the id of its first turn.
type reviewedPage struct {
	id string
	memoryos.CallPage
}

// pages returns the exchanges of a dialogue.
func (d *reviewedDialogue) pages() []reviewedPage {
	var out []reviewedPage
	for i, turn := range d.turns {
		if last := len(out) - 1; turn.Role != memory.RoleUser && i > 0 && len(out[last].Messages) == 1 && d.turns[i-1].Role == memory.RoleUser {
			out[last].Messages = append(out[last].Messages, turn.Utterance)
			continue
		}
		out = append(out, reviewedPage{turn.id, memoryos.CallPage{Messages: []memory.Utterance{turn.Utterance}}})
	}
	return out
}

// batchPages is how many pages are summed up, or analyzed, together.
const batchPages = 6

// wholeEvery is which batches are read by all calls. Triples, which are rare, are taken from every page.
const wholeEvery = 3

// tierItems returns what the rules take from dialogues, by the name of the review.
func tierItems(dialogues []reviewedDialogue) map[string][]drawn {
	out := map[string][]drawn{}
	a := New()
	for _, d := range dialogues {
		pages := d.pages()
		for at := 0; at < len(pages); at += batchPages {
			batch := pages[at:min(len(pages), at+batchPages)]
			whole := at/batchPages%wholeEvery == 0
			plain := make([]memoryos.CallPage, len(batch))
			var said strings.Builder
			for i := range batch {
				plain[i] = batch[i].CallPage
				fmt.Fprintf(&said, " [%d] ", i)
				for _, m := range batch[i].Messages {
					said.WriteString(m.Name + "(" + string(m.Role) + "): " + m.Content + " ")
				}
			}
			add := func(name, item, source string) {
				list := out[name]
				n := 1
				if prefix := d.id + " " + batch[0].id + " #"; len(list) > 0 && strings.HasPrefix(list[len(list)-1].id, prefix) {
					n, _ = strconv.Atoi(strings.TrimPrefix(list[len(list)-1].id, prefix))
					n++
				}
				out[name] = append(list, drawn{fmt.Sprintf("%s %s #%d", d.id, batch[0].id, n), item, source})
			}
			themes := memoryos.ThemesAnswer{}
			if whole {
				themes = a.multiSummary(memoryos.ThemesInput{Pages: plain})
			}
			for _, theme := range themes.Themes {
				add("themes", fmt.Sprintf("%s | %s | %s | %v", theme.Theme, strings.Join(theme.Keywords, ", "), theme.Content, theme.Pages), said.String())
			}
			person := ""
			for _, m := range pagesSaid(plain) {
				if m.Role == memory.RoleUser {
					person = m.Name
				}
			}
			shown := memoryos.Profile{}
			if whole {
				shown = profile(memoryos.ProfileInput{Person: person, Pages: plain})
			}
			for _, dim := range shown.Dimensions {
				add("dimensions", fmt.Sprintf("%s %s: %s", dim.Name, dim.Level, dim.Evidence), "")
			}
			for i := range plain {
				k := memoryos.Knowledge{}
				if whole {
					k = knowledge(memoryos.KnowledgeInput{Person: person, Pages: plain[i : i+1]})
				}
				source := pageText(&plain[i])
				for _, fact := range k.User {
					add("knowledge", "user: "+fact, source)
				}
				for _, fact := range k.Assistant {
					if strings.HasPrefix(d.id, "conv-") {
						break // the other speaker of LoCoMo is a person
					}
					add("knowledge", "assistant: "+fact, source)
				}
				for _, m := range plain[i].Messages {
					for _, triple := range layered.RuleTriples(layered.TriplesInput{Message: m}) {
						add("triples", fmt.Sprintf("%s — %s — %s", triple.Subject, triple.Relation, triple.Object), m.Content)
					}
				}
			}
		}
	}
	return out
}

// tierReviewSeeds select what the reviews of these calls judge.
var tierReviewSeeds = map[string]uint64{"triples": 20261205, "dimensions": 20261203, "knowledge": 20261204, "themes": 20261126}

// TestTiersUnderReview draws 100 themes, dimensions, pieces of knowledge and triples at random from
// conversations that the rules were not chosen on, and writes them into the folder of the flag -draw. It checks
// that the pages of docs/reviews state the number of the good ones, and that most of what they judge is still
// what the rules return; else a new review is due.
func TestTiersUnderReview(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("EVAL_DATA")
	if dir == "" {
		t.Skip("EVAL_DATA is not set")
	}
	for name, all := range tierItems(reviewedDialogues(t, dir, false)) {
		if page, verdicts, ok := reviewOf(t, name, perSet(tierReviewSeeds[name], [][]drawn{all})); ok {
			checkReview(t, name, page, verdicts, all)
		}
	}
}
