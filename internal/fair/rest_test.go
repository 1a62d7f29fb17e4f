package fair

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

const restStep = 4 * time.Millisecond

// A slot of a tenant that floods rests before its next caller has it. Those of others, and of a tenant that is alone, do not.
func TestPlacesRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(4, 1).Resting(restStep)
		flood, other := uuid.New(), uuid.New()
		enter := func(tenant uuid.UUID) (leave func()) { return entered(t, g, tenant) }
		enter(other)()
		leave := enter(flood)
		var log []string
		queueUp(t, g, flood, Foreground, 2, "flood", &log)
		leave()
		synctest.Wait()
		if n := g.Waiting(flood); n != 2 {
			t.Fatalf("%d wait without a rest, want 2", n)
		}
		enter(other)() // does not wait
		<-time.After(restStep)
		synctest.Wait()
		if n := g.Waiting(flood); n != 1 { // the slot rests again, since another caller waits
			t.Fatalf("%d wait after one rest, want 1", n)
		}
		<-time.After(restStep)
		synctest.Wait()
		enter(flood)() // nobody waits behind it
		if n := g.Waiting(flood); n != 0 {
			t.Errorf("%d wait after two rests", n)
		}

		// Nobody else was served for long, but for what is done for all.
		for i := range aloneAfter + 1 {
			if enter(flood)(); i%10 == 0 {
				enter(uuid.Nil)()
			}
		}
		all := []func(){enter(flood), enter(flood), enter(flood), enter(flood)}
		queueUp(t, g, flood, Foreground, 1, "alone", &log)
		all[0]()
		synctest.Wait()
		if g.Waiting(flood) > 0 {
			t.Error("a tenant that is alone rests")
		}
	})
}

// A process that gets a CPU in time rests for one step.
func TestRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		done := make(chan time.Time, 1)
		Rest(restStep, func() { done <- time.Now() })
		if rested := (<-done).Sub(began); rested != restStep {
			t.Errorf("rested for %s", rested)
		}
	})
}

// A tenant floods a queue if it waits for more than its share, beside others.
func TestFloods(t *testing.T) {
	t.Parallel()
	a, b := uuid.New(), uuid.New()
	q := NewQueue[string](1)
	push(q, a, "a1", "a2")
	drain(t, q, 1, true)
	if q.Floods(a) {
		t.Error("a tenant alone floods")
	}
	push(q, b, "b1")
	drain(t, q, 1, true)
	if !q.Floods(a) || q.Floods(b) {
		t.Errorf("floods: %v, %v, want the one with an item that waits", q.Floods(a), q.Floods(b))
	}
	unbounded := NewQueue[string](0)
	push(unbounded, b, "b1")
	push(unbounded, a, "a1", "a2", "a3")
	drain(t, unbounded, 2, true)
	if unbounded.Floods(a) {
		t.Error("a tenant floods without a share")
	}
}
