package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Config bounds a runner. Zero fields take the defaults.
type Config struct {
	Prepares  int            // prepare jobs at once; default 4
	Decides   int            // decide jobs at once, of different collections; default 4
	Tasks     int            // task jobs at once; default 2
	Batch     int            // prepare jobs in one claim; default 16, never more than there are free slots
	Lease     time.Duration  // default 15 s; prolonged at every third of it
	Poll      time.Duration  // longest time between two polls of the outbox; default 1 s
	Grace     time.Duration  // for running jobs at a stop, before they are released; default 5 s
	DueLimit  int            // collections in one poll; default 256
	SettleFor time.Duration  // for recording a failed try; default 15 s
	Burst     time.Duration  // how long Drain works on a lane, the job that runs then excluded; default 10 s
	Stages    []memory.Stage // run by this runner; default all
	Meter     metric.Meter   // nil: nothing is measured
}

func (c *Config) setDefaults() error {
	if c.Prepares < 0 || c.Decides < 0 || c.Tasks < 0 || c.Batch < 0 || c.Lease < 0 || c.Poll < 0 || c.Grace < 0 || c.DueLimit < 0 || c.SettleFor < 0 || c.Burst < 0 {
		return errors.New("queue: settings must not be negative")
	}
	for _, f := range []struct {
		at *int
		to int
	}{{&c.Prepares, 4}, {&c.Decides, 4}, {&c.Tasks, 2}, {&c.Batch, 16}, {&c.DueLimit, 256}} {
		if *f.at == 0 {
			*f.at = f.to
		}
	}
	for _, f := range []struct {
		at *time.Duration
		to time.Duration
	}{{&c.Lease, 15 * time.Second}, {&c.Poll, time.Second}, {&c.Grace, 5 * time.Second}, {&c.SettleFor, 15 * time.Second}, {&c.Burst, 10 * time.Second}} {
		if *f.at == 0 {
			*f.at = f.to
		}
	}
	if len(c.Stages) == 0 {
		c.Stages = memory.Stages()
	}
	for _, s := range c.Stages {
		if !slices.Contains(memory.Stages(), s) {
			return fmt.Errorf("queue: unknown stage %q", s)
		}
	}
	return nil
}

// Runner runs the jobs of a source.
type Runner struct {
	src     Source
	handler Handler
	cfg     Config
	clock   func() time.Time
	log     *slog.Logger
	metrics *metrics
	outages *outages

	wake  chan struct{}
	slots map[memory.Stage]chan struct{}

	running sync.WaitGroup // lanes and jobs of the current Run

	mu     sync.Mutex
	lanes  map[lane]*laneState
	paused bool
	now    *run // nil: Run is not running
}

// run holds the contexts of a Run: claim ends at a stop, jobs after the grace time.
//
//nolint:containedctx // they belong to the current call of Run, for lanes that other calls start
type run struct{ claim, jobs context.Context }

// lane names the jobs of one stage of one collection.
type lane struct {
	ref   memory.Due
	stage memory.Stage
}

// laneState is a lane whose jobs are being claimed.
type laneState struct {
	again bool          // poll once more before it ends
	timer *time.Timer   // closes late; nil: no limit
	late  chan struct{} // closed after Burst
	ended chan struct{} // closed when the lane has ended; more is set then
	more  bool          // jobs may be left

	stopped <-chan struct{} // closed when the runner stops claiming
}

// New returns a runner. It does nothing until Run.
func New(src Source, handler Handler, clock func() time.Time, log *slog.Logger, cfg Config) (*Runner, error) {
	if src == nil || handler == nil {
		return nil, errors.New("queue: source and handler are required")
	}
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	if clock == nil {
		clock = time.Now
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	metrics, err := newMetrics(cfg.Meter)
	if err != nil {
		return nil, fmt.Errorf("queue: make the metrics: %w", err)
	}
	r := &Runner{
		metrics: metrics, outages: newOutages(log, clock),
		src: src, handler: handler, cfg: cfg, clock: clock, log: log,
		wake: make(chan struct{}, 1), lanes: map[lane]*laneState{},
		slots: map[memory.Stage]chan struct{}{
			memory.StagePrepare: make(chan struct{}, cfg.Prepares),
			memory.StageDecide:  make(chan struct{}, cfg.Decides),
			memory.StageTask:    make(chan struct{}, cfg.Tasks),
		},
	}
	return r, nil
}

// Wake makes the runner poll the outbox now. It never blocks and may be called before Run and after
// its end.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // a poll is due already, and it will see the caller's commit
	}
}

// Pause stops claiming until Resume; running jobs continue.
func (r *Runner) Pause() { r.setPaused(true) }

// Resume ends a Pause.
func (r *Runner) Resume() {
	r.setPaused(false)
	r.Wake()
}

func (r *Runner) setPaused(p bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = p
}

func (r *Runner) isPaused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paused
}

// Run runs jobs until ctx ends. Then it stops claiming, waits for running jobs during the grace
// time, releases the rest, and returns. Only one Run may be active.
func (r *Runner) Run(ctx context.Context) {
	// Jobs outlive ctx by the grace time.
	jobs, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(ErrStopped)
	r.setRun(&run{claim: ctx, jobs: jobs})
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			r.setRun(nil) // no lane starts from now on
			grace := time.AfterFunc(r.cfg.Grace, func() { stop(ErrStopped) })
			r.running.Wait()
			grace.Stop()
			return
		case <-r.wake:
		case <-timer.C:
		}
		began := r.clock()
		timer.Reset(r.poll(ctx))
		r.pauseAfter(ctx, r.clock().Sub(began))
	}
}

// pauseAfter waits after a slow poll, for twice the time it took, however often Wake is called.
func (r *Runner) pauseAfter(ctx context.Context, took time.Duration) {
	if took < 5*time.Millisecond {
		return
	}
	pause := time.NewTimer(min(2*took, r.cfg.Poll))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}

// poll starts a lane for each due collection and stage. It returns the time until the next poll.
func (r *Runner) poll(ctx context.Context) time.Duration {
	if r.isPaused() {
		return r.cfg.Poll
	}
	due, err := r.src.Due(ctx, r.cfg.DueLimit)
	r.outages.due.Report(ctx, err)
	if err != nil {
		return r.cfg.Poll
	}
	for _, ref := range due {
		for _, s := range r.cfg.Stages {
			r.startLane(lane{ref, s})
		}
	}
	next, err := r.src.NextDue(ctx)
	if err != nil || next.IsZero() {
		return r.cfg.Poll
	}
	// A lane claims the jobs that are due already, or waits for a slot to do so.
	if wait := next.Sub(r.clock()); wait > 0 && wait < r.cfg.Poll {
		return wait
	}
	return r.cfg.Poll
}

func (r *Runner) setRun(now *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
}

// startLane starts a lane, or makes a running one claim once more before it ends. It returns nil
// while the runner does not claim.
func (r *Runner) startLane(l lane) *laneState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if st, ok := r.lanes[l]; ok {
		st.again = true
		return st
	}
	now := r.now
	if now == nil || now.claim.Err() != nil || r.paused {
		return nil
	}
	st := &laneState{late: make(chan struct{}), ended: make(chan struct{}), stopped: now.claim.Done()}
	r.lanes[l] = st
	r.running.Go(func() { r.runLane(now.claim, now.jobs, l, st) })
	return st
}

// Drain runs the jobs of one stage of a collection until it finds none, or for Burst; jobs of the
// parallel stages may still run when it returns. more reports that jobs may be left, so the lane
// should be drained again. Drain is for callers that know what is due, such as receivers of
// wake-ups. While the runner does not run or is paused it does nothing: the runner polls everything
// when it starts. When ctx ends Drain returns, and the lane continues.
func (r *Runner) Drain(ctx context.Context, ref memory.Due, stage memory.Stage) (more bool) {
	if !slices.Contains(r.cfg.Stages, stage) {
		return false
	}
	st := r.startLane(lane{ref, stage})
	if st == nil {
		return false
	}
	r.limitLane(st)
	select {
	case <-st.ended:
		return st.more
	case <-st.stopped:
		return true // another worker can continue
	case <-ctx.Done():
		return false
	}
}

// limitLane sets the time limit of a lane, once.
func (r *Runner) limitLane(st *laneState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if st.timer == nil && !isDone(st.ended) {
		st.timer = time.AfterFunc(r.cfg.Burst, func() { close(st.late) })
	}
}

// runLane claims and runs the jobs of a lane until there are none, or its time is over.
func (r *Runner) runLane(ctx, jobs context.Context, l lane, st *laneState) {
	for {
		more := r.claimJobs(ctx, jobs, l, st)
		r.mu.Lock()
		more = more || st.again
		if !more || isDone(st.late) || ctx.Err() != nil || r.paused {
			st.more = more
			if st.timer != nil {
				st.timer.Stop()
			}
			delete(r.lanes, l)
			close(st.ended)
			r.mu.Unlock()
			return
		}
		st.again = false
		r.mu.Unlock()
	}
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// claimJobs waits for a slot, claims as many jobs as it has slots, and starts them; in the ordered
// stage it waits for the job. more reports that it found jobs, or had no time to look.
func (r *Runner) claimJobs(ctx, jobs context.Context, l lane, st *laneState) (more bool) {
	slots := r.slots[l.stage]
	select {
	case slots <- struct{}{}:
	case <-st.late:
		return true
	case <-ctx.Done():
		return false
	}
	held := 1
	want := 1
	if l.stage == memory.StagePrepare {
		want = r.cfg.Batch
	}
	for held < want && r.tryAcquire(slots) {
		held++
	}
	token := uuid.New()
	started := r.clock()
	claimed, err := r.src.Claim(ctx, l.ref, l.stage, token, started.Add(r.cfg.Lease), held)
	r.outages.claim.Report(ctx, err, slog.Any("collection", l.ref.Collection), slog.Any("stage", l.stage))
	for held > len(claimed) {
		<-slots
		held--
	}
	for _, j := range claimed {
		work := func() {
			defer func() { <-slots }()
			r.runJob(jobs, j, l.stage)
			if l.stage == memory.StagePrepare && slices.Contains(r.cfg.Stages, memory.StageDecide) {
				r.startLane(lane{l.ref, memory.StageDecide}) // a prepared note can be decided
			}
		}
		if l.stage == memory.StageDecide {
			work()
		} else {
			r.running.Go(work)
		}
	}
	return len(claimed) > 0
}

func (r *Runner) tryAcquire(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// runJob runs one job under its lease and deadline, and settles it when it fails.
func (r *Runner) runJob(jobs context.Context, j memory.Job, stage memory.Stage) {
	outcome, ended := Done, r.metrics.start(jobs, string(j.Kind), stage, r.clock)
	defer func() { ended(outcome) }()
	ctx, cancel := context.WithCancelCause(jobs)
	defer cancel(nil)
	if d := r.handler.Deadline(j); d > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, d)
		defer stop()
	}
	beating := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(beating)
		r.keepLease(jobs, j, finished, cancel)
	}()
	err := r.handle(ctx, j)
	close(finished)
	<-beating
	if err == nil {
		return
	}
	if errors.Is(context.Cause(ctx), ErrLost) {
		outcome = Lost
		return
	}
	outcome = Failed
	if errors.Is(context.Cause(jobs), ErrStopped) {
		outcome = Stopped
		err = fmt.Errorf("%w: %w", ErrStopped, err)
	}
	settle, stop := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.SettleFor)
	defer stop()
	err = r.handler.Settle(settle, j, err) // when it fails, the lease expires and the job is claimed again
	r.outages.settle.Report(context.WithoutCancel(settle), err, slog.Any("job", j.ID))
}

// handle runs the handler and turns a panic into an error, so that one job cannot end the process.
func (r *Runner) handle(ctx context.Context, j memory.Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.ErrorContext(ctx, "a job's handler panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	return r.handler.Handle(ctx, j)
}

// keepLease prolongs a lease until the job has finished, and ends the job when the lease is lost.
func (r *Runner) keepLease(jobs context.Context, j memory.Job, finished <-chan struct{}, lost context.CancelCauseFunc) {
	every := time.NewTicker(r.cfg.Lease / 3)
	defer every.Stop()
	until := r.clock().Add(r.cfg.Lease)
	for {
		select {
		case <-finished:
			return
		case <-every.C:
		}
		next := r.clock().Add(r.cfg.Lease)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(jobs), r.cfg.Lease/3)
		held, err := r.src.Heartbeat(ctx, j, next)
		cancel()
		r.outages.heartbeat.Report(jobs, err, slog.Any("job", j.ID))
		switch {
		case err == nil && held:
			until = next
		case err == nil || r.clock().After(until):
			lost(ErrLost)
			return
		}
	}
}
