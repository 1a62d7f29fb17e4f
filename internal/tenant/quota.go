package tenant

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Usage is what a tenant holds, and the model tokens it used on the current
// UTC day.
type Usage struct {
	Notes, Collections, Forks, StoredBytes, ModelTokens int64
}

// UsageSource sums the usage of a whole tenant. It is asked seldom and may be slow.
type UsageSource interface {
	TenantUsage(ctx context.Context, tenantID uuid.UUID) (Usage, error)
}

// QuotaConfig bounds Quotas.
type QuotaConfig struct {
	// Refresh is how old a sum may be; default 5 s.
	Refresh time.Duration
	// Recheck is how old a sum must be to be taken again before a refusal;
	// default 100 ms. It is what a tenant at its limit waits at most until
	// room that it made is seen.
	Recheck time.Duration
	// MaxTenants is how many sums are kept; default 10,000.
	MaxTenants int
}

// Quotas holds tenants to their limits on notes, collections, forks, stored
// bytes and model tokens per day.
//
// Usage is summed apart from the writes, so a limit may be overshot: by what
// other processes write within Refresh, and by the requests of this process
// that were let through and had not been written when the sum was taken. What
// this process lets through between two sums is counted and never overshoots.
type Quotas struct {
	dir   Directory
	usage UsageSource
	clock func() time.Time
	cfg   QuotaConfig

	mu   sync.Mutex
	sums map[uuid.UUID]*sum
}

// sum is one tenant's limits and usage as read at a time, with what was let
// through since. It is immutable but for admitted.
type sum struct {
	at       time.Time
	limits   Limits
	used     Usage
	admitted Usage
}

// NewQuotas makes a Quotas.
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
	return &Quotas{dir: dir, usage: usage, clock: clock, cfg: cfg, sums: map[uuid.UUID]*sum{}}, nil
}

// Check asks for room for what a write or call would add, and counts it.
// QuotaExceeded names the limit that it would pass. What is asked is only
// what grows: a zero field is not checked, so reads and deletes always pass.
// Without a limit on anything asked nothing is summed.
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

// Forget drops what is known of a tenant, so that changed limits hold at once.
func (q *Quotas) Forget(tenantID uuid.UUID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.sums, tenantID)
}

// admit counts ask in, or names the limit that it would pass.
func (q *Quotas) admit(cur *sum, ask Usage) string {
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

// current gives a sum that is at most maxAge old.
func (q *Quotas) current(ctx context.Context, id uuid.UUID, now time.Time, maxAge time.Duration) (*sum, error) {
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
	next := &sum{at: now, limits: t.Limits}
	if t.Limits.quotas() {
		if next.used, err = q.usage.TenantUsage(ctx, id); err != nil {
			return nil, err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	// Another caller was faster: what it let through stays counted.
	if other := q.sums[id]; other != nil && other != cur && now.Sub(other.at) < maxAge {
		return other, nil
	}
	if len(q.sums) >= q.cfg.MaxTenants {
		q.shrink(now)
	}
	q.sums[id] = next
	return next, nil
}

// shrink makes room: sums that are too old go, and if that is not enough,
// some others, which are merely summed again.
func (q *Quotas) shrink(now time.Time) {
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

// quotas tells whether anything is limited that usage is summed for.
func (l Limits) quotas() bool {
	return l.Notes > 0 || l.Collections > 0 || l.Forks > 0 || l.StoredBytes > 0 || l.ModelTokensPerDay > 0
}
