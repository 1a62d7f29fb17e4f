package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// work is a job of the tests' outbox.
type work struct {
	id        uuid.UUID
	ref       Ref
	stage     Stage
	seq       int
	attempts  int
	notBefore time.Time
	token     uuid.UUID
	until     time.Time
	ended     bool
}

// outbox is a small outbox with the rules of a store.
type outbox struct {
	mu    sync.Mutex
	jobs  []*work
	claim int // calls
}

func (o *outbox) add(ref Ref, stage Stage) uuid.UUID {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := &work{id: uuid.New(), ref: ref, stage: stage, seq: len(o.jobs)}
	o.jobs = append(o.jobs, w)
	return w.id
}

func (o *outbox) free(w *work, now time.Time) bool {
	return !w.ended && !now.Before(w.notBefore) && (w.token == uuid.Nil || now.After(w.until))
}

func (o *outbox) Due(_ context.Context, limit int) ([]Ref, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var refs []Ref
	for _, w := range o.jobs {
		if o.free(w, time.Now()) && !slices.Contains(refs, w.ref) && len(refs) < limit {
			refs = append(refs, w.ref)
		}
	}
	return refs, nil
}

func (o *outbox) Claim(_ context.Context, r Ref, stage Stage, token uuid.UUID, until time.Time, limit int) ([]work, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.claim++
	var out []work
	for _, w := range o.jobs {
		if w.ref != r || w.ended {
			continue
		}
		if stage == Decide {
			// In order: what is older must have been decided or failed once.
			if w.stage == Prepare && w.attempts == 0 {
				break
			}
			if w.stage == Decide && w.token != uuid.Nil && !time.Now().After(w.until) {
				break
			}
		}
		if w.stage == stage && o.free(w, time.Now()) && len(out) < limit {
			w.token, w.until = token, until
			out = append(out, *w)
			if stage == Decide {
				break
			}
		}
	}
	return out, nil
}

func (o *outbox) Heartbeat(_ context.Context, l Lease, until time.Time) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.find(l.Job)
	if w.token != l.Token || w.ended {
		return false, nil
	}
	w.until = until
	return true, nil
}

func (o *outbox) NextDue(context.Context) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var next time.Time
	for _, w := range o.jobs {
		at := w.notBefore
		if w.token != uuid.Nil {
			at = w.until
		}
		if !w.ended && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
}

func (o *outbox) ID(w work) uuid.UUID { return w.id }

func (o *outbox) Kind(work) string { return "work" }

func (o *outbox) find(id uuid.UUID) *work {
	return o.jobs[slices.IndexFunc(o.jobs, func(w *work) bool { return w.id == id })]
}

var errNotHolder = errors.New("the lease is another's")

// end applies fn to a job that is held under its token.
func (o *outbox) end(w work, fn func(*work)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.find(w.id)
	if now.token != w.token || now.ended {
		return errNotHolder
	}
	now.token = uuid.Nil
	fn(now)
	return nil
}

func (o *outbox) revoke(id uuid.UUID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.find(id)
	w.ended, w.token = true, uuid.Nil
}

// worker does the jobs of the tests: prepare goes on to decide, the rest is done.
type worker struct {
	*outbox
	deadline time.Duration
	try      func(ctx context.Context, w work) error

	mu      sync.Mutex
	done    []work // in order of their end
	settled []error
	left    int
	now     map[Stage]int
	peak    map[Stage]int
	perRef  map[Ref]int
	overlap bool // two decides of one collection ran at once
}

func newWorker(o *outbox, try func(ctx context.Context, w work) error) *worker {
	return &worker{outbox: o, try: try, now: map[Stage]int{}, peak: map[Stage]int{}, perRef: map[Ref]int{}}
}

func (h *worker) Deadline(work) time.Duration { return h.deadline }

func (h *worker) Handle(ctx context.Context, w work) error {
	h.mu.Lock()
	h.now[w.stage]++
	h.peak[w.stage] = max(h.peak[w.stage], h.now[w.stage])
	if w.stage == Decide {
		h.perRef[w.ref]++
		h.overlap = h.overlap || h.perRef[w.ref] > 1
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.now[w.stage]--
		if w.stage == Decide {
			h.perRef[w.ref]--
		}
	}()
	if h.try != nil {
		if err := h.try(ctx, w); err != nil {
			return err
		}
	}
	err := h.end(w, func(now *work) {
		if now.stage == Prepare {
			now.stage = Decide
			return
		}
		now.ended = true
	})
	if err == nil {
		h.mu.Lock()
		h.done = append(h.done, w)
		h.mu.Unlock()
	}
	return err
}

func (h *worker) Settle(_ context.Context, w work, err error) error {
	h.mu.Lock()
	h.settled = append(h.settled, err)
	h.mu.Unlock()
	return h.end(w, func(now *work) {
		if errors.Is(err, ErrStopped) {
			return
		}
		now.attempts++
		now.notBefore = time.Now().Add(2 * time.Second)
		now.ended = now.attempts == 3
	})
}

func (h *worker) Done(work) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left++
}

func (h *worker) order(stage Stage, ref Ref) []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []int
	for _, w := range h.done {
		if w.stage == stage && w.ref == ref {
			out = append(out, w.seq)
		}
	}
	return out
}
