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
)

// hand is a clock moved by hand.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func newHand() *hand { return &hand{now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)} }

func (h *hand) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func newTestLimiter(t interface{ Fatal(...any) }, h *hand, most int) *Limiter {
	l, err := NewLimiter(h.clock, RateConfig{MaxTenants: most})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLimiterUnlimited(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, newHand(), 0)
	for range 1000 {
		if r := l.Allow(context.Background(), uuid.New(), 0); r.Err() != nil || r != (Rate{}) {
			t.Fatalf("%+v", r)
		}
	}
	if len(l.full) != 0 {
		t.Error("unlimited tenants take room")
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	h := newHand()
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
		t.Error("another tenant pays for it")
	}
	h.pass(10*time.Second - time.Nanosecond)
	if l.Allow(context.Background(), a, 6).Err() == nil {
		t.Error("allowed too early")
	}
	h.pass(time.Nanosecond)
	if r := l.Allow(context.Background(), a, 6); r.Err() != nil {
		t.Errorf("refused requests cost something: %+v", r)
	}
	h.pass(time.Hour)
	if r := l.Allow(context.Background(), a, 6); r.Remaining != 5 {
		t.Errorf("credit grows past the limit: %+v", r)
	}
}

func TestLimiterAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	h := newHand()
	l := newTestLimiter(t, h, 0)
	a := uuid.New()
	for range 6 {
		l.Allow(context.Background(), a, 6)
	}
	h.pass(-24 * time.Hour)
	r := l.Allow(context.Background(), a, 6)
	if r.RetryAfter > time.Minute {
		t.Errorf("refused for %s", r.RetryAfter)
	}
}

// TestLimiterProperty: whatever the pace, no window of a minute lets more than
// twice the limit through, and who keeps within the pace is never refused.
func TestLimiterProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHand()
		l := newTestLimiter(t, h, 0)
		limit := rapid.Int64Range(1, 5000).Draw(t, "limit")
		a, steady := uuid.New(), uuid.New()
		var passed []time.Time
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			h.pass(time.Duration(rapid.Int64Range(0, int64(2*time.Minute)/limit).Draw(t, "pause")))
			r := l.Allow(context.Background(), a, limit)
			if r.Remaining < 0 || r.Remaining >= limit || r.Reset < 0 || r.Reset > time.Minute {
				t.Fatalf("%+v", r)
			}
			if r.Err() == nil {
				passed = append(passed, h.clock())
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
			h.pass(time.Minute/time.Duration(limit) + 1)
			if r := l.Allow(context.Background(), steady, limit); r.Err() != nil {
				t.Fatalf("a steady tenant is refused: %+v", r)
			}
		}
	})
}

func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	h := newHand()
	l := newTestLimiter(t, h, 100)
	for range 1000 {
		l.Allow(context.Background(), uuid.New(), 10)
		if len(l.full) > 100 {
			t.Fatalf("%d tenants are remembered", len(l.full))
		}
	}
	busy := uuid.New()
	h.pass(time.Hour)
	for range 10 {
		l.Allow(context.Background(), busy, 10)
	}
	for range 95 {
		l.Allow(context.Background(), uuid.New(), 10) // the idle ones make room first
	}
	if l.Allow(context.Background(), busy, 10).Err() == nil {
		t.Error("a busy tenant was forgotten while idle ones could go")
	}
}

func TestLimiterConcurrent(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, newHand(), 0)
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

func BenchmarkLimiter(b *testing.B) {
	l, _ := NewLimiter(time.Now, RateConfig{})
	a := uuid.New()
	for b.Loop() {
		l.Allow(context.Background(), a, 1_000_000)
	}
}
