package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// The store is asked for waiting jobs at most every 15 s, however often metrics are read. When it
// fails, there are no numbers.
func TestBacklogIsCached(t *testing.T) {
	t.Parallel()
	reads := 0
	var fails error
	b := &backlog{read: func(context.Context, time.Time) ([]memory.Backlog, error) {
		reads++
		return []memory.Backlog{{Stage: memory.StageTask, Waiting: int64(reads)}}, fails
	}}
	now := time.Now()
	look := func(after time.Duration) int64 {
		for _, s := range b.current(t.Context(), now.Add(after)) {
			return s.Waiting
		}
		return 0
	}
	for _, at := range []time.Duration{0, time.Second, backlogEvery - 1} {
		if n := look(at); n != 1 || reads != 1 {
			t.Errorf("after %s: %d, %d reads", at, n, reads)
		}
	}
	if n := look(backlogEvery); n != 2 {
		t.Errorf("later: %d", n)
	}
	fails = errors.New("away")
	if n := look(2 * backlogEvery); n != 0 || reads != 3 {
		t.Errorf("while the store is away: %d, %d reads", n, reads)
	}
	if look(2*backlogEvery + 1); reads != 3 {
		t.Errorf("a store that is away is asked again at once: %d reads", reads)
	}
}
