package mem0

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Told says sentences to a new memory, one exchange each, and returns the facts that it holds after each of them. It is
// for tests that ask the analyst, which this package cannot import.
func Told(t *testing.T, p *Policy, m memory.Model, sentences ...string) [][]string {
	t.Helper()
	k := newTestDesk(t, p, "")
	k.model = m
	var out [][]string
	for _, s := range sentences {
		k.userSays(s)
		out = append(out, k.contents(memory.KindFact))
	}
	return out
}
