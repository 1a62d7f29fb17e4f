package cache

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// News says that something happened in a collection. It is a hint: it may be lost, doubled or late,
// and whoever hears it looks at the store.
type News struct {
	Tenant     uuid.UUID `json:"t"`
	Collection uuid.UUID `json:"c"`
	Revision   int64     `json:"r,omitempty"` // of the head; 0: not about a revision
	Job        uuid.UUID `json:"j,omitzero"`  // whose state moved; zero: not about a job
}

// Bus carries news between the processes of an installation, the sender's own included.
type Bus struct {
	redis   *Redis
	log     *slog.Logger
	channel string
	out     chan News
}

// How much news waits at most, and how much goes in one round trip.
const (
	newsBuffer = 1024
	newsBatch  = 128
)

// NewBus makes a bus; with a nil Redis it carries nothing.
func NewBus(r *Redis, d Deps) *Bus {
	b := &Bus{redis: r, log: d.log(), out: make(chan News, newsBuffer)}
	if r != nil {
		b.channel = r.cfg.Prefix + ":news"
	}
	return b
}

// Publish hands news on and returns at once. They are dropped, and counted, when too many wait.
func (b *Bus) Publish(ctx context.Context, n News) {
	if b.redis == nil {
		return
	}
	select {
	case b.out <- n:
	default:
		b.redis.metrics.bypass(ctx, "publish", "behind")
	}
}

// Run sends what Publish was given until ctx ends. What waits while Redis is away is dropped.
func (b *Bus) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-b.out:
			b.send(ctx, n)
		}
	}
}

// send sends one piece of news and what else waits, in one round trip.
func (b *Bus) send(ctx context.Context, first News) {
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
	//nolint:errcheck // lost news are what listeners expect, and the guard counts them
	b.redis.do(ctx, "publish", func(ctx context.Context, c *redis.Client) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
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

// A subscription that was silent for listenSilence is asked whether it lives, and made
// anew when it does not answer; a new one is tried after listenPause.
const (
	listenSilence = 5 * time.Second
	listenPause   = 250 * time.Millisecond
)

// Listen calls fn with each piece of news, one at a time, until ctx ends. It connects
// again by itself; what is published meanwhile is missed. fn should return fast.
func (b *Bus) Listen(ctx context.Context, fn func(News)) {
	if b.redis == nil {
		<-ctx.Done()
		return
	}
	for ctx.Err() == nil {
		b.listen(ctx, fn)
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// listen is one subscription, until it breaks.
func (b *Bus) listen(ctx context.Context, fn func(News)) {
	sub := b.redis.client.Subscribe(ctx, b.channel)
	stop := context.AfterFunc(ctx, func() { sub.Close() }) //nolint:errcheck // which ends the reading below
	defer func() {
		if stop() {
			sub.Close() //nolint:errcheck // it is over
		}
	}()
	for asked := false; ; {
		m, err := sub.ReceiveTimeout(ctx, listenSilence)
		var late net.Error
		switch {
		case err == nil:
			asked = false
		case ctx.Err() == nil && !asked && errors.As(err, &late) && late.Timeout():
			asked = true
			if sub.Ping(ctx) == nil {
				continue
			}
			return
		default:
			return
		}
		if m, ok := m.(*redis.Message); ok {
			var n News
			if err := json.Unmarshal([]byte(m.Payload), &n); err != nil {
				b.log.DebugContext(ctx, "news that cannot be read", "error", err)
				continue
			}
			fn(n)
		}
	}
}
