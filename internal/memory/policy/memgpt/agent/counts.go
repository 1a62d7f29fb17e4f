package agent

import (
	"hash/maphash"
	"sync"
)

// counts keeps how many tokens texts have: a context is built several times in a step, nearly always of the same
// messages. It keeps no texts, only their hashes. It is safe for concurrent use.
type counts struct {
	seed maphash.Seed

	mu sync.Mutex
	// What is asked for moves into young; when young is full, it becomes old, and what was not asked for since is gone.
	young, old map[countKey]int
}

// countKey identifies a text: its hash and its bytes.
type countKey struct {
	hash uint64
	size int
}

// maxCounts is how many counts young has. A text that is shorter than minCounted is counted each time.
const (
	maxCounts  = 16_384
	minCounted = 16 // bytes
)

func newCounts() *counts {
	return &counts{seed: maphash.MakeSeed(), young: map[countKey]int{}}
}

// of returns the count of a text, which count finds out.
func (c *counts) of(text string, count func() int) int {
	if len(text) < minCounted {
		return count()
	}
	key := countKey{maphash.String(c.seed, text), len(text)}
	if n, ok := c.find(key); ok {
		return n
	}
	n := count()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(key, n)
	return n
}

func (c *counts) find(key countKey) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.young[key]; ok {
		return n, true
	}
	n, ok := c.old[key]
	if ok {
		c.keep(key, n)
	}
	return n, ok
}

// keep keeps a count; the lock is held.
func (c *counts) keep(key countKey, n int) {
	if len(c.young) >= maxCounts {
		c.young, c.old = map[countKey]int{}, c.young
	}
	c.young[key] = n
}
