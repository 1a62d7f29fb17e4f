package redis

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// News says that something happened in a collection. It is a hint: it may be lost, duplicated or
// late, and its receivers read the store. Only a Delta is stored nowhere: the step is stored when it is whole.
type News struct {
	Tenant     uuid.UUID `json:"t"`
	Collection uuid.UUID `json:"c"`
	Revision   int64     `json:"r,omitempty"` // of the head; 0: not about a revision
	Job        uuid.UUID `json:"j,omitzero"`  // whose state changed; zero: not about a job
	Unended    bool      `json:"u,omitempty"` // the job has not ended; false: it may have
	Gone       bool      `json:"g,omitempty"` // the collection, or the tenant if that is zero, was deleted or has lost notes

	Delta *memory.RunDelta `json:"h,omitempty"` // of a step that is generated now; nil: not about one
}

// Bus broadcasts news to all processes of an installation, the sender included.
type Bus struct {
	client  *Client
	log     *slog.Logger
	channel string
	out     chan News

	listening atomic.Bool
}

// Limits of news that wait to be sent, and of news in one round trip.
const (
	newsBuffer = 1024
	newsBatch  = 128
)

// NewBus returns a bus. With a nil Client it carries nothing.
func NewBus(c *Client) *Bus {
	b := &Bus{client: c, out: make(chan News, newsBuffer)}
	if c != nil {
		b.log, b.channel = c.log, c.cfg.Prefix+":news"
	}
	return b
}

// Publish queues news and returns immediately. News are dropped, and counted, when too many wait.
func (b *Bus) Publish(ctx context.Context, n News) {
	if b.client == nil {
		return
	}
	select {
	case b.out <- n:
	default:
		b.client.metrics.bypass(ctx, "publish", "behind")
	}
}

// Run sends published news until ctx ends. News that wait while Redis is away are dropped.
func (b *Bus) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-b.out:
			b.Send(ctx, n)
		}
	}
}

// Send sends one news and those that wait behind it, in one round trip.
func (b *Bus) Send(ctx context.Context, first News) {
	batch := []News{first}
	for len(batch) < newsBatch {
		select {
		case n := <-b.out:
			batch = append(batch, n)
			continue
		default:
		}
		break
	}
	//nolint:errcheck // listeners expect lost news, and the guard counts them
	b.client.Do(ctx, "publish", func(ctx context.Context, r *goredis.Client) error {
		_, err := r.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for _, n := range batch {
				text, err := json.Marshal(n)
				if err != nil {
					return err
				}
				p.Publish(ctx, b.channel, text)
			}
			return nil
		})
		return err
	})
}

// A subscription that was silent for listenSilence is pinged, and replaced when it does not
// answer. The next attempt to subscribe comes after listenPause.
const (
	listenSilence = 5 * time.Second
	listenPause   = 250 * time.Millisecond
)

// Listen calls fn with each news, one at a time, until ctx ends. It reconnects by itself; what is
// published meanwhile is missed. fn should return fast.
func (b *Bus) Listen(ctx context.Context, fn func(News)) {
	if b.client == nil {
		<-ctx.Done()
		return
	}
	for ctx.Err() == nil {
		b.subscribe(ctx, fn)
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// Listening reports whether Listen receives what is published now, as far as this process knows. A
// connection that breaks silently is noticed after twice listenSilence.
func (b *Bus) Listening() bool { return b.listening.Load() }

// subscribe is one subscription, until it breaks.
func (b *Bus) subscribe(ctx context.Context, fn func(News)) {
	sub := b.client.client.Subscribe(ctx, b.channel)
	stop := context.AfterFunc(ctx, func() { sub.Close() }) //nolint:errcheck // which ends the reading below
	defer func() {
		b.listening.Store(false)
		if stop() {
			sub.Close() //nolint:errcheck // it is over
		}
	}()
	for pinged := false; ; {
		m, err := sub.ReceiveTimeout(ctx, listenSilence)
		var late net.Error
		switch {
		case err == nil:
			pinged = false
		case ctx.Err() == nil && !pinged && errors.As(err, &late) && late.Timeout():
			pinged = true
			if sub.Ping(ctx) == nil {
				continue
			}
			return
		default:
			return
		}
		switch m := m.(type) {
		case *goredis.Subscription:
			b.listening.Store(true)
		case *goredis.Message:
			var n News
			if err := json.Unmarshal([]byte(m.Payload), &n); err != nil {
				b.log.DebugContext(ctx, "news cannot be decoded", "error", err)
				continue
			}
			fn(n)
		}
	}
}
