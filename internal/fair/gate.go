package fair

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Class is the priority of a caller at a Gate.
type Class int

// The classes.
const (
	Foreground Class = iota // a caller waits for it
	Background              // a job
)

// Of so many callers that a Gate admits, one is background although foreground waits: jobs are slowed down by callers, but not stopped.
const backgroundEvery = 5

// Gate admits a number of concurrent callers. Those who wait are admitted by class, and within a class
// one tenant after another. It is safe for concurrent use.
type Gate struct {
	mu      sync.Mutex
	free    int
	waiting [Background + 1]*Queue[*entry]
	passed  int           // admissions of foreground since background, which waited, had one
	rest    time.Duration // of slots of a tenant that floods; 0: none
}

// entry is a caller that waits. admitted is written under the gate's lock.
type entry struct {
	admitted bool
	ready    chan struct{} // closed when it is admitted
}

// NewGate returns a gate for size concurrent callers, at least one. share is how many of them may be of one
// tenant and class while other tenants use the gate, so that these need not wait for it to leave; 0 is no
// limit. A tenant that was admitted the last 1,024 times, and no other, has the whole gate.
func NewGate(size, share int) *Gate {
	g := &Gate{free: max(1, size)}
	lately := &seen{}
	for c := range g.waiting {
		g.waiting[c] = NewQueue[*entry](share)
		g.waiting[c].seen, g.waiting[c].loose = lately, true
	}
	return g
}

// Resting leaves the slots of a tenant that floods empty for a cooldown of such steps (see Rest), unless these are 0, and returns the
// gate. It is called before the gate is used.
func (g *Gate) Resting(step time.Duration) *Gate {
	g.rest = step
	return g
}

// Enter waits until the caller is admitted, and returns what ends its stay, to be called once. The
// error is that of ctx.
func (g *Gate) Enter(ctx context.Context, tenant uuid.UUID, c Class) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leave = func() { g.leave(tenant, c) }
	g.mu.Lock()
	if g.free > 0 && g.waiting[Foreground].Len()+g.waiting[Background].Len() == 0 && g.waiting[c].Hold(tenant) {
		g.free--
		g.mu.Unlock()
		return leave, nil
	}
	e := &entry{ready: make(chan struct{})}
	it := g.waiting[c].Push(tenant, e)
	g.admit() // those who wait may all have their full share
	g.mu.Unlock()
	select {
	case <-e.ready:
		return leave, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.admitted {
		g.release(tenant, c)
	} else {
		g.waiting[c].Remove(it)
	}
	return nil, ctx.Err()
}

// Waiting returns how many callers of a tenant wait, of any class.
func (g *Gate) Waiting(tenant uuid.UUID) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting[Foreground].Waiting(tenant) + g.waiting[Background].Waiting(tenant)
}

// OthersWait reports whether a caller of another tenant waits in the foreground.
func (g *Gate) OthersWait(tenant uuid.UUID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.waiting[Foreground]
	return q.Len() > q.Waiting(tenant)
}

func (g *Gate) leave(tenant uuid.UUID, c Class) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rest > 0 && g.waiting[c].Floods(tenant) {
		Rest(g.rest, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.release(tenant, c)
		})
		return
	}
	g.release(tenant, c)
}

func (g *Gate) release(tenant uuid.UUID, c Class) {
	g.free++
	g.waiting[c].Release(tenant)
	g.admit()
}

// admit admits those who are next, while there are free slots.
func (g *Gate) admit() {
	for g.free > 0 {
		it, ok := g.next()
		if !ok {
			return
		}
		g.free--
		it.Value.admitted = true
		close(it.Value.ready)
	}
}

func (g *Gate) next() (*Item[*entry], bool) {
	first, second := g.waiting[Foreground], g.waiting[Background]
	if second.Len() == 0 {
		g.passed = 0
	} else if g.passed++; g.passed >= backgroundEvery {
		first, second = second, first
	}
	it, ok := first.Next()
	if !ok {
		it, ok = second.Next()
		first = second
	}
	if ok && first == g.waiting[Background] {
		g.passed = 0
	}
	return it, ok
}
