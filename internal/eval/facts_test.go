package eval_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/test/must"
)

const root = "../.."

func corpus(t *testing.T) []eval.Labeled {
	t.Helper()
	dialogues := must.Get(eval.ReadCorpus(filepath.Join(root, eval.CorpusDir)))(t)
	return dialogues
}

// What was written for reviews can be read as the corpus is.
func TestReviewsHold(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]struct {
		read             func(dir string) ([]eval.Labeled, error)
		dialogues, facts int
		ends, traps      int
	}{
		"reviewed":       {eval.ReadReviewed, 8, 128, 0, 0},
		"contradictions": {eval.ReadContradictions, 255, 510, 124, 131},
	} {
		dialogues := must.Get(set.read(filepath.Join(root, eval.ReviewsDir)))(t)
		var facts, ends, traps int
		for _, d := range dialogues {
			facts += len(d.Facts)
			traps += len(d.Traps)
			for _, l := range d.Facts {
				ends += len(l.Ends)
			}
		}
		if len(dialogues) != set.dialogues || facts != set.facts || ends < set.ends || traps < set.traps {
			t.Errorf("%s has %d dialogues, %d facts, %d endings and %d traps", name, len(dialogues), facts, ends, traps)
		}
	}
}

func TestProblemsOfADialogue(t *testing.T) {
	t.Parallel()
	d := eval.Labeled{
		ID: "d", Turns: []eval.LabeledTurn{{Date: "2025-01-02T03:04", Text: "I moved to Cork."}},
		Facts:     []eval.Label{{Number: 1, Span: "moved to Bern"}, {Number: 2, Span: "Cork", Ends: []int{3}}},
		Traps:     []eval.Trap{{Turn: 1, Old: 1}},
		Recalls:   []eval.Recall{{Turn: 0, Gold: []int{0}}},
		Questions: []eval.LabeledQuestion{{Text: "Where?", Gold: []int{9}}},
	}
	problems := strings.Join(d.Problems(), "\n")
	for _, want := range []string{"fact 1 is not said", "fact 2 names fact 3", "a trap names turn 1", "turn 0 recalls", "is answered by the turns [9]"} {
		if !strings.Contains(problems, want) {
			t.Errorf("%q is not among the problems:\n%s", want, problems)
		}
	}
}

func TestFactsOfADialogueAreCounted(t *testing.T) {
	t.Parallel()
	d := &eval.Labeled{
		ID: "d", Lang: "en", People: []string{"Ann", "Ben"},
		Turns: []eval.LabeledTurn{
			{Index: 0, Date: "2025-01-02T03:04", Speaker: "Ann", Text: "I work at the bakery in Cork."},
			{Index: 1, Date: "2025-01-02T03:05", Speaker: "Ben", Text: "My dog Rufus hates thunder."},
			{Index: 2, Date: "2025-01-02T03:06", Speaker: "Ann", Text: "I left the bakery for a school kitchen."},
			{Index: 3, Date: "2025-01-02T03:07", Speaker: "Ben", Text: "Rufus slept through the storm."},
			{Index: 4, Date: "2025-01-02T03:08", Speaker: "Ann", Text: "Did he!"},
		},
		Facts: []eval.Label{
			{Number: 1, Turn: 0, Span: "work at the bakery in Cork", Text: "Ann works at the bakery in Cork.", Who: "Ann"},
			{Number: 2, Turn: 1, Span: "My dog Rufus hates thunder", Text: "Ben's dog Rufus hates thunder.", Who: "Rufus"},
			{Number: 3, Turn: 2, Span: "left the bakery for a school kitchen", Text: "Ann works in a school kitchen.", Who: "Ann", Ends: []int{1}},
		},
		Traps: []eval.Trap{{Turn: 3, Old: 2}},
	}
	job := eval.DerivedFact{Note: "a", Text: "Ann works at the bakery in Cork.", Turns: []int{0}, Until: -1}
	dog := eval.DerivedFact{Note: "b", Text: "Ben said: “My dog Rufus hates thunder.”", Turns: []int{1}, Since: 1, Until: -1}
	kitchen := eval.DerivedFact{Note: "c", Text: "Ann left the bakery for a school kitchen.", Turns: []int{2}, Since: 2, Until: -1}
	noise := eval.DerivedFact{Note: "d", Text: "Ann said: “Did he!”", Turns: []int{4}, Since: 4, Until: -1}
	again := dog
	again.Note, again.Since = "e", 3

	kept := eval.NewMatcher(d).Count([]eval.DerivedFact{job, dog, kitchen, noise, again})
	want := eval.FactCounts{Dialogues: 1, Wanted: 2, Kept: 2, Said: 2, Live: 5, Good: 3, Over: 1, Again: 1, Ended: 1, Once: 2, Traps: 1}
	if kept != want {
		t.Errorf("nothing ended: %+v, want %+v", kept, want)
	}

	job.Until, dog.Until = 2, 3
	retired := eval.NewMatcher(d).Count([]eval.DerivedFact{job, dog, kitchen})
	want = eval.FactCounts{Dialogues: 1, Wanted: 2, Kept: 1, Said: 1, Live: 1, Good: 1, Ended: 1, Retired: 1, Once: 2, Destroyed: 1, Traps: 1, Trapped: 1}
	if retired != want {
		t.Errorf("one ended, one was destroyed: %+v, want %+v", retired, want)
	}

	elsewhere := dog
	elsewhere.Turns = []int{4}
	if eval.NewMatcher(d).Keeps(&elsewhere, &d.Facts[1]) {
		t.Error("a fact of another turn keeps the label")
	}
}

// A pair has the labels of its two turns, and of each kind there are as many.
func TestPairs(t *testing.T) {
	t.Parallel()
	const each = 100
	pairs := eval.Pairs(corpus(t), each)
	if len(pairs) != 3*each {
		t.Fatalf("%d pairs, want %d of three kinds", len(pairs), each)
	}
	seen := map[string]bool{}
	for i := range pairs {
		d := &pairs[i]
		if problems := d.Problems(); len(d.Turns) != 2 || len(problems) > 0 || seen[d.ID] {
			t.Errorf("%s: %d turns, seen: %t, %v", d.ID, len(d.Turns), seen[d.ID], problems)
		}
		seen[d.ID] = true
		ends, more := 0, 0
		for _, l := range d.Facts {
			ends, more = ends+len(l.Ends)*l.Turn, more+(len(l.Refines)+len(l.Same))*l.Turn
		}
		if of := [][]bool{{ends > 0}, {ends == 0, len(d.Traps) > 0}, {ends == 0, len(d.Traps) == 0, more > 0}}[i/each]; slices.Contains(of, false) {
			t.Errorf("%s, of kind %d: %d ends, %d traps, %d more", d.ID, i/each, ends, len(d.Traps), more)
		}
	}
}
