package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// ledger is the part of a store that a meter writes to.
type ledger struct {
	owners map[uuid.UUID]uuid.UUID // the agents of the collections
	gone   bool                    // the tenant was deleted
	down   error
	calls  int
	sums   map[uuid.UUID]int64 // tokens by collection
}

func (l *ledger) AddModelUse(_ context.Context, s tenant.Scope, uses []memory.ModelUse) error {
	l.calls++
	switch {
	case l.down != nil:
		return l.down
	case l.gone:
		return fault.Missing("tenant")
	}
	for _, u := range uses {
		if owner, ok := l.owners[u.Collection]; u.Collection != uuid.Nil && (!ok || !s.Reaches(owner)) {
			return fault.Missing("collection")
		}
	}
	for _, u := range uses {
		l.sums[u.Collection] += u.PromptTokens
	}
	return nil
}

// Use of a collection that was deleted meanwhile is the tenant's, once, and that of others is theirs, also when another
// agent's call was the last one. What a store that is down refuses is kept; what a deleted tenant used is not.
func TestMeterKeepsWhatIsOwed(t *testing.T) {
	t.Parallel()
	own, others, shared, deleted := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	a := grant.Scope(uuid.New(), uuid.New(), "a")
	b := grant.Scope(a.Tenant(), uuid.New(), "b")
	store := &ledger{owners: map[uuid.UUID]uuid.UUID{own: a.Agent(), others: b.Agent(), shared: uuid.Nil}, sums: map[uuid.UUID]int64{}}
	var logged bytes.Buffer
	m := newMeter(store, slog.New(slog.NewTextHandler(&logged, nil)))
	use := func(s tenant.Scope, c uuid.UUID, tokens int64) {
		m.Record(t.Context(), s, memory.ModelUse{Collection: c, Purpose: "analyze", Day: "2026-11-21", Calls: 1, PromptTokens: tokens})
	}
	use(a, own, 1)
	use(a, deleted, 2)
	use(a, shared, 4)
	use(b, others, 8)
	use(b, deleted, 16)
	store.down = errors.New("it is down")
	m.flush(t.Context())
	store.down = nil
	if len(store.sums) != 0 || !strings.Contains(logged.String(), "kept for the next attempt") {
		t.Fatalf("written is %v, logged %s", store.sums, &logged)
	}
	m.flush(t.Context())
	want := map[uuid.UUID]int64{own: 1, shared: 4, others: 8, uuid.Nil: 18}
	for id, tokens := range want {
		if store.sums[id] != tokens {
			t.Errorf("%s used %d tokens, want %d", id, store.sums[id], tokens)
		}
	}
	if len(store.sums) != len(want) {
		t.Errorf("written is %v", store.sums)
	}
	store.calls = 0
	m.flush(t.Context())
	store.gone = true
	use(a, own, 1)
	m.flush(t.Context())
	tried := store.calls
	m.flush(t.Context())
	if tried == 0 || store.calls != tried || strings.Count(logged.String(), "cannot be written") != 1 {
		t.Errorf("%d attempts, then %d; logged %s", tried, store.calls, &logged)
	}
}
