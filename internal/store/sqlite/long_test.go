//go:build !race

package sqlite

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/store/storetest"
)

// TestConformance and TestConformanceAtOnce run the suite of every engine. Among its cases: C001 (each
// add is a note of its own), C003 (ids are stable), C031 (links are lists),
// C056 and C058 (read and delete by id), C060 (values keep their type), C064
// (collections never mix), C066 and C067 (forks and batched copies), C069
// (agents share a base), C075 (dimensions are not mixed), C077 (any version
// is restored), C306 (an engine is a durable back end behind one contract). No
// statement of it is prepared again for a bound value.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

// TestRandomHistories compares what a store holds after random operations with a model of plain maps.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	storetest.RandomHistories(t, open(t))
}
