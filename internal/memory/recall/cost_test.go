package recall

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// repeated returns a batch of n equal queries.
func repeated(n int, q Query) []Query {
	out := make([]Query, n)
	for i := range out {
		out[i] = q
	}
	return out
}

// A batch may have many short queries, or few long ones; what it asks for is bounded together.
func TestBatchCost(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("where does the tide go ", 9<<10/24)
	for name, tc := range map[string]struct {
		queries []Query
		notes   int
		refused bool
	}{
		"short queries":              {repeated(100, Query{Text: "where does Ada live", K: 10}), 100_000, false},
		"short queries, many notes":  {repeated(100, Query{Text: "where does Ada live", K: 10}), 1_000_000, true},
		"a few, many notes":          {repeated(10, Query{Text: "where does Ada live", K: 10}), 1_000_000, false},
		"long queries, many links":   {repeated(100, Query{Text: long, K: MaxK, ExpandLinks: maxExpand}), 40, true},
		"dialogues, many links":      {repeated(100, Query{Messages: []Message{{User: long}}, K: MaxK, ExpandLinks: maxExpand}), 40, true},
		"a few long queries":         {repeated(10, Query{Text: long, K: MaxK, ExpandLinks: maxExpand}), 40, false},
		"long words, not embedded":   {repeated(100, Query{Text: long, Mode: Lexical}), 40, false},
		"long words, more notes":     {repeated(100, Query{Text: long, Mode: Lexical}), 100_000, true},
		"vectors":                    {repeated(100, Query{Vector: make([]float32, 384), K: MaxK}), 10_000, false},
		"one query of the most text": {repeated(1, Query{Text: strings.Repeat("a b ", maxQueryBytes/4), K: MaxK, ExpandLinks: maxExpand}), 1_000_000, false},
	} {
		b, err := NewBatch(tc.queries)
		for i := range tc.queries {
			if err == nil {
				err = b.charge(&tc.queries[i], tc.notes)
			}
		}
		if refused := err != nil; refused != tc.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			continue
		}
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.Invalid || f.Fields[0].Field != "queries" || !errors.Is(err, ErrBatch) {
			t.Errorf("%s: %v", name, err)
		}
		for _, told := range []string{"queries", "2000000", "fewer", "expand_links"} {
			if !strings.Contains(f.Message, told) {
				t.Errorf("%s: %q does not say %q", name, f.Message, told)
			}
		}
	}
}

// The cost of a query grows with what it asks for, at most in proportion.
func TestCostOfAQuery(t *testing.T) {
	t.Parallel()
	base := Query{Text: strings.Repeat("tide ", 50), K: 10, ExpandLinks: 1}
	wider := map[string]func(q *Query, notes *int){
		"words": func(q *Query, _ *int) { q.Text = strings.Repeat(q.Text, 4) },
		"k":     func(q *Query, _ *int) { q.K *= 4 },
		"notes": func(_ *Query, notes *int) { *notes *= 4 },
		"links": func(q *Query, _ *int) { q.ExpandLinks = 2 },
	}
	before := base.Cost(1000)
	for name, widen := range wider {
		q, notes := base, 1000
		widen(&q, &notes)
		if after := q.Cost(notes); after <= before || after > 4*before {
			t.Errorf("%s: %d, then %d", name, before, after)
		}
	}
}

// The text of what a batch finds is bounded together.
func TestBatchText(t *testing.T) {
	t.Parallel()
	b := must.Get(NewBatch(repeated(2, Query{Text: "a"})))(t)
	found := &Result{Hits: []Hit{{Note: &NoteView{Note: memory.Note{Content: strings.Repeat("x", memory.MaxContentBytes)}}}, {}}}
	n := 0
	for ; b.Found(found) == nil; n++ {
		if n > MaxBatchText/memory.MaxContentBytes {
			t.Fatal("there is no bound")
		}
	}
	if n != MaxBatchText/memory.MaxContentBytes {
		t.Errorf("refused after %d results", n)
	}
	var none *Batch
	if none.Found(found) != nil || none.charge(&Query{}, 1<<30) != nil {
		t.Error("a single query has the limit of a batch")
	}
}
