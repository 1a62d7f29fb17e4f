package tenant

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// RateConfig configures a Limiter.
type RateConfig struct {
	// MaxTenants is how many tenants are tracked in all; default 100,000
	// (about 10 MB). At the bound, tenants with full credit are dropped first,
	// which loses nothing; then others are dropped and start with full credit.
	MaxTenants int
	// Window is the time in which a tenant may make as many requests as its limit; default one minute.
	Window time.Duration
}

// Limiter enforces the requests per minute, or another window, of tenants within
// this process. It implements the generic cell rate algorithm: a burst of up to
// one window's worth, then evenly spaced requests.
type Limiter struct {
	clock  func() time.Time
	max    int
	window time.Duration

	mu sync.Mutex
	// fullAt is when the tenant has full credit again; absent: it has it now.
	fullAt map[uuid.UUID]time.Time
}

// NewLimiter returns a Limiter.
func NewLimiter(clock func() time.Time, cfg RateConfig) (*Limiter, error) {
	if clock == nil {
		return nil, errors.New("tenant: a Limiter needs a clock")
	}
	if cfg.MaxTenants < 0 || cfg.Window < 0 {
		return nil, errors.New("tenant: MaxTenants and Window must not be negative")
	}
	if cfg.MaxTenants == 0 {
		cfg.MaxTenants = 100_000
	}
	return &Limiter{clock: clock, max: cfg.MaxTenants, window: cmp.Or(cfg.Window, time.Minute), fullAt: map[uuid.UUID]time.Time{}}, nil
}

// Rate is the outcome of one request, with the values of the RateLimit headers.
type Rate struct {
	Limit      int64 // requests in Window; 0: unlimited, and nothing else is set
	Window     time.Duration
	Remaining  int64         // requests that could be sent immediately
	Reset      time.Duration // until Remaining is Limit again
	RetryAfter time.Duration // 0: the request is allowed
}

// windowNames are how a refusal calls a window.
var windowNames = map[time.Duration]string{time.Minute: "minute", time.Second: "second"}

// Err returns nil when the request is allowed, else RateLimited with RetryAfter.
func (r Rate) Err() error {
	if r.RetryAfter == 0 {
		return nil
	}
	window := cmp.Or(windowNames[r.Window], r.Window.String())
	e := fault.New(fault.RateLimited, "the tenant is limited to %d requests per %s", r.Limit, window)
	e.RetryAfter = r.RetryAfter
	return e
}

// Ready reports how long a tenant waits that has spent more than limit in the window. Nothing is counted: what work costs is
// known when it has ended.
func (l *Limiter) Ready(tenantID uuid.UUID, limit int64) (wait time.Duration) {
	if limit <= 0 {
		return 0
	}
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, max(0, l.fullAt[tenantID].Sub(now))-l.window)
}

// Spend counts work that a tenant has done, however much it may do in the window. It waits for at most a window then.
func (l *Limiter) Spend(tenantID uuid.UUID, limit, n int64) {
	if limit <= 0 || n <= 0 {
		return
	}
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	cost := time.Duration(float64(l.window) * min(2, float64(n)/float64(limit)))
	l.count(tenantID, now, now.Add(min(2*l.window, max(0, l.fullAt[tenantID].Sub(now))+cost)))
}

// Allow counts one request of a tenant that may make limit in the window; 0 means
// no limit. A refused request is not counted.
func (l *Limiter) Allow(_ context.Context, tenantID uuid.UUID, limit int64) Rate {
	if limit <= 0 {
		return Rate{}
	}
	now, window := l.clock(), l.window
	interval := max(window/time.Duration(limit), 1)

	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.fullAt[tenantID]
	if full.Before(now) {
		full = now
	}
	if full.Sub(now) > window {
		// The limit was raised, or the clock went back: never wait more than a window.
		full = now.Add(window)
	}
	next := full.Add(interval)
	r := Rate{Limit: limit, Window: window}
	if over := next.Sub(now) - window; over > 0 {
		r.RetryAfter, r.Reset = over, full.Sub(now)
		return r
	}
	l.count(tenantID, now, next)
	r.Reset = next.Sub(now)
	r.Remaining = min(int64((window-r.Reset)/interval), math.MaxInt32)
	return r
}

// count sets when a tenant has full credit again.
func (l *Limiter) count(tenantID uuid.UUID, now, full time.Time) {
	if _, tracked := l.fullAt[tenantID]; !tracked && len(l.fullAt) >= l.max {
		l.evict(now)
	}
	l.fullAt[tenantID] = full
}

// evict drops the tenants with full credit and, if that is not enough, some
// others.
func (l *Limiter) evict(now time.Time) {
	for id, full := range l.fullAt {
		if !full.After(now) {
			delete(l.fullAt, id)
		}
	}
	for id := range l.fullAt {
		if len(l.fullAt) < l.max-l.max/8 {
			return
		}
		delete(l.fullAt, id)
	}
}
