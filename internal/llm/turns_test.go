package llm

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// Tenants take turns at an endpoint, and what a caller waits for goes before jobs.
func TestTurnsAtAnEndpoint(t *testing.T) {
	t.Parallel()
	e := newEndpoint(Deps{}, Config{MaxConcurrent: 1, MaxTries: 1}, labelModel, "http://127.0.0.1:1", "", "")
	flood, other := uuid.New(), uuid.New()
	caller := func(id uuid.UUID) tenant.Scope { return grant.Scope(id, uuid.Nil, "test") }
	held, goOn := make(chan struct{}), make(chan struct{})
	var order []string // one request at a time
	var requests sync.WaitGroup
	send := func(s tenant.Scope, do func()) {
		requests.Go(func() {
			if _, err := e.run(context.Background(), s, func(context.Context, *recorder) error { do(); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	queue := func(s tenant.Scope, name string) {
		before := e.slots.Waiting(s.Tenant())
		send(s, func() { order = append(order, name) })
		for e.slots.Waiting(s.Tenant()) == before {
			runtime.Gosched()
		}
	}
	send(caller(flood), func() { close(held); <-goOn })
	<-held
	queue(grant.Job(flood, uuid.New()), "job")
	for range 3 {
		queue(caller(flood), "flood")
	}
	queue(caller(other), "other")
	close(goOn)
	requests.Wait()
	if want := []string{"other", "flood", "flood", "flood", "job"}; !slices.Equal(order, want) {
		t.Errorf("asked in order %q, want %q", order, want)
	}
}
