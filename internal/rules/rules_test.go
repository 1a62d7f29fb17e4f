package rules_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/rules"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// callName returns the name of the call that has an input of this type.
func callName(input any) string {
	switch input.(type) {
	case amem.AnalyzeInput:
		return "analyze"
	case amem.EvolveInput:
		return "evolve"
	case policy.RelevanceInput:
		return "relevance"
	}
	return ""
}

func ask[T any](t *testing.T, input any) T {
	t.Helper()
	a, err := rules.New().Ask(t.Context(), tenant.Scope{}, memory.Call{Name: callName(input), Input: input})
	if err != nil {
		t.Fatal(err)
	}
	if a.Analyst != memory.AnalystHeuristic || a.Model != rules.Name || a.Calls != 0 {
		t.Errorf("%+v", a)
	}
	var out T
	if err := json.Unmarshal(a.JSON, &out); err != nil {
		t.Fatalf("%v in %s", err, a.JSON)
	}
	return out
}

// C005, C008, C016: the analyses of ten notes in five languages are in a golden file (go test
// ./internal/rules -run Golden -update).
func TestAnalyzeGolden_C005(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "analyze.golden.json")
	type entry struct {
		Content string   `json:"content"`
		Speaker string   `json:"speaker,omitempty"`
		Got     analysis `json:"analysis"`
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	if err := json.Unmarshal(raw, &entries); err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		got := analysis(ask[amem.Analysis](t, amem.AnalyzeInput{Content: e.Content, Speaker: e.Speaker}))
		if !*update && fmt.Sprint(got) != fmt.Sprint(e.Got) {
			t.Errorf("%s:\n got %q\nwant %q", e.Content, got, e.Got)
		}
		entries[i].Got = got
		if len(got.Keywords) < 3 || len(got.Tags) < 3 || got.Context == memory.DefaultContext {
			t.Errorf("%s: %q", e.Content, got)
		}
		for _, k := range got.Keywords {
			if !strings.Contains(e.Content, k) || text.IsTimeWord(k) || e.Speaker != "" && strings.Contains(k, e.Speaker) {
				t.Errorf("%s: keyword %q", e.Content, k)
			}
		}
		if !strings.Contains(e.Content, strings.TrimSuffix(got.Context, "…")) {
			t.Errorf("%s: context %q", e.Content, got.Context)
		}
	}
	if *update {
		out, err := json.MarshalIndent(entries, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(out, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

type analysis amem.Analysis

// C006: neither the speaker nor the time is a keyword, in any form of the note.
func TestSpeakerAndTime_C006(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"Caroline: Caroline paints lakes on Sunday morning in March.",
		"Speaker Caroline says : I paint lakes on Sunday morning in March.",
		"Caroline says: I paint lakes every week, Caroline style.",
	} {
		for _, speaker := range []string{"", "Caroline"} {
			a := ask[amem.Analysis](t, amem.AnalyzeInput{Content: content, Speaker: speaker})
			if len(a.Keywords) < 2 {
				t.Errorf("%s: %q", content, a.Keywords)
			}
			for _, k := range a.Keywords {
				for _, w := range text.Words(k) {
					if text.IsTimeWord(w) || w == "caroline" || w == "says" || w == "speaker" {
						t.Errorf("%s by %q: keyword %q", content, speaker, k)
					}
				}
			}
			if strings.HasPrefix(a.Context, "Caroline:") || strings.Contains(a.Context, "says") {
				t.Errorf("context %q", a.Context)
			}
		}
	}
	// A label is not a speaker.
	if a := ask[amem.Analysis](t, amem.AnalyzeInput{Content: "Recipe: pancakes with blueberries"}); !slices.ContainsFunc(a.Keywords, func(k string) bool { return strings.Contains(k, "pancakes") }) {
		t.Errorf("%q", a.Keywords)
	}
}

func TestAnalyzeLittle(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]struct{ keywords, tags int }{
		"": {0, 0}, " \n": {0, 0}, "👍👍": {0, 0}, "?!": {0, 0}, "\xff\xfe": {0, 0}, "Thanks!": {1, 3}, "Wow, thanks!": {2, 3},
	} {
		a := ask[amem.Analysis](t, amem.AnalyzeInput{Content: content})
		if len(a.Keywords) != want.keywords || len(a.Tags) != want.tags || a.Context == "" || a.Keywords == nil || a.Tags == nil {
			t.Errorf("%q: %+v", content, a)
		}
	}
}

func TestAnalyzeOnlyWanted(t *testing.T) {
	t.Parallel()
	a := ask[amem.Analysis](t, amem.AnalyzeInput{Content: "Bees survive frost in straw.", Want: []string{"tags"}})
	if len(a.Keywords) != 0 || a.Context != memory.DefaultContext || len(a.Tags) < 3 {
		t.Errorf("%+v", a)
	}
}

func TestTags_C316(t *testing.T) {
	t.Parallel()
	for content, want := range map[string][]string{
		"Where did you learn to play the violin?":                                 {"music", "question"},
		"- milk\n- bread\n- cheese":                                               {"food", "list"},
		"We decided to move the database to the new server.":                      {"technology", "decision"},
		"Remind me to call the dentist about my tooth.":                           {"health", "reminder"},
		"Next week we're going to hike around the lake.":                          {"nature", "plan"},
		"Ich habe gestern einen Kuchen gebacken.":                                 {"food", "event"},
		"Me gusta mucho la música de guitarra.":                                   {"music", "preference"},
		"Demain, je vais au marché pour acheter du fromage.":                      {"shopping", "plan"},
		"我喜欢和妈妈一起做饭。":                                                             {"family", "food", "preference"},
		"func add(a, b int) int {\n\treturn a + b\n}":                             {"code"},
		"Quantum annealing is an optimization method for combinatorial problems.": {"science", "statement", "fact"},
	} {
		a := ask[amem.Analysis](t, amem.AnalyzeInput{Content: content})
		for _, w := range want {
			if !slices.Contains(a.Tags, w) {
				t.Errorf("%q: %q lacks %q", content, a.Tags, w)
			}
		}
	}
}

// describeNote returns a text as a neighbor, described by the analyst.
func describeNote(t *testing.T, handle int, score float64, content string) memory.Described {
	t.Helper()
	a := ask[amem.Analysis](t, amem.AnalyzeInput{Content: content})
	return memory.Described{Handle: handle, Content: content, Context: a.Context, Keywords: a.Keywords, Tags: a.Tags, Score: score}
}

type evolution struct {
	amem.Evolution
	Reflections []struct {
		Handle int      `json:"handle"`
		Kind   string   `json:"kind"`
		Reason string   `json:"reason"`
		Shared []string `json:"shared"`
	} `json:"reflections"`
}

// C033: notes that share a keyword are linked, at most three, those with rare keywords first.
// Others are not linked.
func TestLinks_C033(t *testing.T) {
	t.Parallel()
	in := amem.EvolveInput{
		New: memory.Described{Handle: -1, Content: "x", Keywords: []string{"bee colonies", "frost", "garden"}},
		Neighbors: []memory.Described{
			{Handle: 0, Content: "a", Keywords: []string{"garden"}, Score: 0.9},
			{Handle: 1, Content: "b", Keywords: []string{"gardens", "tulips"}, Score: 0.8},
			{Handle: 2, Content: "c", Keywords: []string{"went", "great"}, Score: 0.7},
			{Handle: 3, Content: "d", Keywords: []string{"colony"}, Score: 0.2},
			{Handle: 4, Content: "e", Keywords: []string{"Garden gate"}, Score: 0.1},
		},
	}
	e := ask[evolution](t, in)
	if !e.ShouldEvolve || !slices.Equal(e.SuggestedConnections, []int{3, 0, 1}) || !slices.Equal(e.Actions, []string{"strengthen"}) {
		t.Errorf("%+v", e)
	}
	in.MaxLinks = 1
	if e := ask[evolution](t, in); !slices.Equal(e.SuggestedConnections, []int{3}) {
		t.Errorf("at most one: %v", e.SuggestedConnections)
	}
	in.MaxLinks = 9
	if e := ask[evolution](t, in); len(e.SuggestedConnections) != 3 {
		t.Errorf("at most three: %v", e.SuggestedConnections)
	}
	in.New.Keywords = []string{"went", "great", "Monday", "the"}
	in.Neighbors[0].Keywords = []string{"great", "Monday", "the", "went"}
	if e := ask[evolution](t, in); e.ShouldEvolve || len(e.SuggestedConnections) != 0 || len(e.Actions) != 0 || e.Confidence == nil {
		t.Errorf("linked by small talk: %+v", e)
	}
	in.Neighbors = nil
	if e := ask[evolution](t, in); e.ShouldEvolve {
		t.Errorf("alone: %+v", e)
	}
}

// C034: clearly related notes get the union of the keywords, and at most 50 characters of the new
// context are appended, once and within a bound.
func TestUnionAndAppend_C034(t *testing.T) {
	t.Parallel()
	long := "The beekeeper wraps every colony in straw before the first hard frost of the year."
	in := amem.EvolveInput{
		New: memory.Described{Handle: -1, Content: long, Context: long, Keywords: []string{"beekeeper", "colony", "straw", "frost"}, Tags: []string{"nature"}},
		Neighbors: []memory.Described{
			{Handle: 0, Content: "One colony died in the frost.", Context: "A loss.", Keywords: []string{"colony", "frost", "fence"}, Tags: []string{"pets", "statement"}, Score: 0.7},
			{Handle: 1, Content: "Straw is cheap.", Context: "Prices.", Keywords: []string{"straw"}, Tags: []string{"pets"}, Score: 0.9},
		},
	}
	e := ask[evolution](t, in)
	if !slices.Contains(e.Actions, "update_neighbor") || e.Confidence == nil || *e.Confidence <= 0.9 || *e.Confidence >= 1 {
		t.Fatalf("%+v", e)
	}
	added, ok := strings.CutPrefix(e.NewContextNeighborhood[0], "A loss. | ")
	if !ok || utf8.RuneCountInString(added) > 50 || !strings.HasPrefix(long, added) {
		t.Errorf("context %q", e.NewContextNeighborhood[0])
	}
	if want := []string{"colony", "frost", "fence", "beekeeper", "straw"}; !slices.Equal(e.NewKeywordsNeighborhood[0], want) {
		t.Errorf("keywords %q", e.NewKeywordsNeighborhood[0])
	}
	// One shared keyword makes a link and no change.
	if e.NewContextNeighborhood[1] != "Prices." || !slices.Equal(e.NewKeywordsNeighborhood[1], []string{"straw"}) || len(e.NewTagsNeighborhood) != 2 {
		t.Errorf("%+v", e)
	}
	// A tag of both neighbors passes to the new note, a format tag does not.
	if !slices.Equal(e.TagsToUpdate, []string{"nature", "pets"}) {
		t.Errorf("tags %q", e.TagsToUpdate)
	}
	// A second run changes nothing.
	in.Neighbors[0].Context, in.Neighbors[0].Keywords = e.NewContextNeighborhood[0], e.NewKeywordsNeighborhood[0]
	if again := ask[evolution](t, in); slices.Contains(again.Actions, "update_neighbor") {
		t.Errorf("appended twice: %+v", again)
	}
	in.Neighbors[0].Context = strings.Repeat("Long ago. ", 39)
	if full := ask[evolution](t, in); full.NewContextNeighborhood[0] != in.Neighbors[0].Context {
		t.Errorf("a full context grew to %d", len(full.NewContextNeighborhood[0]))
	}
	in.Neighbors[0].Context, in.AppendContext = "A loss.", 20
	if short := ask[evolution](t, in); utf8.RuneCountInString(short.NewContextNeighborhood[0]) > len("A loss. | ")+20 {
		t.Errorf("%q", short.NewContextNeighborhood[0])
	}
}

// C035: a contradicting note is linked to the old one, with the reason.
func TestReflection_C035(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ old, added, kind, reason string }{
		"number":     {"The team meeting starts at 9:30 in room Turing.", "The team meeting starts at 11:00 in room Turing.", "conflict", "changed_value"},
		"negation":   {"Anna eats peanuts and honey for breakfast.", "Anna does not eat peanuts, honey is fine for breakfast.", "conflict", "negation"},
		"revised":    {"The release happens on the Frankfurt server.", "We switched the release from the Frankfurt server to Dublin instead.", "conflict", "revised"},
		"german":     {"Anna trinkt morgens Kaffee mit Hafermilch.", "Anna trinkt keinen Kaffee mit Hafermilch.", "conflict", "negation"},
		"chinese":    {"会议地点是北京办公室。", "会议地点改到上海办公室，不是北京办公室。", "conflict", "revised"},
		"complement": {"The team meeting starts at 9:30 in room Turing.", "The team meeting needs a bigger projector.", "complement", "shared_keywords"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := ask[evolution](t, amem.EvolveInput{
				New:       describeNote(t, -1, 0, tc.added),
				Neighbors: []memory.Described{describeNote(t, 0, 0.5, "Quantum computers need liquid helium."), describeNote(t, 1, 0.6, tc.old)},
			})
			if len(e.Reflections) != 1 || e.Reflections[0].Handle != 1 || e.Reflections[0].Kind != tc.kind || e.Reflections[0].Reason != tc.reason {
				t.Errorf("%+v", e.Reflections)
			}
			if !slices.Equal(e.SuggestedConnections, []int{1}) {
				t.Errorf("links %v", e.SuggestedConnections)
			}
		})
	}
}

func TestRelevance(t *testing.T) {
	t.Parallel()
	in := policy.RelevanceInput{Query: "Where do the bees spend the frost?", Candidates: []memory.Described{
		{Handle: 0, Content: "Payments are rounded.", Score: 0.72},
		{Handle: 1, Content: "Bees sit out the frost in straw.", Score: 0.75},
		{Handle: 2, Content: "A bee stung me.", Score: 0.71},
		{Handle: 3, Content: "Nothing.", Keywords: []string{"frost", "bees"}, Score: 0.5},
	}}
	r := ask[policy.Relevance](t, in)
	if len(r.Scores) != 4 {
		t.Fatalf("%+v", r)
	}
	for i, s := range r.Scores {
		if s.ID != i || s.Score < 0 || s.Score > 1 {
			t.Errorf("%+v", s)
		}
	}
	if !(r.Scores[1].Score > r.Scores[2].Score && r.Scores[2].Score > r.Scores[0].Score && r.Scores[3].Score > r.Scores[0].Score) {
		t.Errorf("%+v", r.Scores)
	}
	in.Query = "what is it"
	if r := ask[policy.Relevance](t, in); r.Scores[1].Score < 0.7 {
		t.Errorf("a query of stop words: %+v", r.Scores)
	}
}

func TestHeuristicRefusals(t *testing.T) {
	t.Parallel()
	h := rules.New()
	if _, err := h.Ask(t.Context(), tenant.Scope{}, memory.Call{Name: "sing", Input: 1}); !fault.Is(err, fault.Internal) {
		t.Errorf("unknown call: %v", err)
	}
	c := memory.Call{
		Name: "analyze", Input: amem.AnalyzeInput{Content: "bees survive frost in straw"},
		Schema: json.RawMessage(`{"type":"object","properties":{"keywords":{"type":"array"},"context":{"type":"string"},"tags":{"type":"array"}}}`),
		Check:  func(json.RawMessage) error { return errors.New("no") },
	}
	a, err := h.Ask(t.Context(), tenant.Scope{}, c)
	if !errors.Is(err, memory.ErrBadAnswer) || string(a.JSON) != `{"context":"","keywords":[],"tags":[]}` {
		t.Errorf("%s, %v", a.JSON, err)
	}
}

// The same material always gets the same answer.
func TestHeuristicIsDeterministic(t *testing.T) {
	t.Parallel()
	in := amem.EvolveInput{New: describeNote(t, -1, 0, "Bees and frost and straw in the garden by the fence."), Neighbors: []memory.Described{
		describeNote(t, 0, 0.5, "Bees in the garden."), describeNote(t, 1, 0.5, "Frost in the garden."), describeNote(t, 2, 0.5, "Straw by the fence."), describeNote(t, 3, 0.5, "Garden fence."),
	}}
	h := rules.New()
	var first string
	for i := range 50 {
		a, err := h.Ask(t.Context(), tenant.Scope{}, memory.Call{Name: callName(in), Input: in})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = string(a.JSON)
		} else if string(a.JSON) != first {
			t.Fatalf("%s, then %s", first, a.JSON)
		}
	}
}

func FuzzHeuristic(f *testing.F) {
	f.Add("Ana: bees survive frost", "bees do not survive frost")
	f.Add("", "\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		h := rules.New()
		var described [2]memory.Described
		for i, s := range []string{a, b} {
			raw, err := h.Ask(t.Context(), tenant.Scope{}, memory.Call{Name: "analyze", Input: amem.AnalyzeInput{Content: s}})
			if err != nil {
				t.Fatal(err)
			}
			var out amem.Analysis
			if err := json.Unmarshal(raw.JSON, &out); err != nil || len(out.Keywords) > 8 {
				t.Fatalf("%v: %s", err, raw.JSON)
			}
			described[i] = memory.Described{Content: s, Context: out.Context, Keywords: out.Keywords, Tags: out.Tags, Score: 0.6}
		}
		described[0].Handle = -1
		if _, err := h.Ask(t.Context(), tenant.Scope{}, memory.Call{Name: "evolve", Input: amem.EvolveInput{New: described[0], Neighbors: described[1:]}}); err != nil {
			t.Fatal(err)
		}
	})
}
