package api

import (
	"context"
	"math"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Limiter counts the requests of tenants, in this process (*tenant.Limiter) or across all gateways.
type Limiter interface {
	// Allow counts one request of a tenant that may make perMinute; 0 is unlimited.
	Allow(ctx context.Context, tenantID uuid.UUID, perMinute int64) tenant.Rate
}

// limit refuses requests over a tenant's limit, and reports the remaining requests in every answer
// to a limited tenant. Platform keys are not limited. Requests without a valid credential are not
// counted, since they have no tenant.
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

// perMinute returns the limit of a tenant: its own, or else the gateway's.
func (s *Server) perMinute(l tenant.Limits) int64 {
	if l.RequestsPerMinute > 0 {
		return l.RequestsPerMinute
	}
	return s.requestsPerMinute
}
