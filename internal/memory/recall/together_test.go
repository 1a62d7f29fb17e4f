package recall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// What holds now is before what it contradicts, in a list of hits for any k and in a context, without words that
// are known, and with the embedder that compares spellings. Both are there, each with its date.
func TestContradictionsStandTogether(t *testing.T) {
	t.Parallel()
	for question, told := range map[string][2]string{
		"Does Nora like Chinese food?": {"I love Chinese food", "I hate Chinese food"},
		"Isst Nora gern Fisch?":        {"Ich esse sehr gern Fisch", "Ich esse keinen Fisch mehr"},
		"吃辣":                           {"我喜欢吃辣", "我现在不吃辣了"},
	} {
		r := open(t, recall.Config{})
		c := r.addWithReading("facts", memory.Reading{Kinds: []memory.Kind{memory.KindFact}})
		older := r.addAt(c, memory.KindFact, "2026-03-02 00:00", told[0], nil)
		newer := r.addAt(c, memory.KindFact, "2026-05-04 00:00", told[1], nil)
		r.addAt(c, memory.KindFact, "2026-06-01 00:00", "The boat lies in the harbour.", nil)
		all := hitsInOrder(r.search(c, recall.Query{Text: question, K: 3}))
		if a, b := slices.Index(all, newer.String()), slices.Index(all, older.String()); a < 0 || b != a+1 {
			t.Errorf("%s: the newer one is at %d, the older one at %d", question, a, b)
		}
		if one := hitsInOrder(r.search(c, recall.Query{Text: question, K: 1})); !slices.Equal(one, all[:1]) {
			t.Errorf("%s: one hit is not the first of three", question)
		}
		text := r.context(c, recall.ContextQuery{Text: question}).Text
		if !strings.Contains(text, "2026-05-04\n") || !strings.Contains(text, told[1]+"\n### Monday 2026-03-02\n") || !strings.Contains(text, told[0]) {
			t.Errorf("%s:\n%s", question, text)
		}
		// A question about a time asks for what held then.
		then := hitsInOrder(r.search(c, recall.Query{Text: question + " 2026-03-02", K: 3}))
		if len(then) == 0 || then[0] != older.String() {
			t.Errorf("%s: the question about a day has another answer first", question)
		}
	}
}

func hitsInOrder(out recall.Result) []string {
	ids := make([]string, len(out.Hits))
	for i := range out.Hits {
		ids[i] = out.Hits[i].ID.String()
	}
	return ids
}
