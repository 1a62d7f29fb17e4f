package cache

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/sony/gobreaker/v2"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Config of a Redis. Zero fields take the defaults.
type Config struct {
	// URL is redis://[user:password@]host[:port][/db], or rediss:// for TLS. It is secret.
	URL string
	// Prefix begins every key and channel; default "slipbox". Installations that share a Redis differ in it.
	Prefix string
	// Timeout is what a call may take, all in all; default 50 ms.
	Timeout time.Duration
	// Failures in a row after which Redis is passed by; default 3.
	Failures int
	// Pause is how long it is passed by before one call tries again; default 1 s.
	Pause time.Duration
}

// dialTimeout bounds the making of a connection. It goes on behind a call that
// has given up, so that a later one finds it: TLS to a far server takes longer than a call may.
const dialTimeout = 2 * time.Second

func (c *Config) setDefaults() error {
	if c.Timeout < 0 || c.Failures < 0 || c.Pause < 0 {
		return fault.New(fault.Internal, "cache: settings must not be negative")
	}
	if c.Prefix == "" {
		c.Prefix = "slipbox"
	}
	if c.Timeout == 0 {
		c.Timeout = 50 * time.Millisecond
	}
	if c.Failures == 0 {
		c.Failures = 3
	}
	if c.Pause == 0 {
		c.Pause = time.Second
	}
	return nil
}

// Deps are what the package needs from its surroundings; all may be nil.
type Deps struct {
	Log    *slog.Logger
	Meter  metric.Meter
	Tracer trace.TracerProvider
}

func (d Deps) log() *slog.Logger {
	if d.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Log
}

// Redis is the guarded client. A nil one is passed by, as one that is away.
type Redis struct {
	client  *redis.Client
	cfg     Config
	log     *slog.Logger
	metrics *redisMetrics
	breaker *gobreaker.CircuitBreaker[struct{}]

	up   atomic.Bool // it answered last, as far as the breaker is concerned
	full atomic.Bool // it refused to store more
}

// errBypassed is what a guarded call gives when Redis was not asked, or did not answer.
var errBypassed = errors.New("redis was passed by")

// Open makes the client and asks the server who it is. A URL that cannot be
// read is Invalid "redis_url". A server that cannot be reached, refuses the password or is
// too old is none: that is logged, Check reports it, and every call is passed by until it is mended.
func Open(ctx context.Context, cfg Config, d Deps) (*Redis, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	opts, err := redis.ParseURL(cfg.URL)
	if err != nil {
		// Not wrapped: the error holds the URL, and that the password.
		return nil, fault.InvalidField("redis_url", "must be redis://[user:password@]host[:port][/database], or rediss:// for TLS; escape what is special in the password")
	}
	opts.DialTimeout = dialTimeout
	opts.DialerRetries = 1
	opts.ReadTimeout, opts.WriteTimeout, opts.PoolTimeout = cfg.Timeout, cfg.Timeout, cfg.Timeout
	opts.ContextTimeoutEnabled = true
	opts.MaxRetries = -1 // the caller goes on without
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	logging.Disable() // the library's own log is process-wide and goes to stderr; the guard says what it would
	r := &Redis{client: redis.NewClient(opts), cfg: cfg, log: d.log().With("redis", opts.Addr)}
	r.up.Store(true)
	if r.metrics, err = newRedisMetrics(d.Meter, r); err != nil {
		return nil, errors.Join(fault.Wrap(err, fault.Internal, "cache: make the metrics of redis"), r.client.Close())
	}
	if err := instrument(r.client, d); err != nil {
		return nil, errors.Join(fault.Wrap(err, fault.Internal, "cache: instrument the client of redis"), r.client.Close())
	}
	r.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         "redis",
		Timeout:      cfg.Pause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(cfg.Failures) },
		IsSuccessful: func(err error) bool { return !isOutage(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, errCallerLeft) },
	})
	r.greet(ctx)
	return r, nil
}

// instrument adds spans and metrics of the client. Spans tell the command and never its
// arguments, in which values would stand.
func instrument(c *redis.Client, d Deps) error {
	if d.Tracer != nil {
		if err := redisotel.InstrumentTracing(c, redisotel.WithTracerProvider(d.Tracer),
			redisotel.WithDBStatement(false), redisotel.WithCallerEnabled(false), redisotel.WithDialFilter(true)); err != nil {
			return err
		}
	}
	if d.Meter == nil {
		return nil
	}
	return redisotel.InstrumentMetrics(c, redisotel.WithMeterProvider(oneMeter{meter: d.Meter}), redisotel.WithPoolName("cache"))
}

// Close lets go of the connections.
func (r *Redis) Close() error {
	if r == nil {
		return nil
	}
	return r.client.Close()
}

// Available tells whether Redis is used now, and not passed by.
func (r *Redis) Available() bool { return r != nil && r.up.Load() }

// errCallerLeft marks failures that are the caller's, who gave up or had too little time.
var errCallerLeft = errors.New("the caller left")

// do makes one call under the guard. Whatever goes wrong with Redis is counted, told to the
// breaker, and given back as errBypassed or as the server's reply; callers go on without.
func (r *Redis) do(ctx context.Context, operation string, fn func(context.Context, *redis.Client) error) error {
	if r == nil {
		return errBypassed
	}
	_, err := r.breaker.Execute(func() (struct{}, error) {
		callCtx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
		defer cancel()
		err := fn(callCtx, r.client)
		if err != nil && ctx.Err() != nil {
			err = errors.Join(errCallerLeft, err)
		}
		return struct{}{}, err
	})
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		r.mark(ctx, true, nil)
		return err
	case errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests):
		r.metrics.bypass(ctx, operation, "open")
		return errBypassed
	case errors.Is(err, errCallerLeft):
		return errBypassed
	case isFull(err):
		r.metrics.bypass(ctx, operation, "full")
		r.markFull(ctx, true)
		return err
	case isOutage(err):
		r.metrics.bypass(ctx, operation, "failed")
		if r.breaker.State() != gobreaker.StateClosed {
			r.mark(ctx, false, err)
		}
		return errors.Join(errBypassed, err)
	default:
		r.metrics.bypass(ctx, operation, "refused")
		r.log.DebugContext(ctx, "redis refused a command", "operation", operation, "error", err)
		return err
	}
}

// mark logs once for each change between used and passed by.
func (r *Redis) mark(ctx context.Context, up bool, err error) {
	if r.up.Swap(up) == up {
		return
	}
	if up {
		r.log.InfoContext(ctx, "redis is used again")
		return
	}
	r.log.WarnContext(ctx, "redis is passed by: requests go on without the shared cache and with limits for each process", "error", explain(err))
}

// markFull logs once when Redis begins or ends to refuse writes for want of memory.
func (r *Redis) markFull(ctx context.Context, full bool) {
	if r.full.Swap(full) == full {
		return
	}
	if full {
		r.log.WarnContext(ctx, "redis is out of memory and stores nothing new: raise its maxmemory; requests go on")
		return
	}
	r.log.InfoContext(ctx, "redis stores again")
}

// outages are the first words of replies that say that the server, or this user of it, cannot be used now.
var outages = []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "NOAUTH", "WRONGPASS", "NOPERM", "MISCONF", "ERR invalid password", "ERR max number of clients"}

// isOutage tells failures of the server from replies to a command.
func isOutage(err error) bool {
	if err == nil || errors.Is(err, redis.Nil) {
		return false
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return true
	}
	for _, word := range outages {
		if strings.HasPrefix(reply.Error(), word) {
			return true
		}
	}
	return false
}

// isFull recognises the refusal of a server whose maxmemory is reached, from a script too.
func isFull(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && (strings.HasPrefix(reply.Error(), "OOM ") || strings.Contains(reply.Error(), "-OOM "))
}
