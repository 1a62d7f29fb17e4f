package tenant

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Usage counts what a tenant stores, and the model tokens that it used on the
// current UTC day.
type Usage struct {
	Notes, Collections, Forks, StoredBytes, ModelTokens int64
}

// UsageSource sums the usage of a whole tenant. It is called rarely and may be slow.
type UsageSource interface {
	TenantUsage(ctx context.Context, tenantID uuid.UUID) (Usage, error)
}

// QuotaConfig configures Quotas.
type QuotaConfig struct {
	// Refresh is the maximum age of a usage sum; default 5 s.
	Refresh time.Duration
	// Recheck is the maximum age of a usage sum that a refusal is based on;
	// default 100 ms. A tenant at its limit that deletes something waits at
	// most this long until the freed room counts.
	Recheck time.Duration
	// MaxTenants is how many sums are cached; default 10,000.
	MaxTenants int
}

// Quotas enforces the limits of tenants on notes, collections, forks, stored
// bytes and model tokens per day.
//
// Usage is not summed in the transaction of a write, so a limit can be
// exceeded by what other processes write within Refresh, and by requests that
// this process admitted but had not written when the sum was taken. What this
// process admits between two sums is counted and never exceeds a limit.
type Quotas struct {
	dir   Directory
	usage UsageSource
	clock func() time.Time
	cfg   QuotaConfig

	mu   sync.Mutex
	sums map[uuid.UUID]*usageSum
}

// usageSum is one tenant's limits and usage as read at a time, and what was
// admitted since then. Only admitted changes.
type usageSum struct {
	at       time.Time
	limits   Limits
	used     Usage
	admitted Usage
}

// NewQuotas returns a Quotas.
func NewQuotas(dir Directory, usage UsageSource, clock func() time.Time, cfg QuotaConfig) (*Quotas, error) {
	if dir == nil || usage == nil || clock == nil {
		return nil, errors.New("tenant: Quotas need a directory, a usage source and a clock")
	}
	if cfg.Refresh < 0 || cfg.Recheck < 0 || cfg.MaxTenants < 0 {
		return nil, errors.New("tenant: settings of quotas must not be negative")
	}
	if cfg.Refresh == 0 {
		cfg.Refresh = 5 * time.Second
	}
	if cfg.Recheck == 0 {
		cfg.Recheck = 100 * time.Millisecond
	}
	if cfg.MaxTenants == 0 {
		cfg.MaxTenants = 10_000
	}
	return &Quotas{dir: dir, usage: usage, clock: clock, cfg: cfg, sums: map[uuid.UUID]*usageSum{}}, nil
}

// Check admits and counts what a write or a model call would add. It returns
// QuotaExceeded, naming the limit, when that would exceed a limit. A zero field
// of ask is not checked, so reads and deletes always pass. For a tenant without
// quotas no usage is summed.
func (q *Quotas) Check(ctx context.Context, s Scope, ask Usage) error {
	if err := s.Check(); err != nil {
		return err
	}
	now := q.clock()
	cur, err := q.current(ctx, s.Tenant(), now, q.cfg.Refresh)
	if err != nil {
		return err
	}
	if over := q.admit(cur, ask); over == "" {
		return nil
	}
	cur, err = q.current(ctx, s.Tenant(), now, q.cfg.Recheck)
	if err != nil {
		return err
	}
	if over := q.admit(cur, ask); over != "" {
		return fault.New(fault.QuotaExceeded, "the tenant has reached its limit on %s", over)
	}
	return nil
}

// Forget drops the cached sum of a tenant, so that changed limits take effect
// at once.
func (q *Quotas) Forget(tenantID uuid.UUID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.sums, tenantID)
}

// admit counts ask as admitted and returns "", or returns the name of the limit
// that ask would exceed.
func (q *Quotas) admit(cur *usageSum, ask Usage) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, x := range []struct {
		name                       string
		limit, used, admitted, ask int64
	}{
		{"notes", cur.limits.Notes, cur.used.Notes, cur.admitted.Notes, ask.Notes},
		{"collections", cur.limits.Collections, cur.used.Collections, cur.admitted.Collections, ask.Collections},
		{"forks", cur.limits.Forks, cur.used.Forks, cur.admitted.Forks, ask.Forks},
		{"stored_bytes", cur.limits.StoredBytes, cur.used.StoredBytes, cur.admitted.StoredBytes, ask.StoredBytes},
		{"model_tokens_per_day", cur.limits.ModelTokensPerDay, cur.used.ModelTokens, cur.admitted.ModelTokens, ask.ModelTokens},
	} {
		if x.limit > 0 && x.ask > 0 && x.used+x.admitted+x.ask > x.limit {
			return x.name
		}
	}
	cur.admitted.Notes += ask.Notes
	cur.admitted.Collections += ask.Collections
	cur.admitted.Forks += ask.Forks
	cur.admitted.StoredBytes += ask.StoredBytes
	cur.admitted.ModelTokens += ask.ModelTokens
	return ""
}

// current returns a sum that is at most maxAge old.
func (q *Quotas) current(ctx context.Context, id uuid.UUID, now time.Time, maxAge time.Duration) (*usageSum, error) {
	q.mu.Lock()
	cur := q.sums[id]
	q.mu.Unlock()
	if cur != nil && !now.Before(cur.at) && now.Sub(cur.at) < maxAge {
		return cur, nil
	}
	t, err := q.dir.TenantByID(ctx, id)
	if err != nil {
		return nil, err
	}
	next := &usageSum{at: now, limits: t.Limits}
	if t.Limits.hasQuota() {
		if next.used, err = q.usage.TenantUsage(ctx, id); err != nil {
			return nil, err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	// Another caller stored a sum first: keep it, with what it has admitted.
	if other := q.sums[id]; other != nil && other != cur && now.Sub(other.at) < maxAge {
		return other, nil
	}
	if len(q.sums) >= q.cfg.MaxTenants {
		q.evict(now)
	}
	q.sums[id] = next
	return next, nil
}

// evict removes the sums older than Refresh and, if that is not enough, some
// others, which are then summed again when needed.
func (q *Quotas) evict(now time.Time) {
	for id, s := range q.sums {
		if now.Sub(s.at) >= q.cfg.Refresh {
			delete(q.sums, id)
		}
	}
	for id := range q.sums {
		if len(q.sums) < q.cfg.MaxTenants-q.cfg.MaxTenants/8 {
			return
		}
		delete(q.sums, id)
	}
}

// hasQuota reports whether any limit needs the summed usage.
func (l Limits) hasQuota() bool {
	return l.Notes > 0 || l.Collections > 0 || l.Forks > 0 || l.StoredBytes > 0 || l.ModelTokensPerDay > 0
}
