package contexts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall/contexts"
	"github.com/slipboxhq/slipbox/internal/search"
)

// C145: with any fixed notes and any budget, the text has the reported number of tokens, stays
// within the budget, and has every mark once.
func TestFixedNotesKeepTheBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := contexts.Request{
			Query:    rapid.SampledFrom(pieces[:14]).Draw(t, "query"),
			Budget:   rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(1, 4000)).Draw(t, "budget"),
			Order:    rapid.SampledFrom([]contexts.Order{contexts.OrderTime, contexts.OrderRelevance}).Draw(t, "order"),
			Encoding: rapid.SampledFrom(search.Encodings()).Draw(t, "encoding"),
			Details:  true,
			ByDate:   rapid.Bool().Draw(t, "by date"),
			Hits:     drawHits(t),
		}
		for _, h := range drawHits(t) {
			h.Note.Kind = memory.KindMessage
			r.Recent = append(r.Recent, *h.Note)
		}
		for _, h := range drawHits(t) {
			h.Note.Attributes = map[string]any{"reply_strategy": rapid.SampledFrom(pieces).Draw(t, "strategy")}
			r.Pinned = append(r.Pinned, *h.Note)
		}
		if len(r.Recent) > 0 && rapid.Bool().Draw(t, "found as well") {
			r.Hits = append(r.Hits, contexts.Hit{Note: new(r.Recent[0])})
		}
		out, err := contexts.Write(t.Context(), &r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := r.Encoding.Count(out.Text)
		if err != nil {
			t.Fatal(err)
		}
		if n != out.Tokens || n > r.Budget {
			t.Fatalf("says %d tokens of %d in %s, has %d:\n%s", out.Tokens, r.Budget, r.Encoding, n, out.Text)
		}
		seen := map[uuid.UUID]bool{}
		for i, c := range out.Citations {
			if seen[c.Note] {
				t.Fatalf("a note is cited twice:\n%s", out.Text)
			}
			seen[c.Note] = true
			if mark := fmt.Sprintf("\n[%d] ", i+1); strings.Count(out.Text, mark) != 1 {
				t.Fatalf("%q is not there once:\n%s", mark, out.Text)
			}
		}
	})
}
