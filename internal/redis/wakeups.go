package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outage"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Timing and limits of wake-ups.
const (
	wakeBuffer  = 4096                   // wake-ups that wait to be sent; further ones are dropped
	wakeBatch   = 128                    // wake-ups in one round trip
	wakeTimeout = 250 * time.Millisecond // of one round trip, unless Config.Timeout is longer
	wakeFlush   = 500 * time.Millisecond // for wake-ups that still wait when Run ends
	wakeBlock   = time.Second            // longest wait of one take, besides the time for the answer; a stop waits for it
	wakeRetry   = 500 * time.Millisecond // after a take that failed

	presenceEvery = 5 * time.Second
	presenceTTL   = 15 * time.Second
)

// Wakeups notify the workers of an installation that a collection has jobs in a stage. A wake-up
// carries the tenant and the collection; exactly one worker takes it and drains that lane. The
// jobs are in the store, whose leases keep order and exclusiveness, so a wake-up may be lost,
// duplicated or late: workers also poll the store.
//
// Each stage has a sorted set of the tenants whose lanes wait, and each of these tenants one of its lanes. The score
// of a tenant is the time in ms of its last turn, or since when it waits; that of a lane, since when it waits. The
// tenant with the lowest score has the next turn: its lane that waits longest is taken, and the tenant goes behind
// the others. Adding a lane that waits already changes nothing. A lane that is added while a worker drains it waits
// for its next drain.
type Wakeups struct {
	client  *Client
	metrics *wakeMetrics
	id      string      // of this process among the workers
	taking  *outage.Log // of take

	out     chan wakeUp
	mu      sync.Mutex
	waiting map[wakeUp]struct{} // those in out
}

// wakeUp names a lane.
type wakeUp struct {
	due   memory.Due
	stage memory.Stage
}

// Drainer does the jobs of a stage of a collection; *worker.Worker is one.
type Drainer interface {
	// Drain returns when it finds no more jobs or after some time. more reports that some may be left.
	Drain(ctx context.Context, c memory.Due, s memory.Stage) (more bool)
}

// NewWakeups returns wake-ups over a client. Nothing is sent until Run, and nothing taken until Serve.
func NewWakeups(c *Client, m metric.Meter) (*Wakeups, error) {
	if c == nil {
		return nil, fault.New(fault.Internal, "redis: wake-ups need a client")
	}
	metrics, err := newWakeMetrics(m)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "redis: make the metrics of wake-ups")
	}
	return &Wakeups{
		client: c, metrics: metrics, id: uuid.NewString(),
		taking: outage.New(c.log, nil, "wake-ups cannot be taken from redis: jobs are found by polling, some seconds later", "wake-ups are taken from redis again"),
		out:    make(chan wakeUp, wakeBuffer), waiting: map[wakeUp]struct{}{},
	}, nil
}

// wakeKey returns the key of the tenants whose lanes wait in a stage. A new form of its members gets a new number.
func (c *Client) wakeKey(s memory.Stage) string { return c.cfg.Prefix + ":wake:v2:" + string(s) }

// lanesKey returns the key of the lanes of a tenant that wait in a stage, by collection.
func (c *Client) lanesKey(s memory.Stage, tenant uuid.UUID) string {
	return c.wakeKey(s) + ":" + tenant.String()
}

// workersKey returns the key of the processes that serve a stage: a sorted set by expiry time in ms.
func (c *Client) workersKey(s memory.Stage) string { return c.cfg.Prefix + ":workers:" + string(s) }

// Send queues a wake-up and returns immediately. It is called after the commit that enqueued jobs. A
// wake-up that cannot be sent is dropped and counted; workers find its jobs by polling.
func (w *Wakeups) Send(ctx context.Context, d memory.Due, s memory.Stage) {
	u := wakeUp{d, s}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.waiting[u]; ok {
		return // the one that waits is sent after the caller's commit
	}
	select {
	case w.out <- u:
		w.waiting[u] = struct{}{}
	default:
		w.metrics.sent(ctx, s, dropped, 1)
	}
}

// Run sends queued wake-ups until ctx ends, and then for a moment those that still wait.
func (w *Wakeups) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case u := <-w.out:
			w.send(ctx, u)
		}
	}
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), wakeFlush)
	defer cancel()
	for flush.Err() == nil {
		select {
		case u := <-w.out:
			w.send(flush, u)
		default:
			return
		}
	}
}

// send sends one wake-up and those that wait behind it, in one round trip.
func (w *Wakeups) send(ctx context.Context, first wakeUp) {
	type group struct {
		stage  memory.Stage
		tenant uuid.UUID
	}
	batch := map[group][]goredis.Z{}
	now := float64(time.Now().UnixMilli())
	for _, u := range w.takeQueued(first) {
		g := group{u.stage, u.due.Tenant}
		batch[g] = append(batch[g], goredis.Z{Score: now, Member: u.due.Collection.String()})
	}
	added := map[group]*goredis.IntCmd{}
	// A caller's end is not a reason to lose what it committed.
	err := w.client.within(context.WithoutCancel(ctx), w.client.cfg.atLeast(wakeTimeout), "wake", func(ctx context.Context, r *goredis.Client) error {
		_, err := r.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for g, lanes := range batch {
				added[g] = p.ZAddNX(ctx, w.client.lanesKey(g.stage, g.tenant), lanes...)
				p.ZAddNX(ctx, w.client.wakeKey(g.stage), goredis.Z{Score: now, Member: g.tenant.String()})
			}
			return nil
		})
		return err
	})
	for g, lanes := range batch {
		if err != nil {
			w.metrics.sent(ctx, g.stage, dropped, len(lanes))
			continue
		}
		n := int(added[g].Val())
		w.metrics.sent(ctx, g.stage, sent, n)
		w.metrics.sent(ctx, g.stage, merged, len(lanes)-n)
	}
}

// takeQueued returns first and what waits behind it, at most a batch. From now on a commit in one
// of these lanes queues a wake-up again.
func (w *Wakeups) takeQueued(first wakeUp) []wakeUp {
	batch := []wakeUp{first}
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(batch) < wakeBatch && len(w.out) > 0 {
		batch = append(batch, <-w.out)
	}
	for _, u := range batch {
		delete(w.waiting, u)
	}
	return batch
}

// Serve takes wake-ups and drains their lanes until ctx ends. lanes are how many lanes of each
// stage are drained concurrently: as many as the runner has slots. Stages without an entry are not
// served. The same ctx should stop the runner, whose lanes then end immediately; what they leave is
// sent again, for another worker.
func (w *Wakeups) Serve(ctx context.Context, runner Drainer, lanes map[memory.Stage]int) {
	var loops sync.WaitGroup
	for s, n := range lanes {
		loops.Go(func() { w.serveStage(ctx, runner, s, n) })
	}
	loops.Go(func() { w.announce(ctx, lanes) })
	loops.Wait()
}

func (w *Wakeups) serveStage(ctx context.Context, runner Drainer, s memory.Stage, lanes int) {
	slots := make(chan struct{}, max(1, lanes))
	var draining sync.WaitGroup
	defer draining.Wait()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case slots <- struct{}{}:
		}
		d, ok := w.take(ctx, s)
		if !ok {
			<-slots
			continue
		}
		if ctx.Err() != nil {
			w.Send(ctx, d, s) // another worker does it
			return
		}
		w.metrics.received(ctx, s)
		draining.Go(func() {
			defer func() { <-slots }()
			if w.drain(ctx, runner, d, s) {
				w.Send(ctx, d, s)
			}
		})
	}
}

// take waits for a wake-up of a stage for at most wakeBlock. ok is false when there is none.
func (w *Wakeups) take(ctx context.Context, s memory.Stage) (d memory.Due, ok bool) {
	// Not bounded by ctx: a wake-up that Redis hands out must not get lost on the way. Not guarded:
	// a blocked call says nothing about the health of Redis, and no request waits for it.
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), wakeBlock+w.client.cfg.atLeast(directTimeout))
	defer cancel()
	z, err := w.client.client.BZPopMin(limit, wakeBlock, w.client.wakeKey(s)).Result()
	if err == nil {
		text, _ := z.Member.(string)
		d, ok, err = w.takeLane(limit, s, text)
	}
	if err != nil && err != goredis.Nil { //nolint:errorlint // the library returns it unwrapped
		w.taking.Report(ctx, errors.New(explain(err)))
		select {
		case <-ctx.Done():
		case <-time.After(wakeRetry):
		}
		return d, false
	}
	w.taking.Report(ctx, nil)
	return d, ok
}

// takeLane takes the lane of a tenant that waits longest, and lets the tenant wait for its next turn when it has
// more. When this fails in between, the lanes wait for the next wake-up of the tenant, or a poll.
func (w *Wakeups) takeLane(ctx context.Context, s memory.Stage, tenantText string) (d memory.Due, ok bool, err error) {
	tenantID, err := uuid.Parse(tenantText)
	if err != nil {
		w.client.log.WarnContext(ctx, "a wake-up cannot be decoded; its jobs are found by polling", "stage", s, "error", err)
		return d, false, nil
	}
	key := w.client.lanesKey(s, tenantID)
	var taken *goredis.ZSliceCmd
	var left *goredis.IntCmd
	if _, err = w.client.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		taken = p.ZPopMin(ctx, key, 1)
		left = p.ZCard(ctx, key)
		return nil
	}); err != nil {
		return d, false, err
	}
	if left.Val() > 0 {
		err = w.client.client.ZAddNX(ctx, w.client.wakeKey(s), goredis.Z{Score: float64(time.Now().UnixMilli()), Member: tenantText}).Err()
	}
	if len(taken.Val()) == 0 {
		return d, false, err // another worker had it
	}
	text, _ := taken.Val()[0].Member.(string)
	collection, parsed := uuid.Parse(text)
	if parsed != nil {
		w.client.log.WarnContext(ctx, "a wake-up cannot be decoded; its jobs are found by polling", "stage", s, "error", parsed)
		return d, false, err
	}
	if err != nil {
		w.client.log.WarnContext(ctx, "further wake-ups of a tenant wait for its next one; their jobs are found by polling", "stage", s, "error", explain(err))
	}
	return memory.Due{Tenant: tenantID, Collection: collection}, true, nil
}

// drain turns a panic of the runner into a return, so that it costs one wake-up and not the process.
func (w *Wakeups) drain(ctx context.Context, runner Drainer, d memory.Due, s memory.Stage) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			w.client.log.ErrorContext(ctx, "draining a lane panicked", "collection", d.Collection, "stage", s, "panic", fmt.Sprint(p))
		}
	}()
	return runner.Drain(context.WithoutCancel(ctx), d, s)
}

// announce records for WakeStates that this process serves the stages, until ctx ends.
func (w *Wakeups) announce(ctx context.Context, lanes map[memory.Stage]int) {
	every := time.NewTicker(presenceEvery)
	defer every.Stop()
	for ctx.Err() == nil {
		//nolint:errcheck // only an operator's report misses it; the next one comes soon
		w.client.Direct(ctx, func(ctx context.Context, r *goredis.Client) error {
			now, err := r.Time(ctx).Result()
			if err != nil {
				return err
			}
			_, err = r.Pipelined(ctx, func(p goredis.Pipeliner) error {
				for s := range lanes {
					p.ZAdd(ctx, w.client.workersKey(s), goredis.Z{Score: float64(now.Add(presenceTTL).UnixMilli()), Member: w.id})
					p.ZRemRangeByScore(ctx, w.client.workersKey(s), "-inf", fmt.Sprint(now.UnixMilli()))
					p.Expire(ctx, w.client.workersKey(s), time.Hour)
				}
				return nil
			})
			return err
		})
		select {
		case <-ctx.Done():
		case <-every.C:
		}
	}
	//nolint:errcheck // else it expires
	w.client.Direct(context.WithoutCancel(ctx), func(ctx context.Context, r *goredis.Client) error {
		_, err := r.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for s := range lanes {
				p.ZRem(ctx, w.client.workersKey(s), w.id)
			}
			return nil
		})
		return err
	})
}

// WakeState is the state of a stage's wake-ups.
type WakeState struct {
	Stage   memory.Stage
	Waiting int64 // tenants with lanes that no worker has taken
	Workers int64 // processes that serve the stage
}

// String describes the state in a few words.
func (s WakeState) String() string {
	return fmt.Sprintf("%s: %s waiting, %s", s.Stage, wording.Count(s.Waiting, "tenant", "tenants"), wording.Count(s.Workers, "worker", "workers"))
}

// WakeStates returns the state of each stage, asked past the guard. It is Unavailable when Redis
// does not answer.
func (c *Client) WakeStates(ctx context.Context) ([]WakeState, error) {
	stages := memory.Stages()
	waiting, workers := make([]*goredis.IntCmd, len(stages)), make([]*goredis.IntCmd, len(stages))
	err := c.Direct(ctx, func(ctx context.Context, r *goredis.Client) error {
		now, err := r.Time(ctx).Result()
		if err != nil {
			return err
		}
		_, err = r.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i, s := range stages {
				waiting[i] = p.ZCard(ctx, c.wakeKey(s))
				workers[i] = p.ZCount(ctx, c.workersKey(s), fmt.Sprint(now.UnixMilli()), "+inf")
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]WakeState, len(stages))
	for i, s := range stages {
		out[i] = WakeState{Stage: s, Waiting: waiting[i].Val(), Workers: workers[i].Val()}
	}
	return out, nil
}
