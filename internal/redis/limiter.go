package redis

import (
	"context"
	"math"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Limiter limits a tenant's requests per minute over all gateways that share a Redis. While Redis
// is bypassed, each gateway counts for itself.
type Limiter struct {
	client *Client
	local  *tenant.Limiter
}

// NewLimiter returns a Limiter. With a nil Client it always asks the local one.
func NewLimiter(c *Client, local *tenant.Limiter) *Limiter {
	return &Limiter{client: c, local: local}
}

// Allow counts one request, as [tenant.Limiter.Allow] does and with the same numbers, by the clock
// of Redis. Remaining may be one less than could be sent, as Redis calculates in floating point.
func (l *Limiter) Allow(ctx context.Context, tenantID uuid.UUID, perMinute int64) tenant.Rate {
	if perMinute <= 0 {
		return tenant.Rate{}
	}
	var res *redis_rate.Result
	err := l.client.Do(ctx, "limit", func(ctx context.Context, r *goredis.Client) error {
		var err error
		// redis_rate puts "rate:" in front of the key.
		key := l.client.Prefix() + ":" + tenantID.String()
		res, err = redis_rate.NewLimiter(r).Allow(ctx, key, redis_rate.PerMinute(int(min(perMinute, math.MaxInt32))))
		return err
	})
	if err != nil {
		return l.local.Allow(ctx, tenantID, perMinute)
	}
	r := tenant.Rate{
		Limit: perMinute, Window: time.Minute, Remaining: int64(max(0, res.Remaining)),
		Reset: min(max(0, res.ResetAfter), time.Minute),
	}
	if res.Allowed == 0 {
		r.RetryAfter = min(max(1, res.RetryAfter), time.Minute)
	}
	return r
}
