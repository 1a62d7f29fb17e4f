package chat

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// longestWait is how long after its answer a request waits for a turn to be stored.
const longestWait = time.Second

// unstored are the turns that are answered and not stored yet. A turn is stored after its answer was sent, and the
// client's next request may come before.
type unstored struct {
	mu    sync.Mutex
	turns []*unstoredTurn
}

type unstoredTurn struct {
	collection uuid.UUID
	until      time.Time     // nothing waits longer, even if the turn is never stored
	stored     chan struct{} // closed when it is stored, or lost
}

// add adds a turn; stored removes it.
func (u *unstored) add(collection uuid.UUID, now time.Time) (stored func()) {
	t := &unstoredTurn{collection: collection, until: now.Add(longestWait), stored: make(chan struct{})}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.turns = append(u.turns, t)
	return sync.OnceFunc(func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.turns = slices.DeleteFunc(u.turns, func(other *unstoredTurn) bool { return other == t })
		close(t.stored)
	})
}

// of returns the turns of the collections of a view.
func (u *unstored) of(v *memory.View, now time.Time) (out []*unstoredTurn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.turns = slices.DeleteFunc(u.turns, func(t *unstoredTurn) bool { return now.After(t.until) })
	for _, t := range u.turns {
		of := func(v memory.View) bool { return v.Collection.ID == t.collection }
		if of(*v) || slices.ContainsFunc(v.Of, of) {
			out = append(out, t)
		}
	}
	return out
}

// Current opens a view at the head. If turns of its collections were answered here and are not stored yet, it calls waits, which may be
// nil, and opens the view again when they are, or a second after they were answered.
func (s *Service) Current(ctx context.Context, waits func(), open func() (memory.View, error)) (memory.View, error) {
	v, err := open()
	if err != nil {
		return v, err
	}
	now := s.clock()
	turns := s.unstored.of(&v, now)
	if len(turns) == 0 {
		return v, nil
	}
	if waits != nil {
		waits()
	}
	for _, t := range turns {
		bound, cancel := context.WithTimeout(ctx, t.until.Sub(now))
		select {
		case <-t.stored:
		case <-bound.Done():
		}
		cancel()
	}
	return open()
}
