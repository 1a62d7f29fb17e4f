package cache

import (
	"context"
	"math"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Limiter holds tenants to their requests per minute over all gateways that
// share a Redis. While Redis is passed by, each gateway counts for itself.
type Limiter struct {
	redis *Redis
	local *tenant.Limiter
}

// NewLimiter makes a Limiter. With a nil Redis the local one always answers.
func NewLimiter(r *Redis, local *tenant.Limiter) *Limiter {
	return &Limiter{redis: r, local: local}
}

// Allow counts one request, as [tenant.Limiter.Allow] does and with the same numbers;
// Redis' clock counts. Remaining may be one less than could be sent, as Redis calculates in floating point.
func (l *Limiter) Allow(ctx context.Context, tenantID uuid.UUID, perMinute int64) tenant.Rate {
	if perMinute <= 0 {
		return tenant.Rate{}
	}
	var res *redis_rate.Result
	err := l.redis.do(ctx, "limit", func(ctx context.Context, c *redis.Client) error {
		var err error
		// The limiter puts "rate:" in front of the key.
		res, err = redis_rate.NewLimiter(c).Allow(ctx, l.redis.cfg.Prefix+":"+tenantID.String(), redis_rate.PerMinute(int(min(perMinute, math.MaxInt32))))
		return err
	})
	if err != nil {
		return l.local.Allow(ctx, tenantID, perMinute)
	}
	r := tenant.Rate{Limit: perMinute, Window: time.Minute, Remaining: int64(max(0, res.Remaining)), Reset: min(max(0, res.ResetAfter), time.Minute)}
	if res.Allowed == 0 {
		r.RetryAfter = min(max(1, res.RetryAfter), time.Minute)
	}
	return r
}
