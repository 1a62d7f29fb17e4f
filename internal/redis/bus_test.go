package redis

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/test/must"
)

// ear collects received news.
type ear struct {
	mu    sync.Mutex
	heard map[News]int
}

func (e *ear) hear(n News) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.heard == nil {
		e.heard = map[News]int{}
	}
	e.heard[n]++
}

func (e *ear) count(n News) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard[n]
}

// startBus runs a bus until the test ends; the returned ear collects its news.
func startBus(t *testing.T, r *Client) (*Bus, *ear) {
	t.Helper()
	b, e := NewBus(r), &ear{}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	running.Go(func() { b.Listen(ctx, e.hear) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return b, e
}

// told publishes until all ears receive it, as a subscription takes a moment.
func told(t *testing.T, b *Bus, ears ...*ear) {
	t.Helper()
	n := News{Tenant: uuid.New(), Collection: uuid.New(), Revision: 7, Job: uuid.New()}
	until(t, "news are heard", func() bool {
		b.Publish(t.Context(), n)
		for _, e := range ears {
			if e.count(n) == 0 {
				return false
			}
		}
		return true
	})
}

func TestNewsReachOtherProcessesOnce(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	r := openRedis(t, Config{URL: url, Prefix: prefix}, Deps{})
	a, heardByA := startBus(t, r)
	_, heardByB := startBus(t, r)
	other, heardByOther := startBus(t, openRedis(t, Config{URL: url, Prefix: prefix + "-other"}, Deps{}))
	told(t, a, heardByA, heardByB)
	told(t, other, heardByOther)
	// All news of a burst arrive, once each.
	burst := make([]News, 500)
	for i := range burst {
		burst[i] = News{Tenant: uuid.New(), Collection: uuid.New(), Revision: int64(i)}
		a.Publish(t.Context(), burst[i])
	}
	until(t, "the burst is heard", func() bool { return heardByB.count(burst[len(burst)-1]) > 0 })
	for _, n := range burst {
		if heardByB.count(n) != 1 || heardByOther.count(n) != 0 {
			t.Fatalf("heard %d times, by another installation %d times", heardByB.count(n), heardByOther.count(n))
		}
	}
	// Messages that cannot be decoded are skipped.
	must.Do(t, r.client.Publish(t.Context(), prefix+":news", "rubbish").Err())
	told(t, a, heardByA, heardByB)
}

// Publishing never blocks, and subscriptions work again after Redis was away.
func TestNewsSurviveRedis(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	r := openRedis(t, Config{URL: srv.URL(), Pause: 20 * time.Millisecond}, Deps{})
	b, e := startBus(t, r)
	told(t, b, e)
	if !b.Listening() {
		t.Error("a bus that receives news does not report it")
	}
	for _, fault := range []struct {
		name       string
		away, back func()
	}{{"killed", srv.Kill, srv.Restart}, {"frozen", srv.Freeze, srv.Thaw}} {
		fault.away()
		began := time.Now()
		for range 3 * newsBuffer {
			b.Publish(t.Context(), News{Collection: uuid.New()})
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("publishing to nobody took %v", took)
		}
		if fault.name == "killed" {
			until(t, "the broken connection is noticed", func() bool { return !b.Listening() })
		}
		fault.back()
		told(t, b, e)
	}
}

func TestNewsWithoutRedis(t *testing.T) {
	t.Parallel()
	b := NewBus(nil)
	if b.Listening() {
		t.Error("a bus without Redis receives news")
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.Publish(ctx, News{})
	cancel()
	b.Listen(ctx, func(News) { t.Error("news from nowhere") })
	b.Run(ctx)
}
