package redis

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

func localLimiter(t *testing.T) *tenant.Limiter {
	t.Helper()
	l := must.Get(tenant.NewLimiter(time.Now, tenant.RateConfig{}))(t)
	return l
}

// Gateways share a tenant's budget, and return the same numbers as a single one.
func TestSharedBudget(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	cfg := Config{URL: url, Prefix: prefix}
	gateways := []*Limiter{
		NewLimiter(openRedis(t, cfg, Deps{}), localLimiter(t)),
		NewLimiter(openRedis(t, cfg, Deps{}), localLimiter(t)),
	}
	single := localLimiter(t)
	spend := func(perMinute int64) (wrong []string) {
		id := uuid.New()
		for i := range perMinute {
			got, want := gateways[i%2].Allow(t.Context(), id, perMinute), single.Allow(t.Context(), id, perMinute)
			if got.Err() != nil || got.Limit != want.Limit || got.Window != want.Window {
				return append(wrong, fmt.Sprintf("request %d of %d: %+v, want %+v", i+1, perMinute, got, want))
			}
			// Both clocks advanced during the requests before, by about one request's share or less.
			if slack := time.Minute/time.Duration(perMinute)/2 + time.Second; (got.Reset-want.Reset).Abs() > slack || got.Remaining < want.Remaining-1 || got.Remaining > want.Remaining+1 {
				wrong = append(wrong, fmt.Sprintf("request %d of %d: %+v, want %+v", i+1, perMinute, got, want))
			}
		}
		for _, g := range gateways {
			got, want := g.Allow(t.Context(), id, perMinute), single.Allow(t.Context(), id, perMinute)
			if !fault.Is(got.Err(), fault.RateLimited) || got.Remaining != 0 || got.Limit != perMinute {
				wrong = append(wrong, fmt.Sprintf("one more than %d: %+v", perMinute, got))
			}
			if (got.RetryAfter-want.RetryAfter).Abs() > time.Second || (got.Reset-want.Reset).Abs() > time.Second || got.RetryAfter > time.Minute {
				wrong = append(wrong, fmt.Sprintf("one more than %d: %+v, want %+v", perMinute, got, want))
			}
		}
		return wrong
	}
	for _, perMinute := range []int64{1, 2, 6, 7, 50} {
		// When spending took as long as a request needs to return, it is done again, by another tenant.
		for tries := 1; ; tries++ {
			began := time.Now()
			wrong := spend(perMinute)
			if len(wrong) == 0 {
				break
			}
			if took := time.Since(began); took < time.Minute/time.Duration(perMinute)/2 || tries == 20 {
				t.Errorf("try %d, after %v: %s", tries, took, strings.Join(wrong, "\n"))
				break
			}
		}
		if gateways[0].Allow(t.Context(), uuid.New(), perMinute).Err() != nil {
			t.Error("another tenant pays for it")
		}
	}
	if r := gateways[0].Allow(t.Context(), uuid.New(), 0); r != (tenant.Rate{}) {
		t.Errorf("no limit: %+v", r)
	}
}

// A refused request costs nothing, and credit returns evenly: at 600 a minute, one each 100 ms.
func TestRefill(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	l := NewLimiter(openRedis(t, Config{URL: url, Prefix: prefix}, Deps{}), localLimiter(t))
	id := uuid.New()
	for l.Allow(t.Context(), id, 600).Err() == nil {
	}
	last := time.Now()
	until(t, "credit", func() bool { return l.Allow(t.Context(), id, 600).Err() == nil })
	if waited := time.Since(last); waited > 30*time.Second {
		t.Errorf("credit came after %v of asking", waited)
	}
}

func TestManyGatewaysAtOnce(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	r := openRedis(t, Config{URL: url, Prefix: prefix}, Deps{})
	id := uuid.New()
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		l := NewLimiter(r, localLimiter(t))
		wg.Go(func() {
			for range 10 {
				if l.Allow(t.Context(), id, 5).Err() == nil {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	// One more request is allowed every 12 s.
	if n := passed.Load(); n < 5 || n > 7 {
		t.Errorf("%d of 80 passed, the limit is 5", n)
	}
}

// Without Redis each gateway counts for itself, starting with the first request.
func TestLimitsWithoutRedis(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	r := openRedis(t, Config{URL: srv.URL(), Timeout: 50 * time.Millisecond, Pause: time.Hour}, Deps{})
	full := redistest.Start(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	srv.Freeze()
	defer srv.Thaw()
	for name, l := range map[string]*Limiter{
		"a nil Redis": NewLimiter(nil, localLimiter(t)), "a frozen one": NewLimiter(r, localLimiter(t)),
		"a full one": NewLimiter(openRedis(t, Config{URL: full.URL()}, Deps{}), localLimiter(t)),
	} {
		id := uuid.New()
		for i := range 3 {
			if got := l.Allow(t.Context(), id, 3); got.Err() != nil {
				t.Errorf("%s: request %d: %+v", name, i, got)
			}
		}
		if l.Allow(t.Context(), id, 3).Err() == nil {
			t.Errorf("%s: the fourth of three passed", name)
		}
	}
}
