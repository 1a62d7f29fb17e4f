package recall

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// maxPending is how many pieces of background work wait at once. What does not
// find a place is left out: readers do without it.
const maxPending = 64

// background does work that nobody waits for, one piece per collection at a
// time and a few in all. It ends with stop, for good.
type background struct {
	most int

	mu      sync.Mutex
	stopped bool
	pending map[uuid.UUID]func(context.Context)
	running map[uuid.UUID]context.CancelFunc
	workers int
	all     sync.WaitGroup
}

func newBackground(most int) *background {
	return &background{
		most: most, pending: map[uuid.UUID]func(context.Context){}, running: map[uuid.UUID]context.CancelFunc{},
	}
}

// add has work done for a collection. It takes the place of what waits for the
// same one, and comes after what runs for it.
func (b *background) add(collection uuid.UUID, work func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, waits := b.pending[collection]; b.stopped || !waits && len(b.pending) >= maxPending {
		return
	}
	b.pending[collection] = work
	if b.workers < b.most {
		b.workers++
		b.all.Go(b.work)
	}
}

// work takes what waits until nothing does.
func (b *background) work() {
	for {
		ctx, collection, work := b.next()
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

func (b *background) next() (context.Context, uuid.UUID, func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for collection, work := range b.pending {
		if _, runs := b.running[collection]; runs || b.stopped {
			continue // who runs it looks again
		}
		delete(b.pending, collection)
		ctx, cancel := context.WithCancel(context.Background())
		b.running[collection] = cancel
		return ctx, collection, work
	}
	b.workers--
	return nil, uuid.Nil, nil
}

// stop ends what runs, waits for it, and takes no more.
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
		b.all.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fault.Wrap(ctx.Err(), fault.Timeout, "indexes were still loading")
	}
}
