package redis

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/test/must"
)

// journal is a log that tests read.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) log() *slog.Logger {
	return slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// count returns how many lines contain the text.
func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for line := range strings.Lines(j.buf.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func openRedis(t *testing.T, cfg Config, d Deps) *Client {
	t.Helper()
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second) // a busy machine answers late
	r := must.Get(Open(t.Context(), cfg, d))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

func set(r *Client, key, value string) error {
	return r.Do(context.Background(), "write", func(ctx context.Context, c *goredis.Client) error {
		return c.Set(ctx, key, value, time.Minute).Err()
	})
}

func get(r *Client, key string) (value string, err error) {
	err = r.Do(context.Background(), "read", func(ctx context.Context, c *goredis.Client) error {
		value, err = c.Get(ctx, key).Result()
		return err
	})
	return value, err
}

// until polls a condition that has no notification.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.After(5 * time.Minute); !ok(); {
		select {
		case <-deadline:
			t.Fatalf("%s: not within five minutes", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestOpenRefusesURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "localhost:6379", "http://localhost", "redis://h/notanumber", "redis://user:s3cr%zzet@h"} {
		_, err := Open(t.Context(), Config{URL: url}, Deps{})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.Invalid || f.Fields[0].Field != "redis_url" {
			t.Errorf("%q: %v", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cr") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func TestNilRedisIsPassedBy(t *testing.T) {
	t.Parallel()
	var r *Client
	if err := set(r, "a", "b"); !errors.Is(err, errBypassed) {
		t.Error(err)
	}
	if r.Check(t.Context()) != nil || r.Close() != nil || r.Available() {
		t.Error("a nil Redis is not at rest")
	}
}

// A server that is away at start is not an error. It is used when it comes and bypassed when it goes,
// and each change is logged once.
func TestAwayAndBack(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	srv.Kill()
	var j journal
	reader := metric.NewManualReader()
	meter := metric.NewMeterProvider(metric.WithReader(reader)).Meter("test")
	r := openRedis(t, Config{URL: srv.URL(), Pause: 50 * time.Millisecond}, Deps{Log: j.log(), Meter: meter})
	if r.Available() || !fault.Is(r.Check(t.Context()), fault.Unavailable) {
		t.Error("it is there before it started")
	}
	for range 20 {
		if err := set(r, "a", "1"); !errors.Is(err, errBypassed) {
			t.Fatal(err)
		}
	}
	if gauge(t, reader, "slipbox.redis.available") != 0 || gauge(t, reader, "slipbox.redis.bypassed") < 20 {
		t.Error("the metrics say that it is there")
	}
	srv.Restart()
	until(t, "it is used", func() bool { return set(r, "a", "1") == nil })
	if err := r.Check(t.Context()); err != nil || !r.Available() || gauge(t, reader, "slipbox.redis.available") != 1 {
		t.Errorf("it is there: %v", err)
	}
	for range 2 {
		srv.Kill()
		until(t, "it is bypassed", func() bool { return set(r, "a", "1") != nil && !r.Available() })
		srv.Restart()
		until(t, "it is used again", func() bool { return set(r, "a", "1") == nil })
	}
	if away, back := j.count("redis is bypassed"), j.count("redis is used again"); away != 3 || back != 3 {
		t.Errorf("logged %d times that it is away, %d that it is back:\n%s", away, back, &j)
	}
	if strings.Contains(j.String(), redistest.Password+"@") {
		t.Error("the log tells the password")
	}
}

// gauge sums the points of a metric.
func gauge(t *testing.T, r *metric.ManualReader, name string) (sum int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	must.Do(t, r.Collect(t.Context(), &all))
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Name != name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					sum += p.Value
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					sum += p.Value
				}
			}
		}
	}
	return sum
}

// A server that accepts connections and does not answer costs the first calls their time, and later ones almost nothing.
func TestFrozenServerIsBypassed(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	r := openRedis(t, Config{URL: srv.URL(), Timeout: time.Second, Pause: time.Hour}, Deps{}) // which has a connection now
	srv.Freeze()
	defer srv.Thaw()
	for range 3 {
		if _, err := get(r, "a"); !errors.Is(err, errBypassed) {
			t.Fatal(err)
		}
	}
	began := time.Now()
	for range 100 {
		get(r, "a")
	}
	if took := time.Since(began); took > time.Minute || r.Available() {
		t.Errorf("100 calls of a frozen server took %v", took)
	}
}

// A call that its caller abandons says nothing about Redis.
func TestCallersThatLeave(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	r := openRedis(t, Config{URL: srv.URL()}, Deps{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if err := r.Do(gone, "read", func(ctx context.Context, c *goredis.Client) error { return c.Get(ctx, "a").Err() }); err == nil {
			t.Fatal("a call of nobody was made")
		}
	}
	if err := set(r, "a", "1"); err != nil || !r.Available() {
		t.Errorf("it is bypassed: %v", err)
	}
	if _, err := get(r, "absent"); !errors.Is(err, goredis.Nil) {
		t.Errorf("an absent key: %v", err)
	}
}

func TestWrongPasswordAndUsers(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	admin := srv.Client()
	must.Do(t, admin.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">s3cret!", "~slipbox:*", "&slipbox:*", "+@read", "+@write", "+ping").Err())
	for _, who := range []string{"default:wrong", "nobody:wrong"} {
		var j journal
		r := openRedis(t, Config{URL: srv.Address(who)}, Deps{Log: j.log()})
		err := r.Check(t.Context())
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "REDIS_URL") || strings.Contains(err.Error(), ":wrong@") {
			t.Errorf("%s: %v", who, err)
		}
		if j.count(`"level":"ERROR"`) != 1 {
			t.Errorf("the start says:\n%s", &j)
		}
		if err := set(r, "slipbox:a", "1"); !errors.Is(err, errBypassed) || r.Available() {
			t.Errorf("%s may write: %v", who, err)
		}
	}
	r := openRedis(t, Config{URL: srv.Address("app:s3cret%21")}, Deps{})
	if err := r.Check(t.Context()); err != nil {
		t.Errorf("a user that may not ask for INFO: %v", err)
	}
	if err := set(r, "slipbox:a", "1"); err != nil {
		t.Errorf("a user with its own keys: %v", err)
	}
	if err := set(r, "other", "1"); !errors.Is(err, errBypassed) {
		t.Errorf("another's key: %v", err)
	}
}

// A full server refuses new values; stored ones are read, and no call is bypassed.
func TestFullServerIsReadAndRefusesWrites(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, "--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
	var j journal
	r := openRedis(t, Config{URL: srv.URL()}, Deps{Log: j.log()})
	must.Do(t, set(r, "first", "1"))
	must.Do(t, srv.Client().ConfigSet(t.Context(), "maxmemory", "1").Err())
	for range 10 {
		if err := set(r, "next", strings.Repeat("x", 1000)); !isFull(err) {
			t.Fatal(err)
		}
	}
	if v, err := get(r, "first"); v != "1" || err != nil || !r.Available() {
		t.Errorf("reading a full server: %q, %v", v, err)
	}
	if j.count("out of memory") != 1 {
		t.Errorf("told:\n%s", &j)
	}
}

func TestEvictionIsWarnedAbout(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	var j journal
	openRedis(t, Config{URL: srv.URL()}, Deps{Log: j.log()})
	if j.count("maxmemory-policy") != 1 {
		t.Errorf("told:\n%s", &j)
	}
}

// An older server is used, and Check reports it.
func TestOlderServersAreReported(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{"6.2.14": true, "7.0.0": false, "8.2.1": false, "": false} {
		if err := checkVersion(version); (err != nil) != old || old && !strings.Contains(err.Error(), "upgrade") {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// Spans contain commands, and neither keys nor values.
func TestSpansTellNoValues(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	spans := tracetest.NewInMemoryExporter()
	r := openRedis(t, Config{URL: srv.URL()}, Deps{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))})
	must.Do(t, set(r, "slipbox:hidden-key", "hidden-value"))
	text := must.Get(json.Marshal(spans.GetSpans()))(t)
	if !strings.Contains(string(text), `"set"`) || strings.Contains(string(text), "hidden") {
		t.Errorf("spans: %s", text)
	}
}
