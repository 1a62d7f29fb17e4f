package redis

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/extra/redisotel/v9"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/sony/gobreaker/v2"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/outage"
)

// Config of a client. Zero fields take the defaults.
type Config struct {
	// URL is redis://[user:password@]host[:port][/db], or rediss:// for TLS. It is secret.
	URL string
	// Prefix begins every key and channel; default "slipbox". Installations that share a
	// Redis have different prefixes.
	Prefix string
	// Timeout bounds a whole call; default 50 ms. Where it is longer than what else is waited for (2 s for a connection, 1 s
	// for an answer at start, to Check and to a worker that takes work, 250 ms to send a wake-up), it bounds that too.
	Timeout time.Duration
	// Failures in a row after which Redis is bypassed; default 3.
	Failures int
	// Pause is how long Redis is bypassed before one call tries again; default 1 s.
	Pause time.Duration
}

// dialTimeout bounds making a connection. Dialing continues after the call that needed it has
// given up, so that a later call finds the connection: TLS to a distant server takes longer than
// a call may.
const dialTimeout = 2 * time.Second

func (c *Config) setDefaults() error {
	if c.Timeout < 0 || c.Failures < 0 || c.Pause < 0 {
		return fault.New(fault.Internal, "redis: settings must not be negative")
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

// atLeast returns what bounds a call that usually has d: Timeout, if that is longer.
func (c *Config) atLeast(d time.Duration) time.Duration { return max(d, c.Timeout) }

// Deps are what the package needs from its surroundings; all may be nil.
type Deps struct {
	Log    *slog.Logger
	Meter  metric.Meter
	Tracer trace.TracerProvider
}

// Client is the guarded client. A nil Client behaves as one whose server is away.
type Client struct {
	client  *goredis.Client
	cfg     Config
	log     *slog.Logger
	metrics *clientMetrics
	breaker *gobreaker.CircuitBreaker[struct{}]

	up     atomic.Bool // the last call that the breaker let through was answered
	away   *outage.Log // logs what up says
	full   atomic.Bool // the server refused to store more
	noRoom *outage.Log // logs what full says
}

// errBypassed is the error of a guarded call when Redis was not asked, or did not answer.
var errBypassed = errors.New("redis was bypassed")

var errNoRoom = errors.New("its memory is full")

// Open makes the client and asks the server for its version. A URL that cannot be parsed is
// Invalid "redis_url". A server that cannot be reached, refuses the password or is too old is not
// an error: it is logged, Check reports it, and every call bypasses Redis until it works.
func Open(ctx context.Context, cfg Config, d Deps) (*Client, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	opts, err := goredis.ParseURL(cfg.URL)
	if err != nil {
		// Not wrapped: the error holds the URL, and with it the password.
		return nil, fault.InvalidField("redis_url", "must be redis://[user:password@]host[:port][/database], or rediss:// for TLS; escape special characters in the password")
	}
	opts.DialTimeout = cfg.atLeast(dialTimeout)
	opts.DialerRetries = 1
	// An upper bound. The context of each call sets a shorter one.
	longest := cfg.atLeast(directTimeout)
	opts.ReadTimeout, opts.WriteTimeout, opts.PoolTimeout = longest, longest, longest
	opts.ContextTimeoutEnabled = true
	opts.MaxRetries = -1 // the caller continues without Redis
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	logging.Disable() // the library's own log is process-wide and goes to stderr; the guard logs the same
	log := d.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Client{client: goredis.NewClient(opts), cfg: cfg, log: log.With("redis", opts.Addr)}
	c.up.Store(true)
	c.away = outage.New(c.log, nil, "redis is bypassed: requests continue without the shared cache and with limits for each process", "redis is used again")
	c.noRoom = outage.New(c.log, nil, "redis is out of memory and stores nothing new: raise its maxmemory; requests continue", "redis stores values again")
	if c.metrics, err = newClientMetrics(d.Meter, c); err != nil {
		return nil, errors.Join(fault.Wrap(err, fault.Internal, "redis: make the metrics"), c.client.Close())
	}
	if err := instrument(c.client, d); err != nil {
		return nil, errors.Join(fault.Wrap(err, fault.Internal, "redis: instrument the client"), c.client.Close())
	}
	c.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         "redis",
		Timeout:      cfg.Pause,
		ReadyToTrip:  func(n gobreaker.Counts) bool { return int64(n.ConsecutiveFailures) >= int64(cfg.Failures) },
		IsSuccessful: func(err error) bool { return !isOutage(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, errCallerLeft) },
	})
	c.logServer(ctx)
	return c, nil
}

// instrument adds spans and metrics to the client. Spans name the command and never its
// arguments, which hold values.
func instrument(c *goredis.Client, d Deps) error {
	if d.Tracer != nil {
		if err := redisotel.InstrumentTracing(c, redisotel.WithTracerProvider(d.Tracer),
			redisotel.WithDBStatement(false), redisotel.WithCallerEnabled(false), redisotel.WithDialFilter(true),
			redisotel.WithCommandsFilter(onlySets)); err != nil {
			return err
		}
	}
	if d.Meter == nil {
		return nil
	}
	return redisotel.InstrumentMetrics(c, redisotel.WithMeterProvider(oneMeter{meter: d.Meter}), redisotel.WithPoolName("cache"),
		redisotel.WithSemConvCompliantMetrics(true))
}

// onlySets reports whether a pipeline only stores values. That has no span: it follows each read that
// did not find them, and Config.Timeout bounds it.
func onlySets(commands []goredis.Cmder) bool {
	return !slices.ContainsFunc(commands, func(c goredis.Cmder) bool { return c.Name() != "set" })
}

// Close closes the connections.
func (c *Client) Close() error {
	if c == nil {
		return nil
	}
	return c.client.Close()
}

// Available reports whether Redis is in use now, and not bypassed.
func (c *Client) Available() bool { return c != nil && c.up.Load() }

// Prefix returns what every key and channel begins with.
func (c *Client) Prefix() string { return c.cfg.Prefix }

// errCallerLeft marks failures that are the caller's: it gave up or had too little time.
var errCallerLeft = errors.New("the caller left")

// Do makes one guarded call within Config.Timeout; metrics name it by the operation. It returns
// nil, goredis.Nil, the server's refusal, or an error that says that Redis was bypassed. Failures
// are counted and reported to the breaker already, so callers only continue without Redis.
func (c *Client) Do(ctx context.Context, operation string, fn func(context.Context, *goredis.Client) error) error {
	if c == nil {
		return errBypassed
	}
	return c.within(ctx, c.cfg.Timeout, operation, fn)
}

// Store is Do for a call that stores values, which notices when a full server accepts them again.
func (c *Client) Store(ctx context.Context, fn func(context.Context, *goredis.Client) error) error {
	err := c.Do(ctx, "write", fn)
	if err == nil {
		c.markFull(ctx, false)
	}
	return err
}

// within is Do with a timeout of its own.
func (c *Client) within(ctx context.Context, timeout time.Duration, operation string, fn func(context.Context, *goredis.Client) error) error {
	_, err := c.breaker.Execute(func() (struct{}, error) {
		callCtx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err := fn(callCtx, c.client)
		if err != nil && ctx.Err() != nil {
			err = errors.Join(errCallerLeft, err)
		}
		return struct{}{}, err
	})
	switch {
	case err == nil || errors.Is(err, goredis.Nil):
		c.mark(ctx, true, nil)
		return err
	case errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests):
		c.metrics.bypass(ctx, operation, "open")
		return errBypassed
	case errors.Is(err, errCallerLeft):
		return errBypassed
	case isFull(err):
		c.metrics.bypass(ctx, operation, "full")
		c.markFull(ctx, true)
		return err
	case isOutage(err):
		c.metrics.bypass(ctx, operation, "failed")
		if c.breaker.State() != gobreaker.StateClosed {
			c.mark(ctx, false, err)
		}
		return errors.Join(errBypassed, err)
	default:
		c.metrics.bypass(ctx, operation, "refused")
		c.log.DebugContext(ctx, "redis refused a command", "operation", operation, "error", err)
		return err
	}
}

// mark records whether Redis is used or bypassed, and logs the changes.
func (c *Client) mark(ctx context.Context, up bool, err error) {
	c.up.Store(up)
	if !up {
		c.away.Report(ctx, errors.New(explain(err)))
		return
	}
	c.away.Report(ctx, nil)
}

// markFull records whether Redis refuses writes for lack of memory, and logs the changes.
func (c *Client) markFull(ctx context.Context, full bool) {
	if c == nil {
		return
	}
	c.full.Store(full)
	if full {
		c.noRoom.Report(ctx, errNoRoom)
		return
	}
	c.noRoom.Report(ctx, nil)
}

// outages are the first words of replies that say that the server cannot be used now, or not by this user.
var outages = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "NOAUTH", "WRONGPASS", "NOPERM", "MISCONF",
	"ERR invalid password", "ERR max number of clients",
}

// isOutage reports whether an error is a failure of the server, and not a reply to a command.
func isOutage(err error) bool {
	if err == nil || errors.Is(err, goredis.Nil) {
		return false
	}
	var reply goredis.Error
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

// isFull recognizes the refusal of a server that reached its maxmemory, from a script too.
func isFull(err error) bool {
	var reply goredis.Error
	return errors.As(err, &reply) && (strings.HasPrefix(reply.Error(), "OOM ") || strings.Contains(reply.Error(), "-OOM "))
}
