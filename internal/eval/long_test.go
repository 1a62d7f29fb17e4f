//go:build !race

package eval_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/test/must"
)

// Figures and the head of internal/said are of the first files, and do not change when the corpus grows.
func TestFirstFilesStay(t *testing.T) {
	t.Parallel()
	first, believed, facts := eval.OfFiles(corpus(t), eval.FirstFiles), 0, 0
	for i := range first {
		if first[i].Writer() != first[i].File() {
			t.Errorf("%s has the writer %s", first[i].ID, first[i].Writer())
		}
		facts += len(first[i].Facts)
		if first[i].Believed() {
			believed++
		}
	}
	if len(first) != 165 || believed != 79 || facts != 2849 {
		t.Errorf("the first files have %d dialogues, %d of them believed, and %d facts", len(first), believed, facts)
	}
	if all := corpus(t); len(eval.OfFiles(all, nil)) != len(corpus(t)) {
		t.Error("without a name some dialogues are left out")
	}
}

// For 228 labels it was judged by hand whether what was derived keeps them: of all that a reviewer wanted
// of eight dialogues, and of a hundred of the corpus. The rule agrees with six verdicts of seven, and counts
// an eighth more.
func TestMatcherAgreesWithJudges(t *testing.T) {
	t.Parallel()
	dialogues := map[string]*eval.Labeled{}
	reviewed := must.Get(eval.ReadReviewed(filepath.Join(root, eval.ReviewsDir)))(t)
	both := slices.Concat(reviewed, corpus(t))
	for i := range both {
		dialogues[both[i].ID] = &both[i]
	}
	raw := must.Get(os.ReadFile(filepath.Join(root, eval.ReviewsDir, "judged.jsonl")))(t)

	var all, agreed, kept, judged int
	for line := range strings.Lines(string(raw)) {
		var v struct {
			Dialogue string   `json:"dialogue"`
			Fact     int      `json:"fact"`
			Kept     bool     `json:"kept"`
			Derived  []string `json:"derived"`
		}
		must.Do(t, json.Unmarshal([]byte(line), &v))
		d := dialogues[v.Dialogue]
		label := &d.Facts[slices.IndexFunc(d.Facts, func(l eval.Label) bool { return l.Number == v.Fact })]
		m := eval.NewMatcher(d)
		found := slices.ContainsFunc(v.Derived, func(text string) bool {
			return m.Keeps(&eval.DerivedFact{Text: text, Turns: []int{label.Turn}, Until: -1}, label)
		})
		all++
		for counter, counts := range map[*int]bool{&agreed: found == v.Kept, &kept: found, &judged: v.Kept} {
			if counts {
				*counter++
			}
		}
	}
	if all != 228 || 7*agreed < 6*all || kept < judged || 8*kept > 9*judged {
		t.Errorf("of %d verdicts %d agree; %d labels are kept by the rule, %d by the judges", all, agreed, kept, judged)
	}
}

// The corpus is read only when no dialogue contradicts itself.
func TestCorpusHolds(t *testing.T) {
	t.Parallel()
	dialogues := corpus(t)
	seen, langs, believed := map[string]bool{}, map[string]bool{}, 0
	for i := range dialogues {
		d := &dialogues[i]
		if seen[d.ID] {
			t.Errorf("two dialogues are %s", d.ID)
		}
		seen[d.ID], langs[d.Lang] = true, true
		if d.Believed() {
			believed++
		}
	}
	if len(dialogues) < 500 || len(langs) < 25 {
		t.Errorf("%d dialogues in %d languages", len(dialogues), len(langs))
	}
	if 5*believed < len(dialogues) || 2*believed > len(dialogues) {
		t.Errorf("%d of %d dialogues are believed, which should be a fifth to a half", believed, len(dialogues))
	}
}
