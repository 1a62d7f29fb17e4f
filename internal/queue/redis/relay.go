package redis

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// RelayConfig of a relay. Zero fields take the defaults.
type RelayConfig struct {
	URL     string        // as of internal/cache; secret
	Prefix  string        // of the queues' names; default "slipbox", the same for relays and servers
	Buffer  int           // wake-ups that wait to be sent; default 4096, and what is more is dropped
	Senders int           // at once; default 4
	Timeout time.Duration // of one call of Redis; default 250 ms
	Pause   time.Duration // for which wake-ups are dropped after Redis failed five times in a row; default 1 s
	Flush   time.Duration // for what waits when Run ends; default 500 ms
}

func (c *RelayConfig) setDefaults() error {
	if c.Buffer < 0 || c.Senders < 0 || c.Timeout < 0 || c.Pause < 0 || c.Flush < 0 {
		return errors.New("settings must not be negative")
	}
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if c.Buffer == 0 {
		c.Buffer = 4096
	}
	if c.Senders == 0 {
		c.Senders = 4
	}
	for _, f := range []struct {
		at *time.Duration
		to time.Duration
	}{{&c.Timeout, 250 * time.Millisecond}, {&c.Pause, time.Second}, {&c.Flush, 500 * time.Millisecond}} {
		if *f.at == 0 {
			*f.at = f.to
		}
	}
	return nil
}

// Deps are what the package needs from its surroundings; all may be nil.
type Deps struct {
	Log   *slog.Logger
	Meter metric.Meter
}

func (d Deps) log() *slog.Logger {
	if d.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Log
}

// wakeUp is what a relay sends.
type wakeUp struct {
	ref   memory.Due
	stage memory.Stage
}

// Relay tells workers of work.
type Relay struct {
	cfg     RelayConfig
	log     *slog.Logger
	metrics *metrics
	client  *redis.Client
	inspect *asynq.Inspector
	breaker *gobreaker.CircuitBreaker[fate]
	out     chan wakeUp
	down    atomic.Bool // the breaker opened, which was logged

	mu      sync.Mutex
	waiting map[wakeUp]struct{} // in out, so that each is there once
	tasks   *asynq.Client
}

// NewRelay makes a relay; nothing is sent until Run. A URL that cannot be read is Invalid "redis_url"; a
// server that is away is none.
func NewRelay(cfg RelayConfig, d Deps) (*Relay, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "queue/redis: settings of the relay")
	}
	m, err := newMetrics(d.Meter)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "queue/redis: make the metrics")
	}
	client, err := connect(cfg.URL, cfg.Timeout, false)
	if err != nil {
		return nil, err
	}
	r := &Relay{
		cfg: cfg, log: d.log(), metrics: m, client: client,
		inspect: asynq.NewInspectorFromRedisClient(client), tasks: asynq.NewClientFromRedisClient(client),
		out: make(chan wakeUp, cfg.Buffer), waiting: map[wakeUp]struct{}{},
	}
	r.breaker = gobreaker.NewCircuitBreaker[fate](gobreaker.Settings{
		Name: "wake-ups", Timeout: cfg.Pause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 5 },
	})
	return r, nil
}

// Close lets go of the connections, after Run.
func (r *Relay) Close() error { return r.client.Close() }

// Wake says that a collection has work in a stage. It returns at once; what cannot be sent is dropped
// and counted, and found by the workers' own looks.
func (r *Relay) Wake(ctx context.Context, ref memory.Due, stage memory.Stage) {
	w := wakeUp{ref, stage}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.waiting[w]; ok {
		return // the one that waits is sent after the caller's commit
	}
	select {
	case r.out <- w:
		r.waiting[w] = struct{}{}
	default:
		r.metrics.sent(ctx, stage, dropped)
	}
}

// Run sends what Wake was given until ctx ends, and then for a moment what still waits.
func (r *Relay) Run(ctx context.Context) {
	var senders sync.WaitGroup
	for range r.cfg.Senders {
		senders.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case w := <-r.out:
					r.send(ctx, w)
				}
			}
		})
	}
	senders.Wait()
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Flush)
	defer cancel()
	for flush.Err() == nil {
		select {
		case w := <-r.out:
			r.send(flush, w)
		default:
			return
		}
	}
}

// fate is what became of a wake-up.
type fate string

const (
	sent    fate = "sent"
	merged  fate = "merged"  // one like it waits already
	dropped fate = "dropped" // too many wait, or Redis is away
)

func (r *Relay) send(ctx context.Context, w wakeUp) {
	r.mu.Lock()
	delete(r.waiting, w) // before it is sent: what is committed from now on is news
	r.mu.Unlock()
	f, err := r.breaker.Execute(func() (fate, error) { return r.enqueue(context.WithoutCancel(ctx), w) })
	switch {
	case err == nil:
		if r.down.Swap(false) {
			r.log.InfoContext(ctx, "workers are woken through redis again")
		}
	case r.breaker.State() != gobreaker.StateClosed && !r.down.Swap(true):
		r.log.WarnContext(ctx, "workers cannot be woken through redis: they find jobs by looking, some seconds later", "error", err)
		f = dropped
	default:
		f = dropped
	}
	r.metrics.sent(ctx, w.stage, f)
}

// enqueue puts a task in the stage's queue, unless one like it waits there. A collection has two
// ids: a task that is being done may have had its last look already, so that another one
// goes behind it.
func (r *Relay) enqueue(ctx context.Context, w wakeUp) (fate, error) {
	body, err := encode(w.ref)
	if err != nil {
		return dropped, err
	}
	name := queueName(r.cfg.Prefix, w.stage)
	id := w.ref.Collection.String()
	for _, id := range []string{id, id + "+"} {
		// One that is dead is removed, and the queue may have to be announced; then it is tried again.
		for range 3 {
			err := r.put(ctx, name, id, body)
			if err == nil {
				return sent, nil
			}
			if !errors.Is(err, asynq.ErrTaskIDConflict) && !errors.Is(err, asynq.ErrDuplicateTask) {
				return dropped, err
			}
			info, err := r.inspect.GetTaskInfo(name, id)
			switch {
			case errors.Is(err, asynq.ErrTaskNotFound):
				continue // it has just ended
			case errors.Is(err, asynq.ErrQueueNotFound):
				r.announce() // Redis was emptied, and asynq believes that it has told the queue's name
				continue
			case err != nil:
				return dropped, err
			}
			if info.State == asynq.TaskStateActive {
				break
			}
			if info.State != asynq.TaskStateArchived && info.State != asynq.TaskStateCompleted {
				return merged, nil
			}
			// Its worker died, or the handler was ended by force.
			if err := r.inspect.DeleteTask(name, id); err != nil && !errors.Is(err, asynq.ErrTaskNotFound) {
				return dropped, err
			}
		}
	}
	return merged, nil
}

func (r *Relay) put(ctx context.Context, name, id string, body []byte) error {
	r.mu.Lock()
	tasks := r.tasks
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	_, err := tasks.EnqueueContext(ctx, asynq.NewTask(taskType, body), asynq.Queue(name), asynq.TaskID(id), asynq.MaxRetry(0), asynq.Timeout(taskTimeout))
	return err
}

// announce makes asynq tell the names of queues anew.
func (r *Relay) announce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks = asynq.NewClientFromRedisClient(r.client)
}
