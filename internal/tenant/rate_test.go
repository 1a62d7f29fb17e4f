package tenant

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/clock"
	"github.com/slipboxhq/slipbox/test/must"
)

func newClock() *clock.Clock {
	return clock.New(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
}

func newTestLimiter(t interface{ Fatal(...any) }, c *clock.Clock, maxTenants int) *Limiter {
	l, err := NewLimiter(c.Now, RateConfig{MaxTenants: maxTenants})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLimiterUnlimited(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, newClock(), 0)
	for range 1000 {
		if r := l.Allow(context.Background(), uuid.New(), 0); r.Err() != nil || r != (Rate{}) {
			t.Fatalf("%+v", r)
		}
	}
	if len(l.fullAt) != 0 {
		t.Error("unlimited tenants are tracked")
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	h := newClock()
	l := newTestLimiter(t, h, 0)
	a, b := uuid.New(), uuid.New()
	for i := range int64(6) {
		r := l.Allow(context.Background(), a, 6)
		if r.Err() != nil || r.Limit != 6 || r.Window != time.Minute || r.Remaining != 5-i || r.Reset != time.Duration(i+1)*10*time.Second {
			t.Fatalf("request %d: %+v", i, r)
		}
	}
	r := l.Allow(context.Background(), a, 6)
	if !fault.Is(r.Err(), fault.RateLimited) || r.RetryAfter != 10*time.Second || r.Remaining != 0 {
		t.Fatalf("the seventh: %+v", r)
	}
	if e := r.Err().(*fault.Error); e.RetryAfter != 10*time.Second { //nolint:errorlint // of the function under test
		t.Errorf("retry after %s", e.RetryAfter)
	}
	if r := l.Allow(context.Background(), b, 6); r.Err() != nil {
		t.Error("the requests of one tenant count against another")
	}
	h.Pass(10*time.Second - time.Nanosecond)
	if l.Allow(context.Background(), a, 6).Err() == nil {
		t.Error("allowed too early")
	}
	h.Pass(time.Nanosecond)
	if r := l.Allow(context.Background(), a, 6); r.Err() != nil {
		t.Errorf("refused requests are counted: %+v", r)
	}
	h.Pass(time.Hour)
	if r := l.Allow(context.Background(), a, 6); r.Remaining != 5 {
		t.Errorf("credit grows past the limit: %+v", r)
	}
}

func TestLimiterAfterClockSteppedBack(t *testing.T) {
	t.Parallel()
	h := newClock()
	l := newTestLimiter(t, h, 0)
	a := uuid.New()
	for range 6 {
		l.Allow(context.Background(), a, 6)
	}
	h.Pass(-24 * time.Hour)
	r := l.Allow(context.Background(), a, 6)
	if r.RetryAfter > time.Minute {
		t.Errorf("refused for %s", r.RetryAfter)
	}
}

// TestLimiterProperty: at any pace, no window of a minute admits more than twice
// the limit, and a tenant that keeps the pace is never refused.
func TestLimiterProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newClock()
		l := newTestLimiter(t, h, 0)
		limit := rapid.Int64Range(1, 5000).Draw(t, "limit")
		a, steady := uuid.New(), uuid.New()
		var passed []time.Time
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			h.Pass(time.Duration(rapid.Int64Range(0, int64(2*time.Minute)/limit).Draw(t, "pause")))
			r := l.Allow(context.Background(), a, limit)
			if r.Remaining < 0 || r.Remaining >= limit || r.Reset < 0 || r.Reset > time.Minute {
				t.Fatalf("%+v", r)
			}
			if r.Err() == nil {
				passed = append(passed, h.Now())
			} else if r.RetryAfter <= 0 || r.RetryAfter > time.Minute {
				t.Fatalf("%+v", r)
			}
		}
		for i := range passed {
			n := int64(0)
			for _, at := range passed[i:] {
				if at.Sub(passed[i]) < time.Minute {
					n++
				}
			}
			if n > 2*limit {
				t.Fatalf("%d requests in a minute, limit %d", n, limit)
			}
		}
		for range 50 {
			h.Pass(time.Minute/time.Duration(limit) + 1)
			if r := l.Allow(context.Background(), steady, limit); r.Err() != nil {
				t.Fatalf("a steady tenant is refused: %+v", r)
			}
		}
	})
}

func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	h := newClock()
	l := newTestLimiter(t, h, 100)
	for range 1000 {
		l.Allow(context.Background(), uuid.New(), 10)
		if len(l.fullAt) > 100 {
			t.Fatalf("%d tenants are tracked", len(l.fullAt))
		}
	}
	busy := uuid.New()
	h.Pass(time.Hour)
	for range 10 {
		l.Allow(context.Background(), busy, 10)
	}
	for range 95 {
		l.Allow(context.Background(), uuid.New(), 10) // idle tenants are evicted first
	}
	if l.Allow(context.Background(), busy, 10).Err() == nil {
		t.Error("a busy tenant was evicted before idle ones")
	}
}

func TestLimiterConcurrent(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, newClock(), 0)
	a := uuid.New()
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if l.Allow(context.Background(), a, 60).Err() == nil {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() != 60 {
		t.Errorf("%d of 60 passed", passed.Load())
	}
}

// What was spent is earned again evenly over the window, and however much it was, nobody waits for longer than that.
func TestLimiterSpend(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := must.Get(NewLimiter(c.Now, RateConfig{Window: time.Hour}))(t)
	id, other := uuid.New(), uuid.New()
	ready := func(id uuid.UUID) bool { return l.Ready(id, 100) == 0 }
	l.Spend(id, 100, 60)
	if !ready(id) {
		t.Error("40 of 100 are left")
	}
	l.Spend(id, 100, 60)
	if ready(id) || !ready(other) {
		t.Error("120 of 100 are spent, and nothing by another tenant")
	}
	if wait := l.Ready(id, 100); wait < 12*time.Minute || wait > 13*time.Minute {
		t.Errorf("waits for %s", wait)
	}
	c.Pass(l.Ready(id, 100))
	if !ready(id) {
		t.Error("the time that was named is over")
	}
	l.Spend(id, 100, 1_000_000)
	c.Pass(time.Hour)
	if !ready(id) {
		t.Error("more than a window has passed")
	}
	l.Spend(id, 0, 1_000_000)
	if wait := l.Ready(id, 0); wait != 0 || !ready(id) {
		t.Errorf("there is no limit, and it waits %s", wait)
	}
}
