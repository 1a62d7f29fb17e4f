package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// DefaultPrepares is the default of Config.Prepares.
const DefaultPrepares = 4

// DefaultSends is the default of Config.Sends.
const DefaultSends = 16

// Config bounds a runner. Zero fields take the defaults.
type Config struct {
	Prepares  int            // concurrent prepare jobs; default 4
	Decides   int            // concurrent decide jobs, of different collections; default 4
	Tasks     int            // concurrent task jobs; default 2. Tasks of upkeep have slots of their own, see Upkeeps
	Sends     int            // concurrent send jobs; default DefaultSends
	Batch     int            // prepare jobs in one claim; default 16, never more than there are free slots
	Lease     time.Duration  // default 15 s; prolonged at every third of it
	Poll      time.Duration  // longest time between two polls of the outbox; default 1 s
	Grace     time.Duration  // for running jobs at a stop, before they are released; default 5 s
	DueLimit  int            // collections in one poll; default 256
	Share     int            // percent of the slots of a stage that one tenant may use, at least one slot; default 100
	Lanes     int            // lanes of one stage and tenant that polls found and that wait in memory, and as many others; default 64
	SettleFor time.Duration  // for recording a failed try; default 15 s
	Burst     time.Duration  // how long Drain works on a lane, the job that runs then excluded; default 100 ms
	Stages    []memory.Stage // run by this runner; default all
	Rest      time.Duration  // a step of the cooldown of a slot of a tenant that floods (fair.Rest); default none
	Meter     metric.Meter   // nil: nothing is measured
}

// shareOf returns how many of the slots of a stage one tenant may use; 0 is all of them.
func (c *Config) shareOf(slots int) int {
	if c.Share == 0 || c.Share >= 100 {
		return 0
	}
	return max(1, slots*c.Share/100)
}

// Upkeeps returns how many tasks of upkeep run concurrently, beside so many others.
func Upkeeps(tasks int) int { return max(1, tasks/2) }

func (c *Config) setDefaults() error {
	if c.Prepares < 0 || c.Decides < 0 || c.Tasks < 0 || c.Sends < 0 || c.Batch < 0 || c.Lease < 0 || c.Poll < 0 || c.Grace < 0 || c.DueLimit < 0 || c.Share < 0 || c.Lanes < 0 || c.SettleFor < 0 || c.Burst < 0 || c.Rest < 0 {
		return errors.New("queue: settings must not be negative")
	}
	for _, f := range []struct {
		at *int
		to int
	}{{&c.Prepares, DefaultPrepares}, {&c.Decides, 4}, {&c.Tasks, 2}, {&c.Sends, DefaultSends}, {&c.Batch, 16}, {&c.DueLimit, 256}, {&c.Lanes, 64}} {
		if *f.at == 0 {
			*f.at = f.to
		}
	}
	for _, f := range []struct {
		at *time.Duration
		to time.Duration
	}{{&c.Lease, 15 * time.Second}, {&c.Poll, time.Second}, {&c.Grace, 5 * time.Second}, {&c.SettleFor, 15 * time.Second}, {&c.Burst, 100 * time.Millisecond}} {
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

	wake chan struct{}

	running sync.WaitGroup // lanes and jobs of the current Run

	mu      sync.Mutex
	lanes   map[lane]*laneState
	stages  map[memory.Stage]*stageState
	cut     bool // the last poll did not list all collections
	claimed bool // a claim found jobs since then
	now     *run // nil: Run is not running
}

// run holds the contexts of a Run: claim ends at a stop, jobs after the grace time.
//
//nolint:containedctx // they belong to the current call of Run, for lanes that other calls start
type run struct{ claim, jobs context.Context }

// lane names the jobs of one stage of one collection, as claims name it: tasks of upkeep are a lane of their own.
type lane struct {
	ref   memory.Due
	stage memory.Stage
}

// stageState is the slots of a stage, and the lanes that wait for one. A lane that waits costs an entry here,
// and no goroutine.
type stageState struct {
	free    int
	waiting *fair.Queue[lane]
	left    map[uuid.UUID]bool // tenants with lanes that were left out, because too many wait; true: jobs were claimed since
	// full are the tenants with lanes that the last poll left out, and tried their lanes that such polls found and that had no jobs: the
	// next poll takes others, until each had a claim.
	full  map[uuid.UUID]bool
	tried map[lane]bool
}

// laneState is a lane that waits for a slot, or whose jobs are being claimed.
type laneState struct {
	item  *fair.Item[lane] // in the queue while it waits; nil while its jobs are claimed
	again bool             // poll once more before it ends
	named bool             // a commit named it; else a poll found it, and its collection may have no job of its stage
	found bool             // this process found it, not only Drain: it continues after the time of Drain
	late  bool             // the time of Drain is over
	ended chan struct{}    // closed when the lane has ended; more is set then
	more  bool             // jobs may be left

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
	slots := func(n int) *stageState {
		return &stageState{free: n, waiting: fair.NewQueue[lane](cfg.shareOf(n)), left: map[uuid.UUID]bool{}, full: map[uuid.UUID]bool{}, tried: map[lane]bool{}}
	}
	return &Runner{
		metrics: metrics, outages: newOutages(log, clock),
		src: src, handler: handler, cfg: cfg, clock: clock, log: log,
		wake: make(chan struct{}, 1), lanes: map[lane]*laneState{},
		stages: map[memory.Stage]*stageState{
			memory.StagePrepare: slots(cfg.Prepares), memory.StageDecide: slots(cfg.Decides), memory.StageTask: slots(cfg.Tasks),
			memory.StageUpkeep: slots(Upkeeps(cfg.Tasks)), memory.StageSend: slots(cfg.Sends),
		},
	}, nil
}

// Wake makes the runner poll the outbox now. It never blocks and may be called before Run and after
// its end.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // a poll is due already, and it will see the caller's commit
	}
}

// Notify makes the runner claim the jobs of a stage, as claims name it, of a collection as soon as its tenant is next, without a
// poll. It never blocks. It is called after a commit that enqueued jobs; while the runner does not run it does
// nothing, because the runner polls everything when it starts.
func (r *Runner) Notify(ref memory.Due, stage memory.Stage) {
	if r.serves(stage) {
		r.startLane(lane{ref, stage}, laneState{named: true, found: true})
	}
}

// serves reports whether the runner claims jobs of a stage, as claims name it.
func (r *Runner) serves(lane memory.Stage) bool {
	return slices.ContainsFunc(r.cfg.Stages, func(s memory.Stage) bool { return slices.Contains(s.Lanes(), lane) })
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
			r.setRun(nil)
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
	due, err := r.src.Due(ctx, r.cfg.DueLimit)
	r.outages.due.Report(ctx, err)
	if err != nil {
		return r.cfg.Poll
	}
	r.beginPoll(len(due) >= r.cfg.DueLimit)
	for _, ref := range due {
		for _, s := range r.cfg.Stages {
			for _, l := range s.Lanes() {
				r.startLane(lane{ref, l}, laneState{found: true})
			}
		}
	}
	r.endPoll()
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

func (r *Runner) beginPoll(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut, r.claimed = cut, false
	for _, s := range r.stages {
		clear(s.full)
	}
}

// endPoll forgets what was tried of tenants of which no lane was left out.
func (r *Runner) endPoll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.stages {
		maps.DeleteFunc(s.tried, func(l lane, _ bool) bool { return !s.full[l.ref.Tenant] })
	}
}

// setRun sets the current run. nil means that no lane starts from now on.
func (r *Runner) setRun(now *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
	if now == nil {
		r.endWaiting()
	}
}

// endWaiting ends the lanes that wait for a slot.
func (r *Runner) endWaiting() {
	for l, st := range r.lanes {
		if st.item != nil {
			r.stages[l.stage].waiting.Remove(st.item)
			r.endLane(l, st, true)
		}
	}
}

func (r *Runner) endLane(l lane, st *laneState, more bool) {
	st.item, st.more = nil, more
	delete(r.lanes, l)
	close(st.ended)
}

// startLane queues a lane as of says it was found, or makes one whose jobs are being claimed claim once more before it ends. It
// returns nil while the runner does not claim, and when too many lanes of the tenant wait already: a later poll finds it.
func (r *Runner) startLane(l lane, of laneState) *laneState {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stages[l.stage]
	if st, ok := r.lanes[l]; ok {
		st.again = true
		st.found = st.found || of.found
		if of.named && !st.named && st.item != nil { // from now on it waits with those that have jobs
			s.waiting.Remove(st.item)
			st.item = s.waiting.Push(l.ref.Tenant, l)
		}
		st.named = st.named || of.named
		return st
	}
	now := r.now
	if now == nil || now.claim.Err() != nil {
		return nil
	}
	waiting := s.waiting.Later(l.ref.Tenant)
	if of.named {
		waiting = s.waiting.Waiting(l.ref.Tenant) - waiting
	} else if s.tried[l] {
		return nil
	}
	if waiting >= r.cfg.Lanes {
		s.full[l.ref.Tenant] = true
		if _, ok := s.left[l.ref.Tenant]; !ok {
			s.left[l.ref.Tenant] = false
		}
		return nil
	}
	st := &laneState{named: of.named, found: of.found, ended: make(chan struct{}), stopped: now.claim.Done()}
	r.lanes[l] = st
	r.await(l, st)
	return st
}

// await makes a lane wait for a slot.
func (r *Runner) await(l lane, st *laneState) {
	s := r.stages[l.stage]
	if st.named {
		st.item = s.waiting.Push(l.ref.Tenant, l)
	} else {
		st.item = s.waiting.PushLater(l.ref.Tenant, l)
	}
	r.dispatch(l.stage)
}

// dispatch starts claims for the lanes that are next, while there are free slots.
func (r *Runner) dispatch(stage memory.Stage) {
	s := r.stages[stage]
	for r.now != nil && s.free > 0 {
		it, ok := s.waiting.Next()
		if !ok {
			break
		}
		s.free--
		now, l := r.now, it.Value
		st := r.lanes[l]
		st.item, st.again = nil, false
		held := 1
		if stage == memory.StagePrepare {
			// What is free is shared among the tenants that wait.
			for most := min(r.cfg.Batch, 1+s.free/(1+s.waiting.Tenants())); held < most && s.waiting.Hold(l.ref.Tenant); held++ {
				s.free--
			}
		}
		r.running.Go(func() { r.runLane(now, l, st, held) })
	}
	if r.cut && r.claimed && r.isIdle() {
		r.cut = false
		r.Wake()
	}
}

// refill polls for the lanes that were left out, when the tenant has few left in memory. Without a claim that found
// jobs since then, a further poll would find as little.
func (r *Runner) refill(l lane, found bool) {
	r.claimed = r.claimed || found
	s := r.stages[l.stage]
	before, ok := s.left[l.ref.Tenant]
	if !ok {
		return
	}
	s.left[l.ref.Tenant] = before || found
	if (before || found) && s.waiting.Later(l.ref.Tenant) <= r.cfg.Lanes/2 {
		delete(s.left, l.ref.Tenant)
		r.Wake()
	}
}

// isIdle reports whether no lane waits and every stage has a free slot.
func (r *Runner) isIdle() bool {
	for _, s := range r.stages {
		if s.free == 0 || s.waiting.Len() > 0 {
			return false
		}
	}
	return true
}

// leave returns a slot, after a rest if the tenant floods the stage.
func (r *Runner) leave(l lane) {
	r.mu.Lock()
	floods := r.stages[l.stage].waiting.Floods(l.ref.Tenant)
	r.mu.Unlock()
	if floods && r.cfg.Rest > 0 {
		fair.Rest(r.cfg.Rest, func() { r.release(l) })
		return
	}
	r.release(l)
}

// release returns a slot, and starts the lane that is next.
func (r *Runner) release(l lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stages[l.stage]
	s.free++
	s.waiting.Release(l.ref.Tenant)
	r.dispatch(l.stage)
}

// Drain runs the jobs of one stage, as claims name it, of a collection until it finds none, or for Burst; jobs of the
// parallel stages may still run when it returns. more reports that jobs may be left, so the lane
// should be drained again. Drain is for callers that know what is due, such as receivers of
// wake-ups. While the runner does not run it does nothing: the runner polls everything
// when it starts. When ctx ends Drain returns, and the lane continues.
func (r *Runner) Drain(ctx context.Context, ref memory.Due, stage memory.Stage) (more bool) {
	if !r.serves(stage) {
		return false
	}
	burst, cancel := context.WithTimeout(ctx, r.cfg.Burst)
	defer cancel()
	l := lane{ref, stage}
	st := r.startLane(l, laneState{named: true})
	if st == nil {
		return false
	}
	select {
	case <-st.ended:
		return st.more
	case <-st.stopped:
		return true // another worker can continue
	case <-burst.Done():
	}
	if ctx.Err() != nil {
		return false
	}
	if r.endLate(l, st) {
		return true
	}
	select { // for the claim, and in the ordered stage the job, that runs
	case <-st.ended:
		return st.more
	case <-st.stopped:
		return true
	case <-ctx.Done():
		return false
	}
}

// endLate ends a lane whose time is over, now if it waits, else after its claim. It reports whether Drain need not wait
// for the end: a lane that this process found itself continues.
func (r *Runner) endLate(l lane, st *laneState) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if isDone(st.ended) {
		return false
	}
	if st.found {
		return true
	}
	st.late = true
	if st.item != nil {
		r.stages[l.stage].waiting.Remove(st.item)
		r.endLane(l, st, true)
	}
	return false
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// runLane serves a lane once: it claims as many jobs as it holds slots and starts them; in the ordered stage it
// waits for the job. Then the lane ends, or waits behind the others to be served again.
func (r *Runner) runLane(now *run, l lane, st *laneState, held int) {
	token := uuid.New()
	claimed, err := r.src.Claim(now.claim, l.ref, l.stage, token, r.clock().Add(r.cfg.Lease), held)
	r.outages.claim.Report(now.claim, err, slog.Any("collection", l.ref.Collection), slog.Any("stage", l.stage))
	for range held - len(claimed) {
		r.release(l)
	}
	for _, j := range claimed {
		work := func() {
			defer r.leave(l)
			r.runJob(now.jobs, j)
			if l.stage == memory.StagePrepare && slices.Contains(r.cfg.Stages, memory.StageDecide) {
				r.startLane(lane{l.ref, memory.StageDecide}, laneState{named: true, found: true}) // a prepared note can be decided
			}
		}
		if l.stage == memory.StageDecide {
			work()
		} else {
			r.running.Go(work)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// A claim that found less than it asked for found everything.
	more := st.again || len(claimed) == held
	if s := r.stages[l.stage]; !st.named && len(claimed) == 0 && s.full[l.ref.Tenant] {
		s.tried[l] = true
	}
	r.refill(l, len(claimed) > 0)
	if !more || st.late && !st.found || now.claim.Err() != nil {
		r.endLane(l, st, more)
		return
	}
	r.await(l, st)
}

// runJob runs one job under its lease and deadline, and settles it when it fails.
func (r *Runner) runJob(jobs context.Context, j memory.Job) {
	outcome, ended := Done, r.metrics.start(jobs, string(j.Kind), j.Stage, r.clock)
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

// handle runs the handler and makes an error of a panic, so that one job cannot end the process.
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
