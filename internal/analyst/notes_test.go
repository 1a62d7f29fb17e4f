package analyst

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
)

// TestDescribe holds descriptions in several languages: C005, C006 and C016 as far as they go without a model. There are no
// tags, since no statistics of a text name its category.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, speaker, content string
		keywords               []string
		context                string
	}{
		{"English", "Caroline", "Caroline: Hey Mel! Good to see you. I signed up for a pottery class on Tuesday, and the pottery studio is lovely. How are you?",
			[]string{"pottery", "Tuesday", "signed", "studio", "lovely", "class"}, "I signed up for a pottery class on Tuesday, and the pottery studio is lovely."},
		{"German", "", "Na, gut. Meine Schwester hat in Hamburg eine Keramikwerkstatt eröffnet, und sie sucht noch Mitarbeiter.",
			[]string{"Schwester", "Hamburg", "Keramikwerkstatt", "Mitarbeiter", "eröffnet"}, "Meine Schwester hat in Hamburg eine Keramikwerkstatt eröffnet, und sie sucht noch Mitarbeiter."},
		{"Chinese", "", "好的。我喝一杯美式咖啡，妹妹在北京大学学法律。", []string{"美式咖啡", "妹妹", "北京大学学法律"}, "我喝一杯美式咖啡，妹妹在北京大学学法律。"},
		{"Japanese", "", "はい。妹が京都で陶芸教室を開きました。コーヒーは三杯飲みます。", []string{"京都", "陶芸教室", "コーヒー"}, "妹が京都で陶芸教室を開きました。"},
		{"Arabic", "", "نعم. افتتحت أختي ورشة للخزف في حلب، وتبحث عن عمال.",
			[]string{"ورشة للخزف", "وتبحث", "افتتحت أختي", "عمال", "في حلب"}, "افتتحت أختي ورشة للخزف في حلب، وتبحث عن عمال."},
		{"Korean", "", "네. 동생이 부산에서 도자기 공방을 열었어요.", []string{"동생이", "부산에서", "도자기"}, "동생이 부산에서 도자기 공방을 열었어요."},
		{"a question, then a statement", "", "Which boiler is it? The boiler gasket of the espresso machine leaks.",
			[]string{"boiler", "espresso machine", "gasket", "leaks"}, "The boiler gasket of the espresso machine leaks."},
		{"only questions", "", "Which boiler leaks?", []string{"boiler leaks"}, "Which boiler leaks?"},
		{"one word", "", "Bananas", []string{"Bananas"}, "Bananas"},
		{"nothing", "", "!!!", []string{}, "General"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := analyze(amem.AnalyzeInput{Content: c.content, Speaker: c.speaker})
			want := amem.Analysis{Keywords: c.keywords, Tags: []string{}, Context: c.context}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// C032, C033: a new note is linked to notes that share keywords, rare ones first, and to no more than the limit. No answer
// changes a neighbor.
func TestEvolveLinks_C033(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 21, 0, 0, 0, time.UTC)
	note := func(handle int, content string, score float64) memory.Described {
		return memory.Described{
			Handle: handle, Content: content, Score: score, Time: at, Context: "Context.",
			Keywords: analyze(amem.AnalyzeInput{Content: content}).Keywords,
		}
	}
	for _, c := range []struct {
		name, content string
		near          []string
		max           int
		want          []int
	}{
		{"shared keywords", "The boiler gasket of the espresso machine is worn.", []string{"The espresso machine leaks from the boiler.", "Tomatoes need water in summer."}, 3, []int{0}},
		{"nothing shared", "Quantum tunnelling crosses barriers.", []string{"Tomatoes need water in summer."}, 3, []int{}},
		{"the limit", "The lighthouse keeper logs storms.", []string{"A lighthouse keeper sleeps.", "The lighthouse keeper eats.", "Lighthouse keepers write."}, 2, nil},
		{"never more than three", "The lighthouse keeper logs storms.", slices.Repeat([]string{"A lighthouse keeper sleeps."}, 5), 9, nil},
		{"Chinese", "北京大学的图书馆很安静。", []string{"妹妹在北京大学学法律。", "我喝美式咖啡。"}, 3, []int{0}},
		{"German", "Die Keramikwerkstatt sucht Mitarbeiter.", []string{"Wir kochen Nudeln.", "Meine Schwester eröffnet eine Keramikwerkstatt."}, 3, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := amem.EvolveInput{New: note(-1, c.content, 0), MaxLinks: c.max}
			for i, content := range c.near {
				in.Neighbors = append(in.Neighbors, note(i, content, 0.8-float64(i)/10))
			}
			got := evolve(in)
			if c.want != nil && !slices.Equal(got.SuggestedConnections, c.want) || len(got.SuggestedConnections) > min(c.max, 3) {
				t.Errorf("links %v, want %v", got.SuggestedConnections, c.want)
			}
			if c.want == nil && len(got.SuggestedConnections) != min(c.max, 3) {
				t.Errorf("%d links", len(got.SuggestedConnections))
			}
			if slices.Contains(got.Actions, "update_neighbor") || got.NewContextNeighborhood != nil || got.NewKeywordsNeighborhood != nil || got.NewTagsNeighborhood != nil {
				t.Errorf("a neighbor is changed: %+v", got)
			}
		})
	}
}

// The neighbor with the rare shared term comes first, before one that shares what all have.
func TestEvolveRareFirst(t *testing.T) {
	t.Parallel()
	in := amem.EvolveInput{New: memory.Described{Content: "Sourdough bread from the oven", Keywords: []string{"sourdough", "bread", "oven"}}}
	for i, content := range []string{"Bread and an oven", "Bread, oven, sourdough", "An oven for bread"} {
		in.Neighbors = append(in.Neighbors, memory.Described{Handle: i, Content: content, Keywords: strings.Fields(content), Score: 0.9 - float64(i)/10})
	}
	if got := evolve(in).SuggestedConnections; len(got) == 0 || got[0] != 1 {
		t.Errorf("links %v", got)
	}
}

func TestJudgeRelevance(t *testing.T) {
	t.Parallel()
	in := policy.RelevanceInput{Query: "Where is the espresso machine?", Candidates: []memory.Described{
		{Handle: 7, Content: "The espresso machine is in the kitchen.", Score: 0.5}, {Handle: 3, Content: "The machine is loud.", Score: 0.5}, {Handle: 5, Content: "Tomatoes.", Score: 2},
	}}
	got := judgeRelevance(in).Scores
	if got[0].ID != 7 || got[1].ID != 3 || got[2].ID != 5 || got[0].Score != 0.8 || got[1].Score >= 0.5 || got[1].Score <= 0.2 || got[2].Score != 0.4 {
		t.Errorf("scores %+v", got)
	}
	in.Query = "where is the"
	if got := judgeRelevance(in).Scores; got[0].Score != 0.5 || got[2].Score != 1 {
		t.Errorf("only stop words: %+v", got)
	}
}
