package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
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

	mu     sync.Mutex
	sums   map[meterKey]*memory.ModelUse
	scopes map[meterOwner]tenant.Scope // to write with
}

// meterOwner is whose use it is. An agent's scope does not reach the collections of others.
type meterOwner struct{ tenant, agent uuid.UUID }

type meterKey struct {
	meterOwner

	collection   uuid.UUID
	purpose, day string
}

func newMeter(store meterStore, log *slog.Logger) *meter {
	return &meter{
		store: store, sums: map[meterKey]*memory.ModelUse{}, scopes: map[meterOwner]tenant.Scope{},
		outage: outage.New(log, nil, "model use cannot be written; it is kept for the next attempt", "model use is written again"),
	}
}

// Record implements llm.Meter.
func (m *meter) Record(_ context.Context, s tenant.Scope, use memory.ModelUse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := meterKey{meterOwner{s.Tenant(), s.Reader()}, use.Collection, use.Purpose, use.Day}
	sum := m.sums[k]
	if sum == nil {
		sum = &memory.ModelUse{Collection: use.Collection, Purpose: use.Purpose, Day: use.Day}
		m.sums[k] = sum
	}
	sum.Calls += use.Calls
	sum.PromptTokens += use.PromptTokens
	sum.CompletionTokens += use.CompletionTokens
	m.scopes[k.meterOwner] = s
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

// flush writes the counted use. Use that cannot be written is kept for the next flush, except that of a tenant that is gone.
func (m *meter) flush(ctx context.Context) {
	m.mu.Lock()
	sums, scopes := m.sums, m.scopes
	m.sums, m.scopes = map[meterKey]*memory.ModelUse{}, map[meterOwner]tenant.Scope{}
	m.mu.Unlock()
	byOwner := map[meterOwner][]memory.ModelUse{}
	for k, u := range sums {
		byOwner[k.meterOwner] = append(byOwner[k.meterOwner], *u)
	}
	for owner, uses := range byOwner {
		left, err := m.write(ctx, scopes[owner], uses)
		m.outage.Report(context.WithoutCancel(ctx), err) // the last flush, at a stop, may have no time left
		for _, u := range left {
			m.Record(ctx, scopes[owner], u)
		}
	}
}

// write writes uses of one owner, and returns those that were not written. A collection that was deleted while a call for it
// ran is not found: its use is the tenant's alone then, as is what was counted before the deletion.
func (m *meter) write(ctx context.Context, s tenant.Scope, uses []memory.ModelUse) (left []memory.ModelUse, err error) {
	if err := m.store.AddModelUse(ctx, s, uses); !fault.Is(err, fault.NotFound) {
		if err != nil {
			left = uses
		}
		return left, err
	}
	for i, u := range uses {
		err := m.store.AddModelUse(ctx, s, []memory.ModelUse{u})
		if fault.Is(err, fault.NotFound) {
			u.Collection = uuid.Nil
			err = m.store.AddModelUse(ctx, s, []memory.ModelUse{u})
		}
		if err != nil && !fault.Is(err, fault.NotFound) { // not found now is the tenant: nobody is left to count for
			return uses[i:], err
		}
	}
	return nil, nil
}
