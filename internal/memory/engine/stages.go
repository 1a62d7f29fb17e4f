package engine

import (
	"context"
	"errors"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Stages bound RunStages.
type Stages struct {
	Prepare, Decide time.Duration // deadlines of the stages; 0: none but that of the context
	// Follow reports whether the decision may follow immediately, since the caller has room for it. The decision
	// gets the returned context; done is called after it. Nil: always.
	Follow func(ctx context.Context) (follow context.Context, done func(), ok bool)
}

// RunStages runs the first stage of a leased note or exchange job, as RunPrepare does, and then the
// second, when no earlier job of its collection is left. Both are written in one transaction, each as
// the changeset that it is otherwise, so that a note costs one commit after its add. Later jobs of the
// collection cannot be decided meanwhile: they wait until this one is prepared. When something that the
// decision rests on has changed, the first stage is written alone and the second waits for its turn.
func (e *Engine) RunStages(ctx context.Context, s tenant.Scope, job memory.Job, st Stages) error {
	first, cancel := stageContext(ctx, st.Prepare)
	defer cancel()
	p, err := e.prepare(first, s, &job)
	if err != nil || p == nil {
		return err
	}
	if p.end.State == memory.JobQueued && e.isNext(ctx, s, &job) {
		followed, err := e.follow(ctx, s, &job, p, st)
		if followed && !errors.Is(err, memory.ErrMoved) {
			return err
		}
	}
	err = e.writePrepared(ctx, s, &job, p, false)
	if errors.Is(err, memory.ErrMoved) {
		return e.RunPrepare(ctx, s, job)
	}
	return err
}

// follow decides about prepared notes immediately; followed is false when the caller has no room for it.
func (e *Engine) follow(ctx context.Context, s tenant.Scope, job *memory.Job, p *preparation, st Stages) (followed bool, err error) {
	if st.Follow != nil {
		with, done, ok := st.Follow(ctx)
		if !ok {
			return false, nil
		}
		defer done()
		ctx = with
	}
	ctx, cancel := stageContext(ctx, st.Decide)
	defer cancel()
	if err := e.decidePrepared(ctx, s, job, p); err != nil {
		return true, &decideError{err, p}
	}
	return true, nil
}

func stageContext(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// isNext reports whether a job that is in prepare is the next of its collection to be decided, and keeps
// all later ones waiting: those that failed or lost their lease do not.
func (e *Engine) isNext(ctx context.Context, s tenant.Scope, job *memory.Job) bool {
	if job.Attempts > 0 || job.Claims > 1 || job.Losses > 0 {
		return false
	}
	_, ahead, err := e.store.JobsAhead(ctx, s, job.ID)
	return err == nil && ahead == 0
}

// decidePrepared decides about notes that are prepared and not written.
func (e *Engine) decidePrepared(ctx context.Context, s tenant.Scope, job *memory.Job, p *preparation) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	ev, err := notesEvent(job)
	if err != nil {
		return err
	}
	all := newTries(costs{})
	all.spent.add(p.spent)
	a, err := e.propose(ctx, s, v, ev, p.was, p.ready, job.ID, all)
	if err != nil {
		return err
	}
	decide := *job
	decide.Stage = memory.StageDecide
	if p.end.Result != nil {
		decide.Result = p.end.Result
	}
	a.job, a.try, a.prepared = &decide, 1, p
	return a.apply(ctx, s)
}

// decideError is the error of a second stage that followed a first one which is not written. Fail writes it.
type decideError struct {
	error
	prepared *preparation
}

// Unwrap returns the error of the second stage.
func (d *decideError) Unwrap() error { return d.error }
