//go:build !race

package postgres_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
)

// TestConformance and TestConformanceAtOnce run the suite of every engine. Among its cases: C001 (each add is a note of its
// own), C003 (ids are stable), C031 (links are lists), C056 and C058 (read and delete by id), C060
// (values keep their type), C064 (collections never mix), C066 and C067 (forks and batched copies),
// C069 (agents share a base), C075 (dimensions are not mixed), C077 (any version is restored).
//
//nolint:tparallel // the plans are those of what the suite has sent
func TestConformance(t *testing.T) {
	t.Parallel()
	sent := &statements{}
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Harness { return openTraced(t, sent) })
	})
	t.Run("plans", sent.check)
}

// TestRandomHistories compares what a store holds after random operations with a model of plain maps.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	storetest.RandomHistories(t, openDirect(t))
}

// TestPoolerModes runs the suite in the modes without prepared statements, through a pooler that uses
// another connection for each transaction. Only the encoding of values differs, not the meaning of
// statements: cases that test only the meaning run once, above. SLIPBOX_POOLER_MODES=all runs it in both modes; the default
// is the one of the two that encodes all values as text, with the groups that have each kind of value.
func TestPoolerModes(t *testing.T) {
	t.Parallel()
	modes, once := []string{"simple_protocol"}, []string{"Reach", "Forks", "Removal", "Concurrency"}
	if os.Getenv("SLIPBOX_POOLER_MODES") == "all" {
		modes = append(modes, "exec")
	} else {
		once = append(once, "Notes", "Links", "Copies", "Attachments", "Tools", "Spool", "Secrets", "Texts", "Access")
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			pooled := func(t *testing.T) storetest.Harness {
				t.Helper()
				if slices.Contains(once, strings.Split(t.Name(), "/")[2]) {
					t.Skip("run in the default mode")
				}
				return open(mode, nil, func(t *testing.T, db postgrestest.Database) string {
					t.Helper()
					url, _ := db.Pooled(t)
					return url
				})(t)
			}
			storetest.Run(t, pooled)
			storetest.RunAtOnce(t, pooled)
		})
	}
}
