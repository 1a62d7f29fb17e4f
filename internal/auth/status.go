package auth

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// statusCache caches the state of keys, tenants and agents for at most StatusTTL.
type statusCache struct {
	deps    Deps
	keys    *ttlCache[keyID, Key]
	tenants *ttlCache[uuid.UUID, tenant.Tenant]
	agents  *ttlCache[keyID, tenant.Agent]
	grants  *ttlCache[GrantID, Grant]
	// unknown are ids of keys that the store does not have. They are apart from keys, so that guessed
	// ids do not displace keys.
	unknown *ttlCache[keyID, struct{}]
}

// keyID identifies a key or an agent. It includes the tenant, so that an id alone
// never finds either.
type keyID struct{ tenant, id uuid.UUID }

func newStatusCache(deps Deps, cfg Config) *statusCache {
	return &statusCache{
		deps:    deps,
		keys:    newTTLCache[keyID, Key](deps.Clock, cfg),
		tenants: newTTLCache[uuid.UUID, tenant.Tenant](deps.Clock, cfg),
		agents:  newTTLCache[keyID, tenant.Agent](deps.Clock, cfg),
		grants:  newTTLCache[GrantID, Grant](deps.Clock, cfg),
		unknown: newTTLCache[keyID, struct{}](deps.Clock, cfg),
	}
}

func (s *statusCache) key(ctx context.Context, tenantID, id uuid.UUID) (Key, error) {
	k := keyID{tenantID, id}
	if s.unknown.has(k) {
		return Key{}, fault.Missing("api key")
	}
	key, err := s.keys.get(k, func() (Key, error) { return s.deps.Keys.KeyByID(ctx, tenantID, id) })
	if fault.Is(err, fault.NotFound) {
		_, _ = s.unknown.get(k, func() (struct{}, error) { return struct{}{}, nil })
	}
	return key, err
}

func (s *statusCache) tenant(ctx context.Context, id uuid.UUID) (tenant.Tenant, error) {
	return s.tenants.get(id, func() (tenant.Tenant, error) { return s.deps.Directory.TenantByID(ctx, id) })
}

func (s *statusCache) agent(ctx context.Context, tenantID, id uuid.UUID, actor string) (tenant.Agent, error) {
	return s.agents.get(keyID{tenantID, id}, func() (tenant.Agent, error) {
		return s.deps.Agents.AgentByRef(ctx, grant.Scope(tenantID, id, actor), id.String())
	})
}

func (s *statusCache) grant(ctx context.Context, id GrantID) (Grant, error) {
	return s.grants.get(id, func() (Grant, error) { return s.deps.Grants.GrantByID(ctx, id) })
}

func (s *statusCache) forgetGrant(id GrantID) {
	s.grants.forget(func(g GrantID) bool { return g == id })
}

func (s *statusCache) forgetKey(tenantID, id uuid.UUID) {
	s.keys.forget(func(k keyID) bool { return k == keyID{tenantID, id} })
}

func (s *statusCache) forgetTenant(id uuid.UUID) {
	s.tenants.forget(func(t uuid.UUID) bool { return t == id })
	s.keys.forget(func(k keyID) bool { return k.tenant == id })
	s.agents.forget(func(k keyID) bool { return k.tenant == id })
	s.grants.forget(func(g GrantID) bool { return g.Tenant == id })
}

// ttlCache is a cache of at most size entries, each for at most ttl. Errors are not
// cached.
type ttlCache[K comparable, V any] struct {
	clock memory.Clock
	ttl   time.Duration
	size  int

	mu      sync.Mutex
	entries map[K]cacheEntry[V]
	// forgetCount counts the calls of forget. A value that was read before such a
	// call is not cached after it.
	forgetCount uint64
}

type cacheEntry[V any] struct {
	value V
	at    time.Time
}

func newTTLCache[K comparable, V any](clock memory.Clock, cfg Config) *ttlCache[K, V] {
	return &ttlCache[K, V]{clock: clock, ttl: cfg.StatusTTL, size: cfg.StatusSize, entries: map[K]cacheEntry[V]{}}
}

func (r *ttlCache[K, V]) get(k K, read func() (V, error)) (V, error) {
	now := r.clock()
	r.mu.Lock()
	e, ok := r.entries[k]
	before := r.forgetCount
	r.mu.Unlock()
	if ok && isFresh(e.at, now, r.ttl) {
		return e.value, nil
	}
	v, err := read()
	if err != nil {
		return v, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgetCount != before {
		return v, nil
	}
	if len(r.entries) >= r.size {
		r.evict(now)
	}
	// The age counts from before the read, so that a change during the read is
	// seen after at most ttl.
	r.entries[k] = cacheEntry[V]{value: v, at: now}
	return v, nil
}

func (r *ttlCache[K, V]) has(k K) bool {
	now := r.clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[k]
	return ok && isFresh(e.at, now, r.ttl)
}

func (r *ttlCache[K, V]) forget(match func(K) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetCount++
	for k := range r.entries {
		if match(k) {
			delete(r.entries, k)
		}
	}
}

func (r *ttlCache[K, V]) evict(now time.Time) {
	for k, e := range r.entries {
		if !isFresh(e.at, now, r.ttl) {
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

// isFresh reports whether a value read at the given time is younger than ttl. It is
// false for times after now, which exist when the clock was set back.
func isFresh(at, now time.Time, ttl time.Duration) bool {
	return !now.Before(at) && now.Sub(at) < ttl
}
