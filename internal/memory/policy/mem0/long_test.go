//go:build !race

package mem0_test

import (
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/internal/analyst"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestNothingVanishes: without a model no fact is deleted or changed by what is said later, about anybody, in any form
// of a clause: subject, own thing, relation, clause and language, more than 2,000 pairs.
func TestNothingVanishes(t *testing.T) {
	t.Parallel()
	p := must.Get(mem0.New())(t)
	a := analyst.New()
	pairs, learned := 0, 0
	for _, o := range languages {
		for i, pair := range o.pairs() {
			if i%3 != 0 && len(o.owners) > 5 {
				continue // English has enough
			}
			pairs++
			facts := mem0.Told(t, p, a, pair[0], pair[1])
			for _, f := range facts[0] {
				if !slices.Contains(facts[1], f) {
					t.Errorf("after %q, %q is gone: %q", pair[1], f, facts[1])
				}
			}
			if len(facts[0]) > 0 {
				learned++
			}
		}
	}
	if pairs < 2000 || 4*learned < 3*pairs {
		t.Errorf("%d pairs, %d of whose first sentences are kept", pairs, learned)
	}
	t.Logf("%d pairs, %d of whose first sentences are kept", pairs, learned)
}
