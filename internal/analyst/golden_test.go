package analyst

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// goldenInputs has an input for each call, in several languages.
func goldenInputs() map[string]any {
	day := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	talk := []memory.Utterance{
		{Role: memory.RoleUser, Name: "Nora", Time: day, Content: "I moved to Lisbon in May. My sister Anna works at the harbor office."},
		{Role: memory.RoleAssistant, Time: day, Content: "How often do you see her?"},
		{Role: memory.RoleUser, Name: "Nora", Time: day, Content: "Every second Sunday, at the Café Central."},
		{Role: memory.RoleUser, Name: "林小雨", Time: day, Content: "我养了一只橘猫，叫豆包。上周开始在未来科技上班。"},
		{Role: memory.RoleUser, Name: "Jörg", Time: day, Content: "Ich habe die Prüfung in Hannover bestanden! Kannst du mir eine Liste machen?"},
	}
	notes := []memory.Described{
		{Handle: 0, Content: "The gas kiln in the pottery studio needs a new breaker.", Keywords: []string{"gas kiln", "pottery studio", "breaker"}, Time: day, Score: .7},
		{Handle: 1, Content: "Anna works at the harbor office in Lisbon.", Keywords: []string{"Anna", "harbor office", "Lisbon"}, Time: day, Score: .3},
	}
	days := []memorybank.DatedText{{Date: "2026-06-01", Text: "Nora moved to Lisbon in May."}, {Date: "2026-06-02", Text: "Anna works at the harbor office."}}
	page := memoryos.CallPage{Messages: talk[:2]}
	pages := []memoryos.CallPage{page, {Messages: talk[2:4]}, {Messages: talk[4:]}}
	texts := []string{talk[0].Content, talk[3].Content, talk[4].Content}
	overall := memorybank.OverallInput{Days: days, User: "Nora", Meta: map[string]string{"hobbies": "pottery"}, Chars: 400, Language: policy.English}
	bank := memorybank.DayInput{Date: "2026-06-01", Turns: talk, User: "Nora", Chars: 400, Language: policy.English}
	sum := mem0.SummarizeInput{Memories: texts, Chars: 300}
	return map[string]any{
		"analyze":             amem.AnalyzeInput{Content: talk[0].Content + " " + talk[3].Content, Time: day},
		"evolve":              amem.EvolveInput{New: memory.Described{Handle: -1, Content: "The electrician fitted the breaker of the gas kiln.", Keywords: []string{"electrician", "gas kiln", "breaker"}, Time: day}, Neighbors: notes, MaxLinks: 3},
		"relevance":           policy.RelevanceInput{Query: "Where does Anna work?", Candidates: notes},
		"extract":             mem0.ExtractInput{Recent: talk[:2], New: talk[2:], Max: 10, Chars: 300},
		"decide":              mem0.DecideInput{Fact: "Anna works at the harbor office in Lisbon.", Time: day, Similar: notes},
		"summarize":           sum,
		"procedure":           sum,
		"entities":            mem0.EntitiesInput{Texts: texts, User: "Nora"},
		"relations":           mem0.RelationsInput{Texts: texts, User: "Nora"},
		"conflicts":           mem0.ConflictsInput{Texts: texts},
		"daily_summary":       bank,
		"daily_personality":   bank,
		"overall_history":     overall,
		"overall_personality": overall,
		memgpt.CallSummary: memgpt.SummaryInput{Old: "Nora lives in Porto.", Messages: []memgpt.SummaryMessage{
			{Role: "user", Name: "Nora", Text: talk[0].Content}, {Role: "assistant", Text: "Noted: you moved to Lisbon."}}},
		memoryos.CallContinuity: memoryos.ContinuityInput{Previous: page, Next: pages[1], Similarity: .5},
		memoryos.CallMeta:       memoryos.MetaInput{Old: "Nora lives in Porto.", Page: page},
		memoryos.CallThemes:     memoryos.ThemesInput{Pages: pages},
		memoryos.CallProfile:    memoryos.ProfileInput{Person: "Nora", Pages: pages},
		memoryos.CallKnowledge:  memoryos.KnowledgeInput{Person: "Nora", Pages: pages},
		policy.CallWeigh:        policy.WeighInput{Texts: texts},
		memory.CallRefused:      memory.RefusedInput{Texts: texts},
		layered.CallTriples:     layered.TriplesInput{Message: memory.Utterance{Role: memory.RoleUser, Name: "Nora", Content: "My name is Nora and I live in Lisbon.", Time: day}},
		layered.CallAbstract:    layered.AbstractInput{Items: []layered.AbstractItem{{Content: "Tea with Anna.", Time: day, Importance: .4}, {Content: "Tea again with Anna.", Time: day, Importance: .5}}},
	}
}

// The analyst's name says which answers it gives: its version is a hash of golden answers, so that answers cannot change
// under the same name.
func TestNameSaysTheAnswers(t *testing.T) {
	t.Parallel()
	a, inputs := New(), goldenInputs()
	hash := sha256.New()
	for _, call := range slices.Sorted(maps.Keys(a.answers)) {
		input, ok := inputs[call]
		if !ok {
			t.Fatalf("the call %q has no golden input", call)
		}
		answer, err := a.Ask(t.Context(), tenant.Scope{}, memory.Call{Name: call, Input: input})
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		t.Logf("%s: %s", call, answer.JSON)
		hash.Write(answer.JSON)
	}
	for _, results := range [][]string{nil, {`{"time":"2026-01-02 10:00","content":"I parked on level 3."}`, "Page 1 of 1: no messages found."}} {
		for _, c := range step(t, "Where did I park?", results...).Calls {
			hash.Write([]byte(c.Name + c.Arguments))
		}
	}
	if want := "extractive@" + hex.EncodeToString(hash.Sum(nil))[:8]; Name != want {
		t.Errorf("the answers have changed: the name is %q and must be %q", Name, want)
	}
}
