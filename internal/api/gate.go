package api

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// gate bounds how many requests of one tenant hold something at once.
type gate struct {
	most int

	mu   sync.Mutex
	held map[uuid.UUID]int
}

func newGate(most int) *gate { return &gate{most: most, held: map[uuid.UUID]int{}} }

// enter takes a place, which leave gives back; RateLimited when there is none.
func (g *gate) enter(tenantID uuid.UUID) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held[tenantID] >= g.most {
		return nil, &fault.Error{
			Code:       fault.RateLimited,
			Message:    "too many requests of the tenant that take long are under way already; ask later, or without waiting",
			RetryAfter: time.Second,
		}
	}
	g.held[tenantID]++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.held[tenantID]--; g.held[tenantID] == 0 {
			delete(g.held, tenantID)
		}
	}), nil
}

// Drain ends what waits for jobs and follows them, so that a stop need not wait
// for it; other requests go on. The HTTP server calls it when it shuts down.
func (s *Server) Drain() { s.drain() }

// untilDrained ends ctx when the server drains, too.
func (s *Server) untilDrained(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
