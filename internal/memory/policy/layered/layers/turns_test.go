package layers

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/test/must"
)

// A request that gives up does not keep its turn, other collections do not wait, and nothing is kept of a collection
// without requests.
func TestAbandonedTurnsAreNotKept(t *testing.T) {
	t.Parallel()
	var all turns
	one, other := uuid.New(), uuid.New()
	end := must.Get(all.begin(t.Context(), one))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all.begin(ctx, one); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	free := must.Get(all.begin(t.Context(), other))(t)
	free()
	end()
	if len(all.lines) != 0 {
		t.Errorf("%d lines are left", len(all.lines))
	}
}
