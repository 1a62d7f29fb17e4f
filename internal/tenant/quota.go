package tenant

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Usage counts what a tenant stores, the model tokens that it used on the
// current UTC day, and the notes and messages that wait for their policy.
type Usage struct {
	Notes, Collections, Forks, StoredBytes, ModelTokens, QueuedJobs int64
}

// UsageSource sums the usage of a whole tenant. It is called rarely and may be slow.
type UsageSource interface {
	TenantUsage(ctx context.Context, tenantID uuid.UUID) (Usage, error)
}

// QuotaConfig configures Quotas.
type QuotaConfig struct {
	// Refresh is the maximum age of a usage sum; default 5 s.
	Refresh time.Duration
	// Defaults are the limits of tenants without their own; default none.
	Defaults Limits
	// MaxTenants is how many sums are cached; default 10,000.
	MaxTenants int
}

// Quotas enforces the limits of tenants on notes, collections, forks, stored
// bytes, model tokens per day and queued jobs.
//
// Check is a first look, from a sum that may be some seconds old, and counts
// what this process admits between two sums. Near reports when that is not
// precise enough: then the store checks once more in the transaction of the
// write, so that bursts and several processes keep to the limit exactly.
//
// Model tokens are reserved before a call, by an estimate, and settled after
// it. Other processes see what was used within Refresh and the time in which
// use is written; a limit can be exceeded by what they use meanwhile.
type Quotas struct {
	dir   Directory
	usage UsageSource
	clock func() time.Time
	cfg   QuotaConfig

	mu    sync.Mutex
	parse *Limiter // of milliseconds
	sums  map[uuid.UUID]*usageSum
	books map[uuid.UUID]*tokenBook // of tenants with a limit on model tokens
}

// tokenBook is what one tenant's calls of this process hold and recently used.
type tokenBook struct {
	reserved int64
	settled  []settledCall // oldest first
}

// settledCall is the use of a call, which the next sums may not hold yet.
type settledCall struct {
	at     time.Time
	tokens int64
}

// limitQueuedJobs is the limit whose sum is counted rather than kept: 150 ms for 50,000 jobs.
const limitQueuedJobs = "queued_jobs"

const limitNotes = "notes"

// ErrNoteLimit is the cause of a QuotaExceeded when there is no room for as many notes, however small they are.
var ErrNoteLimit = errors.New("the limit on notes is reached")

// recheck is the maximum age of a usage sum that a refusal is based on. A tenant at its limit that deletes
// something waits at most this long until the freed room counts.
const recheck = 100 * time.Millisecond

// recheckJobs is recheck of that limit.
const recheckJobs = 2 * time.Second

// settleLag is how long use may take until a sum holds it: it is written once a second.
const settleLag = 3 * time.Second

// What is left of a limit, below which each write is checked in its transaction. Above it, that happens
// when this process has admitted an eighth of what the last sum left.
const (
	nearNotes       = 1000
	nearCollections = 100
	nearBytes       = 16 << 20
	nearPart        = 8
)

// usageSum is one tenant's limits and usage as read at a time, and what was
// admitted since then. Only admitted changes.
type usageSum struct {
	at       time.Time
	loading  bool // the next sum is being taken
	limits   Limits
	used     Usage
	admitted Usage
}

// NewQuotas returns a Quotas.
func NewQuotas(dir Directory, usage UsageSource, clock func() time.Time, cfg QuotaConfig) (*Quotas, error) {
	if dir == nil || usage == nil || clock == nil {
		return nil, errors.New("tenant: Quotas need a directory, a usage source and a clock")
	}
	if cfg.Refresh < 0 || cfg.MaxTenants < 0 {
		return nil, errors.New("tenant: settings of quotas must not be negative")
	}
	if err := cfg.Defaults.Check("defaults"); err != nil {
		return nil, err
	}
	if cfg.Refresh == 0 {
		cfg.Refresh = 5 * time.Second
	}
	if cfg.MaxTenants == 0 {
		cfg.MaxTenants = 10_000
	}
	parse, err := NewLimiter(clock, RateConfig{MaxTenants: cfg.MaxTenants, Window: time.Hour})
	if err != nil {
		return nil, err
	}
	return &Quotas{parse: parse, dir: dir, usage: usage, clock: clock, cfg: cfg, sums: map[uuid.UUID]*usageSum{}, books: map[uuid.UUID]*tokenBook{}}, nil
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
	over := q.admit(cur, ask)
	if over == "" {
		return nil
	}
	age := recheck
	if over == limitQueuedJobs {
		age = max(age, recheckJobs)
	}
	cur, err = q.current(ctx, s.Tenant(), now, age)
	if err != nil {
		return err
	}
	if over = q.admit(cur, ask); over == "" {
		return nil
	}
	e := fault.New(fault.QuotaExceeded, "the tenant has reached its limit on %s, which its operator sets", over)
	if over == limitNotes {
		e.Err = ErrNoteLimit
	}
	if over == limitQueuedJobs {
		e.RetryAfter = recheckJobs // jobs end by themselves
	}
	return e
}

// Near reports whether a tenant is so near to one of its limits on what it stores that Check alone may
// admit too much, and returns its limits.
func (q *Quotas) Near(ctx context.Context, s Scope) (l Limits, near bool, err error) {
	cur, err := q.current(ctx, s.Tenant(), q.clock(), q.cfg.Refresh)
	if err != nil {
		return l, false, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, x := range []struct{ limit, used, admitted, near int64 }{
		{cur.limits.Notes, cur.used.Notes, cur.admitted.Notes, nearNotes},
		{cur.limits.Collections, cur.used.Collections, cur.admitted.Collections, nearCollections},
		{cur.limits.Forks, cur.used.Forks, cur.admitted.Forks, nearCollections},
		{cur.limits.StoredBytes, cur.used.StoredBytes, cur.admitted.StoredBytes, nearBytes},
	} {
		left := x.limit - x.used
		near = near || x.limit > 0 && (left < x.near || x.admitted > left/nearPart)
	}
	return cur.limits, near, nil
}

// MayParse returns RateLimited, with the time to wait, when a tenant has used its seconds of the last hour for turning files
// into text in this process.
func (q *Quotas) MayParse(ctx context.Context, s Scope) error {
	cur, err := q.current(ctx, s.Tenant(), q.clock(), q.cfg.Refresh)
	if err != nil {
		return err
	}
	limit := cur.limits.ParseSecondsPerHour
	wait := q.parse.Ready(s.Tenant(), limit*1000)
	if wait == 0 {
		return nil
	}
	e := fault.New(fault.RateLimited, "the tenant has used its %d seconds per hour for reading files (parse_seconds_per_hour); the file is read later", limit)
	e.RetryAfter = wait
	return e
}

// Parsed counts the time that turning a file into text took.
func (q *Quotas) Parsed(ctx context.Context, s Scope, took time.Duration) error {
	cur, err := q.current(ctx, s.Tenant(), q.clock(), q.cfg.Refresh)
	if err != nil {
		return err
	}
	q.parse.Spend(s.Tenant(), cur.limits.ParseSecondsPerHour*1000, took.Milliseconds())
	return nil
}

// Reserve reserves model tokens for a call, by an estimate of what it uses. It returns QuotaExceeded
// when the tokens of the day do not suffice, with what other calls of this process reserve; a call that
// has the rest for itself may use it, however little it is. settle replaces the estimate by what was
// used; it must be called once.
func (q *Quotas) Reserve(ctx context.Context, s Scope, estimate int64) (settle func(used int64), err error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	now := q.clock()
	for _, age := range []time.Duration{q.cfg.Refresh, recheck} {
		cur, err := q.current(ctx, s.Tenant(), now, age)
		if err != nil {
			return nil, err
		}
		if cur.limits.ModelTokensPerDay <= 0 {
			return func(int64) {}, nil
		}
		if settle, ok := q.reserve(cur, s.Tenant(), max(1, estimate)); ok {
			return settle, nil
		}
	}
	return nil, fault.New(fault.QuotaExceeded, "the tenant has reached its limit on model_tokens_per_day, which its operator sets; the next day begins at 00:00 UTC")
}

func (q *Quotas) reserve(cur *usageSum, id uuid.UUID, estimate int64) (settle func(int64), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.books[id]
	if b == nil {
		b = &tokenBook{}
		q.books[id] = b
	}
	used := cur.used.ModelTokens + cur.admitted.ModelTokens
	for _, c := range b.settled {
		if c.at.After(cur.at.Add(-settleLag)) {
			used += c.tokens
		}
	}
	limit := cur.limits.ModelTokensPerDay
	if used >= limit || b.reserved > 0 && used+b.reserved+estimate > limit {
		return nil, false
	}
	b.reserved += estimate
	return func(n int64) { q.settle(id, estimate, n) }, true
}

// settle replaces an estimate by what was used, and forgets what every sum holds by now.
func (q *Quotas) settle(id uuid.UUID, estimate, used int64) {
	now := q.clock()
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.books[id] // it has a reservation
	b.reserved -= estimate
	old := 0
	for old < len(b.settled) && now.Sub(b.settled[old].at) > q.cfg.Refresh+settleLag {
		old++
	}
	b.settled = append(b.settled[old:], settledCall{now, used})
	if len(q.books) > q.cfg.MaxTenants {
		for other, book := range q.books {
			if n := len(book.settled); book.reserved == 0 && (n == 0 || now.Sub(book.settled[n-1].at) > q.cfg.Refresh+settleLag) {
				delete(q.books, other)
			}
		}
	}
}

// Forget drops the cached sum of a tenant, so that changed limits take effect
// immediately.
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
		{limitNotes, cur.limits.Notes, cur.used.Notes, cur.admitted.Notes, ask.Notes},
		{"collections", cur.limits.Collections, cur.used.Collections, cur.admitted.Collections, ask.Collections},
		{"forks", cur.limits.Forks, cur.used.Forks, cur.admitted.Forks, ask.Forks},
		{"stored_bytes", cur.limits.StoredBytes, cur.used.StoredBytes, cur.admitted.StoredBytes, ask.StoredBytes},
		{"model_tokens_per_day", cur.limits.ModelTokensPerDay, cur.used.ModelTokens, cur.admitted.ModelTokens, ask.ModelTokens},
		{limitQueuedJobs, cur.limits.QueuedJobs, cur.used.QueuedJobs, cur.admitted.QueuedJobs, ask.QueuedJobs},
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
	cur.admitted.QueuedJobs += ask.QueuedJobs
	return ""
}

// current returns a sum that is at most maxAge old. While one caller takes the next sum, others use
// the last one, unless it is very old.
func (q *Quotas) current(ctx context.Context, id uuid.UUID, now time.Time, maxAge time.Duration) (*usageSum, error) {
	q.mu.Lock()
	cur := q.sums[id]
	if cur != nil && !now.Before(cur.at) {
		if age := now.Sub(cur.at); age < maxAge || cur.loading && age < 2*q.cfg.Refresh {
			q.mu.Unlock()
			return cur, nil
		}
		cur.loading = true
	}
	q.mu.Unlock()
	next, err := q.sum(ctx, id, now)
	q.mu.Lock()
	defer q.mu.Unlock()
	if cur != nil {
		cur.loading = false
	}
	if err != nil {
		return nil, err
	}
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

func (q *Quotas) sum(ctx context.Context, id uuid.UUID, now time.Time) (*usageSum, error) {
	t, err := q.dir.TenantByID(ctx, id)
	if err != nil {
		return nil, err
	}
	next := &usageSum{at: now, limits: t.Limits.Or(q.cfg.Defaults)}
	if next.limits.hasQuota() {
		if next.used, err = q.usage.TenantUsage(ctx, id); err != nil {
			return nil, err
		}
	}
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
	return l.Notes > 0 || l.Collections > 0 || l.Forks > 0 || l.StoredBytes > 0 || l.ModelTokensPerDay > 0 || l.QueuedJobs > 0
}
