package layers

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// turns has one request at a time remember in a collection: the next one reads what the one before has written. Without
// it, requests that arrive together would conflict and be decided again. Other processes are kept apart by the conflicts of the
// engine alone. The zero value is ready.
type turns struct {
	mu    sync.Mutex
	lines map[uuid.UUID]*line
}

// line is the requests of one collection.
type line struct {
	free     chan struct{} // holds a value while none of them has its turn
	requests int           // that have or await their turn
}

// begin waits for the turn of a request, or for the end of its context. The caller calls end when it is done.
func (t *turns) begin(ctx context.Context, collection uuid.UUID) (end func(), err error) {
	t.mu.Lock()
	l := t.lines[collection]
	if l == nil {
		if t.lines == nil {
			t.lines = map[uuid.UUID]*line{}
		}
		l = &line{free: make(chan struct{}, 1)}
		l.free <- struct{}{}
		t.lines[collection] = l
	}
	l.requests++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if l.requests--; l.requests == 0 {
			delete(t.lines, collection)
		}
	}
	select {
	case <-l.free:
		return func() { l.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("wait for other requests to the collection: %w", ctx.Err())
	}
}
