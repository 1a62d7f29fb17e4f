package tenant

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// RateConfig bounds a Limiter.
type RateConfig struct {
	// MaxTenants is how many tenants are remembered at once; default 100,000
	// (about 10 MB). A tenant that was idle long enough to be in full credit is
	// forgotten without loss; past the bound another one starts afresh.
	MaxTenants int
}

// Limiter holds tenants to their requests per minute, in this process, by the
// generic cell rate algorithm: up to a minute's worth at once, and from then
// on evenly spaced.
type Limiter struct {
	clock func() time.Time
	max   int

	mu sync.Mutex
	// full is when the tenant will be in full credit again; absent: it is now.
	full map[uuid.UUID]time.Time
}

// NewLimiter makes a Limiter.
func NewLimiter(clock func() time.Time, cfg RateConfig) (*Limiter, error) {
	if clock == nil {
		return nil, errors.New("tenant: a Limiter needs a clock")
	}
	if cfg.MaxTenants < 0 {
		return nil, errors.New("tenant: MaxTenants must not be negative")
	}
	if cfg.MaxTenants == 0 {
		cfg.MaxTenants = 100_000
	}
	return &Limiter{clock: clock, max: cfg.MaxTenants, full: map[uuid.UUID]time.Time{}}, nil
}

// Rate is the outcome of one request, with the numbers for RateLimit headers.
type Rate struct {
	Limit      int64         // requests in Window; 0: unlimited, and nothing else is set
	Window     time.Duration // one minute
	Remaining  int64         // that could be sent at once now
	Reset      time.Duration // until Remaining is Limit again
	RetryAfter time.Duration // 0: the request is allowed
}

// Err is nil when the request is allowed, else RateLimited with RetryAfter.
func (r Rate) Err() error {
	if r.RetryAfter == 0 {
		return nil
	}
	e := fault.New(fault.RateLimited, "the tenant is limited to %d requests per minute", r.Limit)
	e.RetryAfter = r.RetryAfter
	return e
}

// Allow counts one request of a tenant limited to perMinute; 0 means no limit.
// A refused request costs nothing.
func (l *Limiter) Allow(_ context.Context, tenantID uuid.UUID, perMinute int64) Rate {
	if perMinute <= 0 {
		return Rate{}
	}
	now := l.clock()
	const window = time.Minute
	interval := max(window/time.Duration(perMinute), 1)

	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.full[tenantID]
	if full.Before(now) {
		full = now
	}
	if full.Sub(now) > window {
		// The limit was raised, or the clock went back: owe no more than a minute.
		full = now.Add(window)
	}
	next := full.Add(interval)
	r := Rate{Limit: perMinute, Window: window}
	if over := next.Sub(now) - window; over > 0 {
		r.RetryAfter, r.Reset = over, full.Sub(now)
		return r
	}
	if _, known := l.full[tenantID]; !known && len(l.full) >= l.max {
		l.shrink(now)
	}
	l.full[tenantID] = next
	r.Reset = next.Sub(now)
	r.Remaining = min(int64((window-r.Reset)/interval), math.MaxInt32)
	return r
}

// shrink makes room: those in full credit go, and if that is not enough, some
// others.
func (l *Limiter) shrink(now time.Time) {
	for id, full := range l.full {
		if !full.After(now) {
			delete(l.full, id)
		}
	}
	for id := range l.full {
		if len(l.full) < l.max-l.max/8 {
			return
		}
		delete(l.full, id)
	}
}
