package tenant

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant/internal/scope"
	"github.com/slipboxhq/slipbox/test/clock"
	"github.com/slipboxhq/slipbox/test/must"
)

// fakeDirectory is the directory of one tenant and the source of its usage.
type fakeDirectory struct {
	mu     sync.Mutex
	tenant Tenant
	used   Usage
	sums   int
	fail   error
}

func (h *fakeDirectory) TenantByID(_ context.Context, id uuid.UUID) (Tenant, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id != h.tenant.ID {
		return Tenant{}, fault.Missing("tenant")
	}
	return h.tenant, nil
}

func (h *fakeDirectory) TenantUsage(context.Context, uuid.UUID) (Usage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sums++
	return h.used, h.fail
}

// gatedUsage answers only when all expected callers have called.
type gatedUsage struct {
	*fakeDirectory
	arrived *sync.WaitGroup
}

func (g gatedUsage) TenantUsage(ctx context.Context, id uuid.UUID) (Usage, error) {
	g.arrived.Done()
	g.arrived.Wait()
	return g.fakeDirectory.TenantUsage(ctx, id)
}

func (h *fakeDirectory) set(fn func(*fakeDirectory)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn(h)
}

func newTestQuotas(t *testing.T, limits Limits) (*Quotas, *fakeDirectory, *clock.Clock, Scope) {
	t.Helper()
	h := &fakeDirectory{tenant: Tenant{ID: uuid.New(), State: Active, Limits: limits}}
	c := newClock()
	q := must.Get(NewQuotas(h, h, c.Now, QuotaConfig{}))(t)
	return q, h, c, scope.New(h.tenant.ID, uuid.Nil, "test", AllPermissions())
}

func TestNoQuotaNoUsageSum(t *testing.T) {
	t.Parallel()
	q, h, c, s := newTestQuotas(t, Limits{RequestsPerMinute: 5})
	h.fail = errors.New("must not be called")
	for range 100 {
		must.Do(t, q.Check(t.Context(), s, Usage{Notes: 1 << 40, StoredBytes: 1 << 60}))
		c.Pass(time.Second)
	}
	if h.sums != 0 {
		t.Errorf("summed %d times", h.sums)
	}
}

func TestQuotaOfEachKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits Limits
		ask    Usage
	}{
		"notes":                {Limits{Notes: 10}, Usage{Notes: 4}},
		"collections":          {Limits{Collections: 10}, Usage{Collections: 4}},
		"forks":                {Limits{Forks: 10}, Usage{Forks: 4}},
		"stored_bytes":         {Limits{StoredBytes: 10}, Usage{StoredBytes: 4}},
		"model_tokens_per_day": {Limits{ModelTokensPerDay: 10}, Usage{ModelTokens: 4}},
		"queued_jobs":          {Limits{QueuedJobs: 10}, Usage{QueuedJobs: 4}},
	} {
		q, _, _, s := newTestQuotas(t, c.limits)
		for range 2 {
			if err := q.Check(t.Context(), s, c.ask); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		err := q.Check(t.Context(), s, c.ask)
		if !fault.Is(err, fault.QuotaExceeded) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := q.Check(t.Context(), s, Usage{}); err != nil {
			t.Errorf("%s: an empty request is refused: %v", name, err)
		}
	}
}

func TestQuotaCountsUsage(t *testing.T) {
	t.Parallel()
	q, h, c, s := newTestQuotas(t, Limits{Notes: 10})
	h.used = Usage{Notes: 9}
	must.Do(t, q.Check(t.Context(), s, Usage{Notes: 1}))
	h.set(func(h *fakeDirectory) { h.used.Notes = 10 })
	if err := q.Check(t.Context(), s, Usage{Notes: 1}); !fault.Is(err, fault.QuotaExceeded) {
		t.Fatal(err)
	}
	// Freed room counts after recheck, not only after Refresh.
	h.set(func(h *fakeDirectory) { h.used.Notes = 5 })
	c.Pass(100 * time.Millisecond)
	must.Do(t, q.Check(t.Context(), s, Usage{Notes: 5}))
	if err := q.Check(t.Context(), s, Usage{Notes: 1}); !fault.Is(err, fault.QuotaExceeded) {
		t.Fatal(err)
	}
	// After Forget, a raised limit takes effect at once.
	h.set(func(h *fakeDirectory) { h.tenant.Limits.Notes = 20 })
	q.Forget(s.Tenant())
	must.Do(t, q.Check(t.Context(), s, Usage{Notes: 10}))
}

func TestUsageSumIsCached(t *testing.T) {
	t.Parallel()
	q, h, c, s := newTestQuotas(t, Limits{Notes: 1 << 40})
	for range 50 {
		must.Do(t, q.Check(t.Context(), s, Usage{Notes: 1}))
		c.Pass(100 * time.Millisecond)
	}
	if h.sums != 1 {
		t.Errorf("summed %d times in 5 s", h.sums)
	}
}

func TestQuotaDoesNotOvershootInOneProcess(t *testing.T) {
	t.Parallel()
	q, _, _, s := newTestQuotas(t, Limits{Notes: 100})
	if err := q.Check(t.Context(), s, Usage{}); err != nil { // one sum for all callers below
		t.Fatal(err)
	}
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if q.Check(t.Context(), s, Usage{Notes: 1}) == nil {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() != 100 {
		t.Errorf("%d passed, limit 100", passed.Load())
	}
}

// TestQuotaConcurrentFirstSum: many callers find no cached sum and each take
// one; all of them are counted on the sum that was stored first.
func TestQuotaConcurrentFirstSum(t *testing.T) {
	t.Parallel()
	q, h, _, s := newTestQuotas(t, Limits{Notes: 10})
	const callers = 40
	var arrived, all sync.WaitGroup
	arrived.Add(callers)
	q.usage = gatedUsage{h, &arrived}
	var admitted atomic.Int64
	for range callers {
		all.Go(func() {
			if q.Check(t.Context(), s, Usage{Notes: 1}) == nil {
				admitted.Add(1)
			}
		})
	}
	all.Wait()
	if n := admitted.Load(); n != 10 {
		t.Errorf("%d were admitted, the limit is 10", n)
	}
}

func TestQuotaErrors(t *testing.T) {
	t.Parallel()
	q, h, _, s := newTestQuotas(t, Limits{Notes: 1})
	if err := q.Check(t.Context(), Scope{}, Usage{}); !fault.Is(err, fault.Unauthenticated) {
		t.Error(err)
	}
	h.fail = fault.New(fault.Unavailable, "busy")
	if err := q.Check(t.Context(), s, Usage{Notes: 1}); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
}

func TestQuotasAreBounded(t *testing.T) {
	t.Parallel()
	h := &fakeDirectory{}
	c := newClock()
	q := must.Get(NewQuotas(h, h, c.Now, QuotaConfig{MaxTenants: 10}))(t)
	for range 50 {
		id := uuid.New()
		h.set(func(h *fakeDirectory) { h.tenant = Tenant{ID: id, Limits: Limits{Notes: 1}} })
		s := scope.New(id, uuid.Nil, "test", nil)
		must.Do(t, q.Check(t.Context(), s, Usage{Notes: 1}))
		if err := q.Check(t.Context(), s, Usage{Notes: 1}); !fault.Is(err, fault.QuotaExceeded) {
			t.Fatal(err)
		}
		if len(q.sums) > 10 {
			t.Fatalf("%d sums are cached", len(q.sums))
		}
		c.Pass(time.Millisecond)
	}
}

func TestLimitsPatch(t *testing.T) {
	t.Parallel()
	l := Limits{Notes: 5, Forks: 7}
	zero, ten, negative := int64(0), int64(10), int64(-1)
	LimitsPatch{Notes: &zero, StoredBytes: &ten}.apply(&l)
	if l != (Limits{Forks: 7, StoredBytes: 10}) {
		t.Errorf("limits are %+v", l)
	}
	LimitsPatch{
		RequestsPerMinute: &negative, Notes: &negative, Collections: &negative, Forks: &negative, StoredBytes: &negative, ModelTokensPerDay: &negative, ParseSecondsPerHour: &negative,
	}.apply(&l)
	err := l.Check("limits")
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Invalid || len(f.Fields) != 7 || f.Fields[0].Field != "limits.requests_per_minute" {
		t.Errorf("error is %v", err)
	}
}

// A burst of calls reserves no more than the day's tokens; what a call did not use is free again, and
// what it used is counted before the next sum holds it.
func TestReserveTokens(t *testing.T) {
	t.Parallel()
	q, h, c, s := newTestQuotas(t, Limits{ModelTokensPerDay: 1000})
	var mu sync.Mutex
	var settles []func(int64)
	var calls sync.WaitGroup
	for range 250 {
		calls.Go(func() {
			settle, err := q.Reserve(t.Context(), s, 100)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				settles = append(settles, settle)
			case !fault.Is(err, fault.QuotaExceeded) || !strings.Contains(err.Error(), "model_tokens_per_day"):
				t.Errorf("error %v", err)
			}
		})
	}
	calls.Wait()
	if len(settles) != 10 {
		t.Fatalf("%d of 250 calls were admitted, want 10", len(settles))
	}
	c.Pass(10 * time.Second) // a new sum does not forget what is reserved
	if _, err := q.Reserve(t.Context(), s, 100); !fault.Is(err, fault.QuotaExceeded) {
		t.Errorf("after a new sum: %v", err)
	}
	for _, settle := range settles {
		settle(60)
	}
	fits := func(want int) {
		t.Helper()
		var held []func(int64)
		for {
			settle, err := q.Reserve(t.Context(), s, 100)
			if err != nil {
				break
			}
			held = append(held, settle)
		}
		if len(held) != want {
			t.Errorf("%d calls of 100 fit beside 600 used, want %d", len(held), want)
		}
		for _, settle := range held {
			settle(0)
		}
	}
	fits(4)
	h.mu.Lock()
	h.used.ModelTokens = 600
	h.mu.Unlock()
	c.Pass(time.Minute)
	fits(4) // the sum holds them, and they are not counted twice
	q2, _, _, s2 := newTestQuotas(t, Limits{ModelTokensPerDay: 50})
	settle, err := q2.Reserve(t.Context(), s2, 100)
	if err != nil {
		t.Errorf("the rest is less than one estimate: %v", err)
	}
	settle(49)
	if settle, err = q2.Reserve(t.Context(), s2, 100); err != nil {
		t.Errorf("one token is left: %v", err)
	}
	settle(100)
	if _, err = q2.Reserve(t.Context(), s2, 1); !fault.Is(err, fault.QuotaExceeded) {
		t.Errorf("none is left: %v", err)
	}
}

// Far from a limit one look is enough; near it, or after much was admitted since the last sum, the
// store has to check.
func TestNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limits Limits
		ask    Usage
		near   bool
	}{
		{Limits{}, Usage{Notes: 1 << 40}, false},
		{Limits{Notes: 10}, Usage{Notes: 1}, true},
		{Limits{Notes: 100_000}, Usage{Notes: 1}, false},
		{Limits{Notes: 100_000}, Usage{Notes: 20_000}, true},
		{Limits{Collections: 1000}, Usage{Collections: 1}, false},
		{Limits{Collections: 50}, Usage{Collections: 1}, true},
		{Limits{Notes: 100_000, StoredBytes: 1 << 20}, Usage{Notes: 1, StoredBytes: 10}, true},
	} {
		q, _, _, s := newTestQuotas(t, c.limits)
		must.Do(t, q.Check(t.Context(), s, c.ask))
		l, near, err := q.Near(t.Context(), s)
		if err != nil || near != c.near || l != c.limits {
			t.Errorf("limits %+v, admitted %+v: near %v, %v", c.limits, c.ask, near, err)
		}
	}
}

// heldUsage keeps its second caller waiting.
type heldUsage struct {
	*fakeDirectory
	calls       atomic.Int32
	began, goOn chan struct{}
}

func (u *heldUsage) TenantUsage(ctx context.Context, id uuid.UUID) (Usage, error) {
	if u.calls.Add(1) == 2 {
		close(u.began)
		<-u.goOn
	}
	return u.fakeDirectory.TenantUsage(ctx, id)
}

// While one caller takes a new sum, others use the last one.
func TestOneSumAtATime(t *testing.T) {
	t.Parallel()
	h := &fakeDirectory{tenant: Tenant{ID: uuid.New(), State: Active}}
	u := &heldUsage{fakeDirectory: h, began: make(chan struct{}), goOn: make(chan struct{})}
	c := newClock()
	q := must.Get(NewQuotas(h, u, c.Now, QuotaConfig{Defaults: Limits{QueuedJobs: 1000}}))(t)
	s := scope.New(h.tenant.ID, uuid.Nil, "test", AllPermissions())
	check := func() {
		if err := q.Check(t.Context(), s, Usage{QueuedJobs: 1}); err != nil {
			t.Error(err)
		}
	}
	check()
	c.Pass(6 * time.Second)
	var first sync.WaitGroup
	first.Go(check)
	<-u.began
	for range 20 {
		check()
	}
	close(u.goOn)
	first.Wait()
	check()
	if n := u.calls.Load(); n != 2 {
		t.Errorf("%d sums were taken, want 2", n)
	}
}
