package auth

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// status knows the state of keys, tenants and agents, at most StatusTTL old.
type status struct {
	deps    Deps
	keys    *recent[keyID, Key]
	tenants *recent[uuid.UUID, tenant.Tenant]
	agents  *recent[keyID, tenant.Agent]
}

// keyID names a key or an agent with its tenant: an id alone is never enough
// to find either.
type keyID struct{ tenant, id uuid.UUID }

func newStatus(deps Deps, cfg Config) *status {
	return &status{
		deps:    deps,
		keys:    newRecent[keyID, Key](deps.Clock, cfg),
		tenants: newRecent[uuid.UUID, tenant.Tenant](deps.Clock, cfg),
		agents:  newRecent[keyID, tenant.Agent](deps.Clock, cfg),
	}
}

func (s *status) key(ctx context.Context, tenantID, id uuid.UUID) (Key, error) {
	return s.keys.get(keyID{tenantID, id}, func() (Key, error) { return s.deps.Keys.KeyByID(ctx, tenantID, id) })
}

func (s *status) tenant(ctx context.Context, id uuid.UUID) (tenant.Tenant, error) {
	return s.tenants.get(id, func() (tenant.Tenant, error) { return s.deps.Directory.TenantByID(ctx, id) })
}

func (s *status) agent(ctx context.Context, tenantID, id uuid.UUID, actor string) (tenant.Agent, error) {
	return s.agents.get(keyID{tenantID, id}, func() (tenant.Agent, error) {
		return s.deps.Agents.AgentByRef(ctx, grant.Scope(tenantID, id, actor), id.String())
	})
}

func (s *status) forgetKey(tenantID, id uuid.UUID) {
	s.keys.forget(func(k keyID) bool { return k == keyID{tenantID, id} })
}

func (s *status) forgetTenant(id uuid.UUID) {
	s.tenants.forget(func(t uuid.UUID) bool { return t == id })
	s.keys.forget(func(k keyID) bool { return k.tenant == id })
	s.agents.forget(func(k keyID) bool { return k.tenant == id })
}

// recent remembers what was read a moment ago, for at most ttl and at most
// size entries. Failures are not remembered: an unknown id is looked up each
// time, so that a stranger's guesses take no room.
type recent[K comparable, V any] struct {
	clock memory.Clock
	ttl   time.Duration
	size  int

	mu      sync.Mutex
	entries map[K]recentEntry[V]
	// forgotten counts calls of forget: what was read before one is not kept
	// after it.
	forgotten uint64
}

type recentEntry[V any] struct {
	value V
	at    time.Time
}

func newRecent[K comparable, V any](clock memory.Clock, cfg Config) *recent[K, V] {
	return &recent[K, V]{clock: clock, ttl: cfg.StatusTTL, size: cfg.StatusSize, entries: map[K]recentEntry[V]{}}
}

func (r *recent[K, V]) get(k K, read func() (V, error)) (V, error) {
	now := r.clock()
	r.mu.Lock()
	e, ok := r.entries[k]
	before := r.forgotten
	r.mu.Unlock()
	if ok && fresh(e.at, now, r.ttl) {
		return e.value, nil
	}
	v, err := read()
	if err != nil {
		return v, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgotten != before {
		return v, nil
	}
	if len(r.entries) >= r.size {
		r.shrink(now)
	}
	// Aged from before the read: what changed during it is not taken for newer.
	r.entries[k] = recentEntry[V]{value: v, at: now}
	return v, nil
}

func (r *recent[K, V]) forget(match func(K) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgotten++
	for k := range r.entries {
		if match(k) {
			delete(r.entries, k)
		}
	}
}

func (r *recent[K, V]) shrink(now time.Time) {
	for k, e := range r.entries {
		if !fresh(e.at, now, r.ttl) {
			delete(r.entries, k)
		}
	}
	for k := range r.entries {
		if len(r.entries) < r.size-r.size/8 {
			return
		}
		delete(r.entries, k)
	}
}

// fresh tells whether a reading of a time may still be used. After the clock
// went back, none may.
func fresh(at, now time.Time, ttl time.Duration) bool {
	return !now.Before(at) && now.Sub(at) < ttl
}
