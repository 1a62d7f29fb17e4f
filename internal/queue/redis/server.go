package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// taskTimeout is when asynq gives a handler up; Drain is back long before, unless one job takes that long.
const taskTimeout = 30 * time.Minute

// Drainer does the jobs of a stage of a collection; *queue.Runner is one.
type Drainer interface {
	// Drain returns when it finds no more jobs or has had its time; more tells that some may be left.
	Drain(ctx context.Context, r memory.Due, s memory.Stage) (more bool)
}

// ServerConfig of a server. Zero fields take the defaults.
type ServerConfig struct {
	URL    string         // as of internal/cache; secret
	Prefix string         // of the queues' names; default "slipbox", the same for relays and servers
	Stages []memory.Stage // that this process serves; default all
	// How many lanes are drained at once; default 4, 4 and 2. As many as the runner has slots is right.
	Prepares, Decides, Tasks int
	Check                    time.Duration // longest time between two looks at an empty queue is about 1.5 times this; default 100 ms
	Grace                    time.Duration // for handlers at a stop; default 5 s
}

func (c *ServerConfig) setDefaults() error {
	if c.Prepares < 0 || c.Decides < 0 || c.Tasks < 0 || c.Check < 0 || c.Grace < 0 {
		return errors.New("settings must not be negative")
	}
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if len(c.Stages) == 0 {
		c.Stages = memory.Stages()
	}
	for _, s := range c.Stages {
		if !slices.Contains(memory.Stages(), s) {
			return fmt.Errorf("no stage is called %q", s)
		}
	}
	for _, f := range []struct {
		at *int
		to int
	}{{&c.Prepares, 4}, {&c.Decides, 4}, {&c.Tasks, 2}} {
		if *f.at == 0 {
			*f.at = f.to
		}
	}
	if c.Check == 0 {
		c.Check = 100 * time.Millisecond
	}
	if c.Grace == 0 {
		c.Grace = 5 * time.Second
	}
	return nil
}

func (c *ServerConfig) lanes(s memory.Stage) int {
	return map[memory.Stage]int{memory.StagePrepare: c.Prepares, memory.StageDecide: c.Decides, memory.StageTask: c.Tasks}[s]
}

// Server takes wake-ups and drains their lanes.
type Server struct {
	cfg     ServerConfig
	log     *slog.Logger
	metrics *metrics
	runner  Drainer
	relay   *Relay
	client  *redis.Client
}

// NewServer makes a server; nothing runs until Run. What a lane leaves is told to the relay, which may be
// nil: then it waits for the runner's own look. Errors are those of NewRelay.
func NewServer(runner Drainer, relay *Relay, cfg ServerConfig, d Deps) (*Server, error) {
	if runner == nil {
		return nil, fault.New(fault.Internal, "queue/redis: a runner is required")
	}
	if err := cfg.setDefaults(); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "queue/redis: settings of the server")
	}
	m, err := newMetrics(d.Meter)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "queue/redis: make the metrics")
	}
	client, err := connect(cfg.URL, time.Second, true)
	if err != nil {
		return nil, err
	}
	return &Server{cfg: cfg, log: d.log(), metrics: m, runner: runner, relay: relay, client: client}, nil
}

// Close lets go of the connections, after Run.
func (s *Server) Close() error { return s.client.Close() }

// Run takes wake-ups until ctx ends. The runner should be stopped by the same ctx:
// its lanes then hand back what they have, so that others go on at once.
func (s *Server) Run(ctx context.Context) error {
	servers := make([]*asynq.Server, 0, len(s.cfg.Stages))
	var starting error
	for _, stage := range s.cfg.Stages {
		srv := asynq.NewServerFromRedisClient(s.client, asynq.Config{
			Concurrency:              s.cfg.lanes(stage),
			Queues:                   map[string]int{queueName(s.cfg.Prefix, stage): 1},
			TaskCheckInterval:        s.cfg.Check,
			DelayedTaskCheckInterval: time.Minute, // none is ever delayed
			JanitorInterval:          time.Minute, // none is ever kept
			ShutdownTimeout:          s.cfg.Grace,
			// The context of a handler is not ctx: asynq would archive what it was at.
			BaseContext: func() context.Context { return context.WithoutCancel(ctx) },
			Logger:      &bridge{log: s.log.With("queue", queueName(s.cfg.Prefix, stage)), clock: time.Now},
			LogLevel:    asynq.WarnLevel,
		})
		if starting = srv.Start(s.handler(stage)); starting != nil {
			break
		}
		servers = append(servers, srv)
	}
	if starting == nil {
		<-ctx.Done()
	}
	var stopping sync.WaitGroup
	for _, srv := range servers {
		stopping.Go(srv.Shutdown)
	}
	stopping.Wait()
	return fault.Wrap(starting, fault.Internal, "queue/redis: start a server")
}

// handler drains the lane of a wake-up. It never fails: nothing that a retry could mend is asynq's.
func (s *Server) handler(stage memory.Stage) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		s.metrics.received(ctx, stage)
		var p payload
		if err := json.Unmarshal(t.Payload(), &p); err != nil || p.Version != payloadVersion {
			s.log.WarnContext(ctx, "a wake-up of another version was dropped; its jobs are found by looking. Are workers and gateways of one build?",
				"stage", stage, "version", p.Version, "error", err)
			return nil
		}
		ref := memory.Due{Tenant: p.Tenant, Collection: p.Collection}
		if s.drain(ctx, ref, stage) && s.relay != nil {
			s.relay.Wake(ctx, ref, stage)
		}
		return nil
	})
}

// drain turns a panic of the runner into an end, as a handler that panics would leave its task behind.
func (s *Server) drain(ctx context.Context, ref memory.Due, stage memory.Stage) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "draining a lane panicked", "collection", ref.Collection, "stage", stage, "panic", fmt.Sprint(p))
		}
	}()
	return s.runner.Drain(ctx, ref, stage)
}

// quiet is how long asynq's troubles are told at debug level after one was told as a warning: while Redis is
// away it has several a second.
const quiet = time.Minute

// bridge gives asynq's log to slog. Its lines are sentences, without attributes.
type bridge struct {
	log   *slog.Logger
	clock func() time.Time
	last  atomic.Int64 // when the last warning was told, in nanoseconds
}

// Debug is left out: it tells of each look at a queue.
func (b *bridge) Debug(...any) {}

// Info is of use to who looks for trouble alone.
func (b *bridge) Info(args ...any) { b.tell(slog.LevelDebug, args) }

// Warn tells of tasks that were not ended properly.
func (b *bridge) Warn(args ...any) { b.trouble(args) }

// Error tells of calls that failed; the workers' looks cover for them.
func (b *bridge) Error(args ...any) { b.trouble(args) }

// Fatal does not end the process.
func (b *bridge) Fatal(args ...any) { b.tell(slog.LevelError, args) }

func (b *bridge) trouble(args []any) {
	now, last := b.clock().UnixNano(), b.last.Load()
	level := slog.LevelDebug
	if (last == 0 || now-last > int64(quiet)) && b.last.CompareAndSwap(last, now) {
		level = slog.LevelWarn
	}
	b.tell(level, args)
}

func (b *bridge) tell(level slog.Level, args []any) {
	b.log.Log(context.Background(), level, "the queue of wake-ups", "says", fmt.Sprint(args...))
}
