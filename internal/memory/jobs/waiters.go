package jobs

import (
	"cmp"
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Reader is what waiters require of a store.
type Reader interface {
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
	JobsAhead(ctx context.Context, s tenant.Scope, job uuid.UUID) (j memory.Job, ahead int, err error)
}

const pollUnnotified = 500 * time.Millisecond

// WaitConfig of waiters. Zero fields take the defaults.
type WaitConfig struct {
	For       time.Duration // longest wait for a job; default 25 s
	Poll      time.Duration // how often the store is read without a notification; default 5 s
	PerTenant int           // concurrent waiters of one tenant; default 64

	// Notified reports whether changes that other processes make are reported to Notify now. While
	// they are not, the store is read every pollUnnotified. Nil: always.
	Notified func() bool
}

// Waiters serve callers that wait for the end of a job or watch it or a collection change. A change that Notify
// reports is seen immediately. Polling the store finds what was not reported: a notification that was
// lost, or the job of a deleted collection.
type Waiters struct {
	jobs Reader
	cfg  WaitConfig

	mu     sync.Mutex
	topics map[uuid.UUID]*topic
	held   map[uuid.UUID]int // waiters by tenant
}

// topic is a job or a collection that callers wait for. The channels are closed and replaced: changed at each
// notification, ended when it says that the job may have ended.
type topic struct {
	changed, ended chan struct{}
	refs           int
}

// NewWaiters returns waiters for the jobs of a store.
func NewWaiters(jobs Reader, cfg WaitConfig) *Waiters {
	cfg.For = cmp.Or(cfg.For, 25*time.Second)
	cfg.Poll = cmp.Or(cfg.Poll, 5*time.Second)
	cfg.PerTenant = cmp.Or(cfg.PerTenant, 64)
	return &Waiters{jobs: jobs, cfg: cfg, topics: map[uuid.UUID]*topic{}, held: map[uuid.UUID]int{}}
}

// Notify makes all callers that watch a job or a collection read it again and, if it may have ended, those that wait
// for its end. It never blocks.
func (w *Waiters) Notify(id uuid.UUID, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.topics[id]
	if !ok {
		return
	}
	close(t.changed)
	t.changed = make(chan struct{})
	if ended {
		close(t.ended)
		t.ended = make(chan struct{})
	}
}

// subscribe registers a waiter for a job or a collection. next returns the channels that are closed at the next
// notification; it must be called before it is read.
func (w *Waiters) subscribe(id uuid.UUID) (next func() (changed, ended <-chan struct{}), unsubscribe func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.topics[id]
	if !ok {
		t = &topic{changed: make(chan struct{}), ended: make(chan struct{})}
		w.topics[id] = t
	}
	t.refs++
	next = func() (changed, ended <-chan struct{}) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return t.changed, t.ended
	}
	unsubscribe = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if t.refs--; t.refs == 0 {
			delete(w.topics, id)
		}
	}
	return next, unsubscribe
}

// interval is the time until the next poll of the store.
func (c *WaitConfig) interval() time.Duration {
	if c.Notified != nil && !c.Notified() {
		return pollUnnotified
	}
	return c.Poll
}

// admit counts a waiter of a tenant; ok is false when the tenant has too many.
func (w *Waiters) admit(tenantID uuid.UUID) (release func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held[tenantID] >= w.cfg.PerTenant {
		return nil, false
	}
	w.held[tenantID]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.held[tenantID]--; w.held[tenantID] == 0 {
			delete(w.held, tenantID)
		}
	}, true
}

// Wait waits until a job has ended and returns it. own is how many jobs the caller enqueued
// together with it, before it. Wait returns earlier, with the job as it is, when more than one
// other job of the collection is ahead, when the tenant has too many waiters already, and after
// the longest wait (25 s). When ctx ends first its error is returned.
func (w *Waiters) Wait(ctx context.Context, s tenant.Scope, job uuid.UUID, own int) (memory.Job, error) {
	next, unsubscribe := w.subscribe(job)
	defer unsubscribe()
	_, ended := next()
	j, ahead, err := w.jobs.JobsAhead(ctx, s, job)
	if err != nil || j.Ended() || ahead-own > 1 {
		return j, err
	}
	release, ok := w.admit(s.Tenant())
	if !ok {
		return j, nil
	}
	defer release()
	limit := time.NewTimer(w.cfg.For)
	defer limit.Stop()
	poll := time.NewTimer(w.cfg.interval())
	defer poll.Stop()
	for !j.Ended() {
		last := false
		select {
		case <-ctx.Done():
			return j, ctx.Err()
		case <-limit.C:
			last = true
		case <-ended:
		case <-poll.C:
		}
		_, ended = next()
		poll.Reset(w.cfg.interval())
		if j, err = w.jobs.Job(ctx, s, job); err != nil || last {
			return j, err
		}
	}
	return j, nil
}

// Watch calls fn with a job as it is, and again at each change, until the job has ended, ctx ends,
// or fn returns an error, which Watch returns. The caller bounds how long a watch may last.
func (w *Waiters) Watch(ctx context.Context, s tenant.Scope, job uuid.UUID, fn func(memory.Job) error) error {
	var shown *memory.Job
	return w.Each(ctx, job, 0, func() (bool, error) {
		j, err := w.jobs.Job(ctx, s, job)
		if err != nil {
			return false, err
		}
		if shown == nil || isVisiblyChanged(shown, &j) {
			if err := fn(j); err != nil {
				return false, err
			}
			shown = &j
		}
		return !j.Ended(), nil
	})
}

// Each calls fn immediately, after each notification about a job or a collection, and at each poll, until fn
// returns false or an error, which Each returns, or ctx ends. Between two calls is a pause at least; what is notified
// meanwhile is one call.
func (w *Waiters) Each(ctx context.Context, id uuid.UUID, pause time.Duration, fn func() (more bool, err error)) error {
	next, unsubscribe := w.subscribe(id)
	defer unsubscribe()
	poll := time.NewTimer(w.cfg.interval())
	defer poll.Stop()
	for {
		changed, _ := next()
		poll.Reset(w.cfg.interval())
		if more, err := fn(); err != nil || !more {
			return err
		}
		if pause > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause):
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-poll.C:
		}
	}
}

// isVisiblyChanged reports whether a caller sees a difference; leases are not shown.
func isVisiblyChanged(a, b *memory.Job) bool {
	return a.State != b.State || a.Stage != b.Stage || a.Attempts != b.Attempts || a.Error != b.Error ||
		!reflect.DeepEqual(a.Progress, b.Progress)
}
