package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outage"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// meterInterval is how long counted model use stays in memory before it is written. A killed
// process loses the use of at most that time.
const meterInterval = time.Second

// meterStore stores model use.
type meterStore interface {
	AddModelUse(ctx context.Context, s tenant.Scope, u []memory.ModelUse) error
}

// meter collects model use and writes it in batches, so that no call waits for the store.
type meter struct {
	store  meterStore
	outage *outage.Log

	mu    sync.Mutex
	sums  map[meterKey]*memory.ModelUse
	scope map[uuid.UUID]tenant.Scope // one scope per tenant, to write with
}

type meterKey struct {
	tenant, collection uuid.UUID
	purpose, day       string
}

func newMeter(store meterStore, log *slog.Logger) *meter {
	return &meter{
		store: store, sums: map[meterKey]*memory.ModelUse{}, scope: map[uuid.UUID]tenant.Scope{},
		outage: outage.New(log, nil, "model use cannot be written; it is kept for the next attempt", "model use is written again"),
	}
}

// Record implements llm.Meter.
func (m *meter) Record(_ context.Context, s tenant.Scope, use memory.ModelUse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := meterKey{s.Tenant(), use.Collection, use.Purpose, use.Day}
	sum := m.sums[k]
	if sum == nil {
		sum = &memory.ModelUse{Collection: use.Collection, Purpose: use.Purpose, Day: use.Day}
		m.sums[k] = sum
	}
	sum.Calls += use.Calls
	sum.PromptTokens += use.PromptTokens
	sum.CompletionTokens += use.CompletionTokens
	m.scope[s.Tenant()] = s
}

// run flushes until ctx ends.
func (m *meter) run(ctx context.Context) {
	tick := time.NewTicker(meterInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.flush(ctx)
		}
	}
}

// flush writes the counted use. Use that cannot be written is kept for the next flush.
func (m *meter) flush(ctx context.Context) {
	m.mu.Lock()
	sums, scopes := m.sums, m.scope
	m.sums, m.scope = map[meterKey]*memory.ModelUse{}, map[uuid.UUID]tenant.Scope{}
	m.mu.Unlock()
	byTenant := map[uuid.UUID][]memory.ModelUse{}
	for k, u := range sums {
		byTenant[k.tenant] = append(byTenant[k.tenant], *u)
	}
	for id, uses := range byTenant {
		err := m.store.AddModelUse(ctx, scopes[id], uses)
		m.outage.Report(context.WithoutCancel(ctx), err) // the last flush, at a stop, may have no time left
		if err != nil {
			for _, u := range uses {
				m.Record(ctx, scopes[id], u)
			}
		}
	}
}
