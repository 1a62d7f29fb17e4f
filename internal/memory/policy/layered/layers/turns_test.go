package layers

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
)

// A request that gives up does not keep its turn, other collections do not wait, and nothing is kept of a collection
// without requests.
func TestAbandonedTurnsAreNotKept(t *testing.T) {
	t.Parallel()
	var all turns
	one, other := uuid.New(), uuid.New()
	end, err := all.begin(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all.begin(ctx, one); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	free, err := all.begin(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	free()
	end()
	if len(all.lines) != 0 {
		t.Errorf("%d lines are left", len(all.lines))
	}
}
