// Package storetest says in tests what a store is. Every engine runs the same
// suite; behavior enters it before it enters an engine.
//
// Run gives each case an empty store of its own and runs the cases in parallel.
// Property drives random histories against a plain-map model. The package
// knows no engine.
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
	Clock *Clock // the store must have been opened with its Now
}

// Clock is a clock that tests set. It moves on by one microsecond at every
// look, so that times differ.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at a fixed time that has nanoseconds, which a store drops.
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

// Advance moves the clock.
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

// Run runs the suite; open gives an empty store and closes it with the test.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"Reach", reachCases()},
		{"Notes", noteCases()},
		{"List", listCases()},
		{"Reads", readCases()},
		{"Links", linkCases()},
		{"Write", writeCases()},
		{"Forks", forkCases()},
		{"Copies", copyCases()},
		{"Vectors", vectorCases()},
		{"Removal", removalCases()},
		{"Queue", queueCases()},
		{"Spool", spoolCases()},
		{"Texts", textCases()},
		{"Ledger", ledgerCases()},
		{"Access", accessCases()},
		{"Concurrency", concurrencyCases()},
	} {
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
	t.Run("Property", func(t *testing.T) {
		t.Parallel()
		property(t, open(t))
	})
}
