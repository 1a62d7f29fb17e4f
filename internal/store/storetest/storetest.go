// Package storetest is the conformance suite of stores. Every engine runs the same
// suite, and new behavior is added to the suite before it is added to an engine.
//
// Run runs the cases in parallel, each with its own empty store. RandomHistories
// compares random histories with a model of plain maps. The package does not depend on
// any engine; the tests of store/sqlite and store/postgres call it.
package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/store"
)

// Harness is an empty store under test.
type Harness struct {
	Store store.Store
	Clock *Clock // the store must use its Now
}

// Clock is a clock for tests. Each call of Now advances it by one microsecond, so
// that all times differ.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a Clock at a fixed time. The time has nanoseconds, which a store
// truncates.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)}
}

// Now implements memory.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Microsecond)
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// testCase is one case of the suite.
type testCase struct {
	name string
	run  func(t *testing.T, w *world)
}

// group is a part of the suite.
type group struct {
	name  string
	cases []testCase
}

// Run runs the cases of the suite where one call follows another. open returns an empty store, and closes it at
// the end of the test.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	run(t, open, []group{
		{"Reach", reachCases()},
		{"Notes", noteCases()},
		{"List", listCases()},
		{"Reads", readCases()},
		{"Links", linkCases()},
		{"Changes", changeCases()},
		{"Forks", forkCases()},
		{"Lineage", lineageCases()},
		{"Copies", copyCases()},
		{"Vectors", vectorCases()},
		{"Removal", removalCases()},
		{"Attachments", attachmentCases()},
		{"Tools", toolCases()},
		{"Webhooks", webhookCases()},
		{"Grants", grantCases()},
		{"External", externalCases()},
		{"Spool", spoolCases()},
		{"Secrets", secretCases()},
		{"Texts", textCases()},
		{"Ledger", ledgerCases()},
		{"Access", accessCases()},
	})
}

// RunAtOnce is Run for the cases where calls meet, or are about what happens then: they are worth the race detector.
func RunAtOnce(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	run(t, open, []group{
		{"Write", writeCases()},
		{"Queue", queueCases()},
		{"Concurrency", concurrencyCases()},
		{"Deep", deepCases()},
	})
}

func run(t *testing.T, open func(t *testing.T) Harness, groups []group) {
	t.Helper()
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t.Context(), t, open(t), "home")
					c.run(t, w)
					w.verify()
				})
			}
		})
	}
}
