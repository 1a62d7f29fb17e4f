package memory_test

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Lists without a filter are long: nothing is made of their notes to match them.
func TestNoFilterMatchesAll(t *testing.T) { //nolint:paralleltest // it counts allocations
	n := memory.Note{Kind: memory.KindSession, Keywords: []string{"tides"}}
	matches := false
	if made := testing.AllocsPerRun(100, func() { matches = n.Matches(nil) }); !matches || made > 0 {
		t.Errorf("matches: %v, allocations: %v", matches, made)
	}
}
