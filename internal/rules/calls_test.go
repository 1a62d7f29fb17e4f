package rules

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// There are rules for every call of the policies for conversations. A call with a known input and
// an unknown name is refused, since several calls have the same input type.
func TestCallsForConversations(t *testing.T) {
	t.Parallel()
	ex := askByName[mem0.Extraction](t, "extract", exchangeOf("Ana", "I like tea."))
	if len(ex.Facts) != 1 {
		t.Errorf("%+v", ex)
	}
	dec := askByName[mem0.FactDecision](t, "decide", mem0.DecideInput{Fact: "Ana likes tea.", Similar: []memory.Described{{Handle: 0, Content: "Ana likes tea."}}})
	if dec.Operation != mem0.OpNoop || dec.Target == nil || *dec.Target != 0 {
		t.Errorf("%+v", dec)
	}
	if s := askByName[mem0.Summary](t, "procedure", mem0.SummarizeInput{Old: "assistant: opened the shop.", Memories: []string{"user: please sell the red boat"}, Chars: 200}); s.Summary == "" {
		t.Error("no record of a procedure")
	}
	_ = askByName[mem0.EntitiesFound](t, "entities", mem0.EntitiesInput{})
	_ = askByName[mem0.RelationsFound](t, "relations", mem0.RelationsInput{})
	_ = askByName[mem0.ConflictsFound](t, "conflicts", mem0.ConflictsInput{})
	for _, c := range []memory.Call{{Name: "weekly_summary", Input: memorybank.DayInput{}}, {Name: "overall", Input: memorybank.OverallInput{}}, {Name: "extract"}} {
		if _, err := New().Ask(t.Context(), tenant.Scope{}, c); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// FuzzConversations checks that no text makes the rules panic, exceed a bound, or answer
// differently the second time.
func FuzzConversations(f *testing.F) {
	for _, s := range []string{"I moved to Rome yesterday.", "我昨天去了北京。", "My sister Anna - she's 5 - lives in Oslo!", "\x00I\xff", "I'd", "Ana's 's", "Well, Ana, I", "\"I", "我", "的", "Just", "Been "} {
		f.Add(s, "Ana", "Ana likes tea.")
	}
	at := time.Date(2023, 5, 8, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s, name, other string) {
		in := mem0.ExtractInput{Max: 5, New: []memory.Utterance{{Role: memory.RoleUser, Name: name, Content: s, Time: at}}}
		facts := extract(in).Facts
		if len(facts) > 5 {
			t.Errorf("%d facts", len(facts))
		}
		first, err := json.Marshal(facts)
		if err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(extract(in).Facts)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s, then %s", first, second)
		}
		for _, fact := range facts {
			if utf8.RuneCountInString(fact) > maxFactRunes || fact == "" {
				t.Errorf("a fact of %d characters", utf8.RuneCountInString(fact))
			}
		}
		texts := append([]string{s, other}, facts...)
		d := decide(mem0.DecideInput{Fact: s, Similar: []memory.Described{{Handle: 0, Content: other}}})
		if d.Operation != mem0.OpAdd && (d.Target == nil || *d.Target != 0) {
			t.Errorf("%+v", d)
		}
		e := findEntities(mem0.EntitiesInput{Texts: texts, User: name})
		findRelations(mem0.RelationsInput{Texts: texts, Entities: e.Entities, User: name})
		if sum := summarize(mem0.SummarizeInput{Memories: texts, Chars: 40}).Summary; utf8.RuneCountInString(sum) > 40 {
			t.Errorf("a summary of %d characters", utf8.RuneCountInString(sum))
		}
		for _, l := range []policy.Language{policy.English, policy.Chinese} {
			day := memorybank.DayInput{Turns: in.New, User: name, Chars: 60, Language: l}
			if sum := daySummary(day).Summary; utf8.RuneCountInString(sum) > 60 {
				t.Errorf("a day of %d characters", utf8.RuneCountInString(sum))
			}
			dayPersonality(day)
			all := memorybank.OverallInput{Days: []memorybank.DatedText{{Date: "2023-05-08", Text: s}, {Date: "2023-05-09", Text: other}}, User: name, Chars: 60, Language: l}
			if sum := overallHistory(all).Summary; utf8.RuneCountInString(sum) > 60 {
				t.Errorf("a history of %d characters", utf8.RuneCountInString(sum))
			}
			if p := overallPersonality(all).Portrait; utf8.RuneCountInString(p) > 60 {
				t.Errorf("a portrait of %d characters", utf8.RuneCountInString(p))
			}
		}
	})
}
