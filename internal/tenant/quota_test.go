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
)

// holdings is a directory of one tenant and what it holds.
type holdings struct {
	mu     sync.Mutex
	tenant Tenant
	used   Usage
	sums   int
	fail   error
}

func (h *holdings) TenantByID(_ context.Context, id uuid.UUID) (Tenant, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id != h.tenant.ID {
		return Tenant{}, fault.Missing("tenant")
	}
	return h.tenant, nil
}

func (h *holdings) TenantUsage(context.Context, uuid.UUID) (Usage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sums++
	return h.used, h.fail
}

// slowly gives sums when everybody who asks is there.
type slowly struct {
	*holdings
	there *sync.WaitGroup
}

func (l slowly) TenantUsage(ctx context.Context, id uuid.UUID) (Usage, error) {
	l.there.Done()
	l.there.Wait()
	return l.holdings.TenantUsage(ctx, id)
}

func (h *holdings) set(fn func(*holdings)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn(h)
}

func newQuotaBench(t *testing.T, limits Limits) (*Quotas, *holdings, *hand, Scope) {
	t.Helper()
	h := &holdings{tenant: Tenant{ID: uuid.New(), State: Active, Limits: limits}}
	c := newHand()
	q, err := NewQuotas(h, h, c.clock, QuotaConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return q, h, c, scope.New(h.tenant.ID, uuid.Nil, "test", AllPermissions())
}

func TestQuotasAreOffUnlessSet(t *testing.T) {
	t.Parallel()
	q, h, c, s := newQuotaBench(t, Limits{RequestsPerMinute: 5})
	h.fail = errors.New("not to be asked")
	for range 100 {
		if err := q.Check(t.Context(), s, Usage{Notes: 1 << 40, StoredBytes: 1 << 60}); err != nil {
			t.Fatal(err)
		}
		c.pass(time.Second)
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
	} {
		q, _, _, s := newQuotaBench(t, c.limits)
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
			t.Errorf("%s: asking for nothing is refused: %v", name, err)
		}
	}
}

func TestQuotaCountsWhatIsHeld(t *testing.T) {
	t.Parallel()
	q, h, c, s := newQuotaBench(t, Limits{Notes: 10})
	h.used = Usage{Notes: 9}
	if err := q.Check(t.Context(), s, Usage{Notes: 1}); err != nil {
		t.Fatal(err)
	}
	h.set(func(h *holdings) { h.used.Notes = 10 })
	if err := q.Check(t.Context(), s, Usage{Notes: 1}); !fault.Is(err, fault.QuotaExceeded) {
		t.Fatal(err)
	}
	// Room that was made is seen after Recheck, not only after Refresh.
	h.set(func(h *holdings) { h.used.Notes = 5 })
	c.pass(100 * time.Millisecond)
	if err := q.Check(t.Context(), s, Usage{Notes: 5}); err != nil {
		t.Fatal(err)
	}
	if err := q.Check(t.Context(), s, Usage{Notes: 1}); !fault.Is(err, fault.QuotaExceeded) {
		t.Fatal(err)
	}
	// A raised limit holds at once when told.
	h.set(func(h *holdings) { h.tenant.Limits.Notes = 20 })
	q.Forget(s.Tenant())
	if err := q.Check(t.Context(), s, Usage{Notes: 10}); err != nil {
		t.Fatal(err)
	}
}

func TestQuotaIsSummedSeldom(t *testing.T) {
	t.Parallel()
	q, h, c, s := newQuotaBench(t, Limits{Notes: 1 << 40})
	for range 50 {
		if err := q.Check(t.Context(), s, Usage{Notes: 1}); err != nil {
			t.Fatal(err)
		}
		c.pass(100 * time.Millisecond)
	}
	if h.sums != 1 {
		t.Errorf("summed %d times in 5 s", h.sums)
	}
}

func TestQuotaDoesNotOvershootInOneProcess(t *testing.T) {
	t.Parallel()
	q, _, _, s := newQuotaBench(t, Limits{Notes: 100})
	if err := q.Check(t.Context(), s, Usage{}); err != nil { // one sum for all
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

// TestQuotaSummedByManyAtOnce: each caller finds no sum and takes one, and all
// are counted on the first that is there.
func TestQuotaSummedByManyAtOnce(t *testing.T) {
	t.Parallel()
	q, h, _, s := newQuotaBench(t, Limits{Notes: 10})
	const callers = 40
	var there, all sync.WaitGroup
	there.Add(callers)
	q.usage = slowly{h, &there}
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
		t.Errorf("%d were let through, the limit is 10", n)
	}
}

func TestQuotaRefusesTheZeroScopeAndPassesFailures(t *testing.T) {
	t.Parallel()
	q, h, _, s := newQuotaBench(t, Limits{Notes: 1})
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
	h := &holdings{}
	c := newHand()
	q, err := NewQuotas(h, h, c.clock, QuotaConfig{MaxTenants: 10})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		id := uuid.New()
		h.set(func(h *holdings) { h.tenant = Tenant{ID: id, Limits: Limits{Notes: 1}} })
		s := scope.New(id, uuid.Nil, "test", nil)
		if err := q.Check(t.Context(), s, Usage{Notes: 1}); err != nil {
			t.Fatal(err)
		}
		if err := q.Check(t.Context(), s, Usage{Notes: 1}); !fault.Is(err, fault.QuotaExceeded) {
			t.Fatal(err)
		}
		if len(q.sums) > 10 {
			t.Fatalf("%d sums are kept", len(q.sums))
		}
		c.pass(time.Millisecond)
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
		RequestsPerMinute: &negative, Notes: &negative, Collections: &negative, Forks: &negative, StoredBytes: &negative, ModelTokensPerDay: &negative,
	}.apply(&l)
	err := l.Check("limits")
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Invalid || len(f.Fields) != 6 || f.Fields[0].Field != "limits.requests_per_minute" {
		t.Errorf("error is %v", err)
	}
}
