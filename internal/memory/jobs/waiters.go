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
	JobsAhead(ctx context.Context, s tenant.Scope, job uuid.UUID) (int, error)
}

// WaitConfig of waiters. Zero fields take the defaults.
type WaitConfig struct {
	For       time.Duration // longest wait for a job; default 25 s
	Poll      time.Duration // how often the store is read without a notification; default 500 ms
	PerTenant int           // waiters of one tenant at once; default 64
}

// Waiters serve callers that wait for the end of a job or watch it change. A change that Notify
// reports is seen at once, any other by polling the store.
type Waiters struct {
	jobs Reader
	cfg  WaitConfig

	mu     sync.Mutex
	topics map[uuid.UUID]*topic
	held   map[uuid.UUID]int // waiters by tenant
}

// topic is a job that callers wait for; ch is closed and replaced at each notification.
type topic struct {
	ch   chan struct{}
	refs int
}

// NewWaiters returns waiters for the jobs of a store.
func NewWaiters(jobs Reader, cfg WaitConfig) *Waiters {
	cfg.For = cmp.Or(cfg.For, 25*time.Second)
	cfg.Poll = cmp.Or(cfg.Poll, 500*time.Millisecond)
	cfg.PerTenant = cmp.Or(cfg.PerTenant, 64)
	return &Waiters{jobs: jobs, cfg: cfg, topics: map[uuid.UUID]*topic{}, held: map[uuid.UUID]int{}}
}

// Notify makes all waiters for a job read it again. It never blocks.
func (w *Waiters) Notify(job uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t, ok := w.topics[job]; ok {
		close(t.ch)
		t.ch = make(chan struct{})
	}
}

// subscribe registers a waiter for a job. changed returns a channel that is closed at the next
// notification; it must be called before the job is read.
func (w *Waiters) subscribe(job uuid.UUID) (changed func() <-chan struct{}, unsubscribe func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.topics[job]
	if !ok {
		t = &topic{ch: make(chan struct{})}
		w.topics[job] = t
	}
	t.refs++
	changed = func() <-chan struct{} {
		w.mu.Lock()
		defer w.mu.Unlock()
		return t.ch
	}
	unsubscribe = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if t.refs--; t.refs == 0 {
			delete(w.topics, job)
		}
	}
	return changed, unsubscribe
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
	changed, unsubscribe := w.subscribe(job)
	defer unsubscribe()
	next := changed()
	j, err := w.jobs.Job(ctx, s, job)
	if err != nil || j.Ended() {
		return j, err
	}
	ahead, err := w.jobs.JobsAhead(ctx, s, job)
	if err != nil || ahead-own > 1 {
		return j, err
	}
	release, ok := w.admit(s.Tenant())
	if !ok {
		return j, nil
	}
	defer release()
	limit := time.NewTimer(w.cfg.For)
	defer limit.Stop()
	poll := time.NewTicker(w.cfg.Poll)
	defer poll.Stop()
	for !j.Ended() {
		last := false
		select {
		case <-ctx.Done():
			return j, ctx.Err()
		case <-limit.C:
			last = true
		case <-next:
		case <-poll.C:
		}
		next = changed()
		if j, err = w.jobs.Job(ctx, s, job); err != nil || last {
			return j, err
		}
	}
	return j, nil
}

// Watch calls fn with a job as it is, and again at each change, until the job has ended, ctx ends,
// or fn returns an error, which Watch returns. The caller bounds how long a watch may last.
func (w *Waiters) Watch(ctx context.Context, s tenant.Scope, job uuid.UUID, fn func(memory.Job) error) error {
	changed, unsubscribe := w.subscribe(job)
	defer unsubscribe()
	poll := time.NewTicker(w.cfg.Poll)
	defer poll.Stop()
	var shown *memory.Job
	for {
		next := changed()
		j, err := w.jobs.Job(ctx, s, job)
		if err != nil {
			return err
		}
		if shown == nil || isVisiblyChanged(shown, &j) {
			if err := fn(j); err != nil {
				return err
			}
			shown = &j
		}
		if j.Ended() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
		case <-poll.C:
		}
	}
}

// isVisiblyChanged reports whether a caller sees a difference; leases are not shown.
func isVisiblyChanged(a, b *memory.Job) bool {
	return a.State != b.State || a.Stage != b.Stage || a.Attempts != b.Attempts || a.Error != b.Error ||
		!reflect.DeepEqual(a.Progress, b.Progress)
}
