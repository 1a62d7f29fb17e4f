// Package clock is a clock that a test moves. It depends on nothing; test files of all packages may use it.
package clock

import (
	"sync"
	"time"
)

// Clock stays at one time until Pass moves it. Several goroutines may use it.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// New returns a clock at a time.
func New(at time.Time) *Clock { return &Clock{now: at} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Pass moves the clock.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
