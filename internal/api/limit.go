package api

import (
	"context"
	"math"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Limiter counts requests of tenants, in this process (*tenant.Limiter) or over all gateways.
type Limiter interface {
	// Allow counts one request of a tenant limited to perMinute; 0 means no limit.
	Allow(ctx context.Context, tenantID uuid.UUID, perMinute int64) tenant.Rate
}

// limit refuses a tenant's request over its limit, and says in every answer of
// a limited tenant where it stands. Platform keys are not limited, nor is
// anything before a credential held: there is no tenant to count it for.
func (s *Server) limit(c *gin.Context) error {
	p := principal(c)
	if s.limiter == nil || p.Scope.IsZero() {
		return nil
	}
	rate := s.limiter.Allow(c.Request.Context(), p.Scope.Tenant(), s.perMinute(p.Tenant.Limits))
	if rate.Limit == 0 {
		return nil
	}
	c.Header("RateLimit-Limit", strconv.FormatInt(rate.Limit, 10))
	c.Header("RateLimit-Remaining", strconv.FormatInt(rate.Remaining, 10))
	c.Header("RateLimit-Reset", strconv.FormatInt(int64(math.Ceil(rate.Reset.Seconds())), 10))
	return rate.Err()
}

// perMinute is the limit that holds for a tenant: its own, else the gateway's.
func (s *Server) perMinute(l tenant.Limits) int64 {
	if l.RequestsPerMinute > 0 {
		return l.RequestsPerMinute
	}
	return s.requestsPerMinute
}
