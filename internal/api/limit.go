package api

import (
	"context"
	"math"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Limiter counts the requests of tenants, in this process (*tenant.Limiter) or across all gateways.
type Limiter interface {
	// Allow counts one request of a tenant that may make limit in the limiter's window; 0 is unlimited.
	Allow(ctx context.Context, tenantID uuid.UUID, limit int64) tenant.Rate
}

// limit refuses requests over a tenant's limits. It reports the remaining requests of the minute in every
// answer to a tenant with a limit per minute, and those of the second in refusals only. Platform keys are not
// limited. Requests without a valid credential are not counted, since they have no tenant.
func (s *Server) limit(c *gin.Context) error {
	p := principal(c)
	if p.Scope.IsZero() {
		return nil
	}
	if _, ok := calledByTool(c); ok {
		return nil // the call of the tool was counted
	}
	ctx, id, l := c.Request.Context(), p.Scope.Tenant(), p.Tenant.Limits.Or(s.limits)
	if s.perSecond != nil {
		// First, since it asks nobody else.
		if rate := s.perSecond.Allow(ctx, id, l.RequestsPerSecond); rate.RetryAfter > 0 {
			setRate(c, rate)
			return rate.Err()
		}
	}
	if s.limiter == nil {
		return nil
	}
	rate := s.limiter.Allow(ctx, id, l.RequestsPerMinute)
	if rate.Limit == 0 {
		return nil
	}
	setRate(c, rate)
	return rate.Err()
}

// takeTurn waits until the request of a tenant may be worked on. A flood waits here, where a request costs
// nothing, and not in the queues that the requests of all tenants share: for the CPUs, the store and its
// connections.
func (s *Server) takeTurn(c *gin.Context, op *operation) error {
	p := principal(c)
	if p.Scope.IsZero() || op.stream {
		return nil
	}
	leave, err := s.turns.Enter(c.Request.Context(), p.Scope.Tenant(), fair.Foreground)
	if err != nil {
		return err
	}
	c.Set(keyTurn, sync.OnceFunc(leave))
	return nil
}

// endTurn ends the turn of a request that is done, or that waits for something else than this process from
// now on: a job, a model, a revision.
func endTurn(c *gin.Context) {
	if end, ok := c.Get(keyTurn); ok {
		end.(func())() //nolint:errcheck,forcetypeassert // takeTurn stores nothing else
	}
}

func setRate(c *gin.Context, rate tenant.Rate) {
	prefixes := []string{""}
	if c.GetString(keyErrors) == errorsMem0 {
		prefixes = append(prefixes, "X-") // what its clients read
	}
	for _, prefix := range prefixes {
		c.Header(prefix+"RateLimit-Limit", strconv.FormatInt(rate.Limit, 10))
		c.Header(prefix+"RateLimit-Remaining", strconv.FormatInt(rate.Remaining, 10))
		c.Header(prefix+"RateLimit-Reset", strconv.FormatInt(int64(math.Ceil(rate.Reset.Seconds())), 10))
	}
}
