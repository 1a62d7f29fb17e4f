package api

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// gate limits how many requests of one tenant hold something concurrently.
type gate struct {
	most int

	mu   sync.Mutex
	held map[uuid.UUID]int
}

func newGate(most int) *gate { return &gate{most: most, held: map[uuid.UUID]int{}} }

// enterIf is enter for a request that waits only if its caller asks for it.
func (g *gate) enterIf(wait bool, tenantID uuid.UUID) (leave func(), err error) {
	if !wait {
		return func() {}, nil
	}
	return g.enter(tenantID)
}

// enter takes a place and returns the function that frees it. RateLimited if no place is free.
func (g *gate) enter(tenantID uuid.UUID) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held[tenantID] >= g.most {
		return nil, &fault.Error{
			Code:       fault.RateLimited,
			Message:    "the tenant has too many long requests in progress; try again later, or without waiting",
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

// Drain ends requests that wait for jobs or follow them, so that a shutdown does not wait for them.
// Other requests continue. The HTTP server calls it at shutdown.
func (s *Server) Drain() { s.drain() }

// untilDrained returns a context that also ends when the server drains.
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
