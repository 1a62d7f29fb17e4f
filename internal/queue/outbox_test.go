package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// work is a job in the outbox of the tests.
type work struct {
	memory.Job

	ended bool
}

func dueOf(j *memory.Job) memory.Due { return memory.Due{Tenant: j.Tenant, Collection: j.Collection} }

// outbox is a small outbox with the rules of a store.
type outbox struct {
	mu    sync.Mutex
	jobs  []*work
	claim int // calls
}

func (o *outbox) add(ref memory.Due, stage memory.Stage) uuid.UUID {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := &work{Job: memory.Job{
		ID: uuid.New(), Tenant: ref.Tenant, Collection: ref.Collection, Kind: "work", Stage: stage, Seq: int64(len(o.jobs)),
	}}
	o.jobs = append(o.jobs, w)
	return w.ID
}

func (o *outbox) free(w *work, now time.Time) bool {
	return !w.ended && !now.Before(w.NotBefore) && (w.Lease == uuid.Nil || now.After(w.LeaseUntil))
}

func (o *outbox) Due(_ context.Context, limit int) ([]memory.Due, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var refs []memory.Due
	for _, w := range o.jobs {
		if o.free(w, time.Now()) && !slices.Contains(refs, dueOf(&w.Job)) && len(refs) < limit {
			refs = append(refs, dueOf(&w.Job))
		}
	}
	return refs, nil
}

func (o *outbox) Claim(_ context.Context, r memory.Due, stage memory.Stage, token uuid.UUID, until time.Time, limit int) ([]memory.Job, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.claim++
	var out []memory.Job
	for _, w := range o.jobs {
		if dueOf(&w.Job) != r || w.ended {
			continue
		}
		if stage == memory.StageDecide {
			// In order: older jobs must have been decided or have failed once.
			if w.Stage == memory.StagePrepare && w.Attempts == 0 {
				break
			}
			if w.Stage == memory.StageDecide && w.Lease != uuid.Nil && !time.Now().After(w.LeaseUntil) {
				break
			}
		}
		if w.Stage == stage && o.free(w, time.Now()) && len(out) < limit {
			w.Lease, w.LeaseUntil = token, until
			out = append(out, w.Job)
			if stage == memory.StageDecide {
				break
			}
		}
	}
	return out, nil
}

func (o *outbox) Heartbeat(_ context.Context, j memory.Job, until time.Time) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.find(j.ID)
	if w.Lease != j.Lease || w.ended {
		return false, nil
	}
	w.LeaseUntil = until
	return true, nil
}

func (o *outbox) NextDue(context.Context) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var next time.Time
	for _, w := range o.jobs {
		at := w.NotBefore
		if w.Lease != uuid.Nil {
			at = w.LeaseUntil
		}
		if !w.ended && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
}

func (o *outbox) find(id uuid.UUID) *work {
	return o.jobs[slices.IndexFunc(o.jobs, func(w *work) bool { return w.ID == id })]
}

var errNotHolder = errors.New("another worker has the lease")

// end applies fn to a job whose lease is valid.
func (o *outbox) end(w memory.Job, fn func(*work)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.find(w.ID)
	if now.Lease != w.Lease || now.ended {
		return errNotHolder
	}
	now.Lease = uuid.Nil
	fn(now)
	return nil
}

func (o *outbox) revoke(id uuid.UUID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.find(id)
	w.ended, w.Lease = true, uuid.Nil
}

// worker does the jobs of the tests: a prepare job becomes a decide job, others are done.
type worker struct {
	*outbox
	deadline time.Duration
	try      func(ctx context.Context, w memory.Job) error

	mu      sync.Mutex
	began   []memory.Job // in order
	done    []memory.Job // in order of their end
	settled []error
	left    int
	now     map[memory.Stage]int
	peak    map[memory.Stage]int
	perRef  map[memory.Due]int
	overlap bool // two decides of one collection ran concurrently
}

func newWorker(o *outbox, try func(ctx context.Context, w memory.Job) error) *worker {
	return &worker{outbox: o, try: try, now: map[memory.Stage]int{}, peak: map[memory.Stage]int{}, perRef: map[memory.Due]int{}}
}

func (h *worker) Deadline(memory.Job) time.Duration { return h.deadline }

func (h *worker) Handle(ctx context.Context, w memory.Job) error {
	h.mu.Lock()
	h.began = append(h.began, w)
	h.now[w.Stage]++
	h.peak[w.Stage] = max(h.peak[w.Stage], h.now[w.Stage])
	if w.Stage == memory.StageDecide {
		h.perRef[dueOf(&w)]++
		h.overlap = h.overlap || h.perRef[dueOf(&w)] > 1
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.left++
		h.now[w.Stage]--
		if w.Stage == memory.StageDecide {
			h.perRef[dueOf(&w)]--
		}
	}()
	if h.try != nil {
		if err := h.try(ctx, w); err != nil {
			return err
		}
	}
	err := h.end(w, func(now *work) {
		if now.Stage == memory.StagePrepare {
			now.Stage = memory.StageDecide
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

func (h *worker) Settle(_ context.Context, w memory.Job, err error) error {
	h.mu.Lock()
	h.settled = append(h.settled, err)
	h.mu.Unlock()
	return h.end(w, func(now *work) {
		if errors.Is(err, ErrStopped) {
			return
		}
		now.Attempts++
		now.NotBefore = time.Now().Add(2 * time.Second)
		now.ended = now.Attempts == 3
	})
}

// started returns how many jobs have begun.
func (h *worker) started() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.began)
}

func (h *worker) order(stage memory.Stage, ref memory.Due) []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []int64
	for _, w := range h.done {
		if w.Stage == stage && dueOf(&w) == ref {
			out = append(out, w.Seq)
		}
	}
	return out
}
