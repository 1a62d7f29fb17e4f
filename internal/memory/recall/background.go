package recall

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// maxPending is how many pieces of background work wait at most. More are dropped: readers do the
// work themselves.
const maxPending = 64

// background runs work that no caller waits for: one piece per collection at a time, and at most
// maxWorkers in all. After stop it runs nothing.
type background struct {
	maxWorkers int

	mu      sync.Mutex
	stopped bool
	pending map[uuid.UUID]func(context.Context)
	running map[uuid.UUID]context.CancelFunc
	workers int
	wait    sync.WaitGroup
}

func newBackground(most int) *background {
	return &background{
		maxWorkers: most, pending: map[uuid.UUID]func(context.Context){}, running: map[uuid.UUID]context.CancelFunc{},
	}
}

// add schedules work for a collection. It replaces work that waits for the same collection, and runs
// after work that is in progress for it.
func (b *background) add(collection uuid.UUID, work func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, waits := b.pending[collection]; b.stopped || !waits && len(b.pending) >= maxPending {
		return
	}
	b.pending[collection] = work
	if b.workers < b.maxWorkers {
		b.workers++
		b.wait.Go(b.runWorker)
	}
}

// runWorker runs waiting work until there is none.
func (b *background) runWorker() {
	for {
		ctx, collection, work := b.nextWork()
		if work == nil {
			return
		}
		work(ctx)
		b.mu.Lock()
		b.running[collection]()
		delete(b.running, collection)
		b.mu.Unlock()
	}
}

func (b *background) nextWork() (context.Context, uuid.UUID, func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for collection, work := range b.pending {
		if _, runs := b.running[collection]; runs || b.stopped {
			continue // the worker that runs it checks again
		}
		delete(b.pending, collection)
		ctx, cancel := context.WithCancel(context.Background())
		b.running[collection] = cancel
		return ctx, collection, work
	}
	b.workers--
	return nil, uuid.Nil, nil
}

// stop cancels what runs, waits for it to end, and drops what waits.
func (b *background) stop(ctx context.Context) error {
	b.mu.Lock()
	b.stopped = true
	clear(b.pending)
	for _, cancel := range b.running {
		cancel()
	}
	b.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.wait.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fault.Wrap(ctx.Err(), fault.Timeout, "indexes were still loading")
	}
}
