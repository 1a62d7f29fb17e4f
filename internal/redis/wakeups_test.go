package redis

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	otelmetric "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/test/must"
)

// outbox is an outbox with leases, as in a store, for several workers of the test.
type outbox struct {
	mu   sync.Mutex
	jobs []*work
}

type work struct {
	memory.Job

	ended bool
}

func dueOf(j *memory.Job) memory.Due { return memory.Due{Tenant: j.Tenant, Collection: j.Collection} }

func (o *outbox) add(ref memory.Due, stage memory.Stage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.jobs = append(o.jobs, &work{Job: memory.Job{
		ID: uuid.New(), Tenant: ref.Tenant, Collection: ref.Collection, Kind: "work", Stage: stage, Seq: int64(len(o.jobs)),
	}})
}

func (o *outbox) left() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.jobs {
		if !w.ended {
			n++
		}
	}
	return n
}

func (w *work) free() bool {
	return !w.ended && (w.Lease == uuid.Nil || time.Now().After(w.LeaseUntil))
}

// Due implements queue.Source.
func (o *outbox) Due(_ context.Context, limit int) ([]memory.Due, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var refs []memory.Due
	for _, w := range o.jobs {
		if w.free() && !slices.Contains(refs, dueOf(&w.Job)) && len(refs) < limit {
			refs = append(refs, dueOf(&w.Job))
		}
	}
	return refs, nil
}

// Claim implements queue.Source.
func (o *outbox) Claim(_ context.Context, r memory.Due, stage memory.Stage, token uuid.UUID, until time.Time, limit int) ([]memory.Job, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []memory.Job
	for _, w := range o.jobs {
		if dueOf(&w.Job) != r || w.Stage != stage || w.ended {
			continue
		}
		if stage == memory.StageDecide && !w.free() {
			return nil, nil // one at a time
		}
		if w.free() && len(out) < limit {
			w.Lease, w.LeaseUntil = token, until
			out = append(out, w.Job)
			if stage == memory.StageDecide {
				break
			}
		}
	}
	return out, nil
}

// Heartbeat implements queue.Source.
func (o *outbox) Heartbeat(_ context.Context, j memory.Job, until time.Time) (bool, error) {
	return o.change(j.ID, j.Lease, func(w *work) { w.LeaseUntil = until }), nil
}

// NextDue implements queue.Source.
func (o *outbox) NextDue(context.Context) (time.Time, error) { return time.Time{}, nil }

// change applies fn to a job whose lease is valid.
func (o *outbox) change(id, token uuid.UUID, fn func(*work)) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.jobs {
		if w.ID == id && w.Lease == token && !w.ended {
			fn(w)
			return true
		}
	}
	return false
}

// worker is a process that runs jobs: its own runner and wake-ups over the shared outbox.
type worker struct {
	*outbox
	do func(ctx context.Context, w memory.Job) error

	polls atomic.Int64

	mu   sync.Mutex
	done []memory.Job
	stop func()
}

// Due implements queue.Source.
func (h *worker) Due(ctx context.Context, limit int) ([]memory.Due, error) {
	defer h.polls.Add(1)
	return h.outbox.Due(ctx, limit)
}

// Deadline implements queue.Handler.
func (h *worker) Deadline(memory.Job) time.Duration { return time.Minute }

// Handle implements queue.Handler.
func (h *worker) Handle(ctx context.Context, w memory.Job) error {
	if h.do != nil {
		if err := h.do(ctx, w); err != nil {
			return err
		}
	}
	if !h.change(w.ID, w.Lease, func(now *work) { now.ended = true }) {
		return fault.New(fault.Conflict, "the lease was lost")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, w)
	return nil
}

// Settle implements queue.Handler.
func (h *worker) Settle(_ context.Context, w memory.Job, _ error) error {
	h.change(w.ID, w.Lease, func(now *work) { now.Lease = uuid.Nil })
	return nil
}

// Done implements queue.Handler.
func (h *worker) Done(memory.Job) {}

func (h *worker) did() []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]int64, len(h.done))
	for i, w := range h.done {
		out[i] = w.Seq
	}
	return out
}

// site is an installation of the test: an outbox, and processes that share a Redis.
type site struct {
	t           *testing.T
	url, prefix string
	timeout     time.Duration // how long a command may take
	outbox      *outbox
	wakeups     *Wakeups // of the process that commits
	reader      *metric.ManualReader
	meter       otelmetric.Meter
}

func newSite(t *testing.T, url, prefix string) *site {
	t.Helper()
	// A busy machine answers late, and what is sent late is dropped.
	return newPatientSite(t, url, prefix, 10*time.Second)
}

// newPatientSite returns a site whose commands may take as long as timeout.
func newPatientSite(t *testing.T, url, prefix string, timeout time.Duration) *site {
	t.Helper()
	s := &site{t: t, url: url, prefix: prefix, timeout: timeout, outbox: &outbox{}, reader: metric.NewManualReader()}
	s.meter = metric.NewMeterProvider(metric.WithReader(s.reader)).Meter("test")
	s.wakeups = s.newWakeups()
	return s
}

// newWakeups returns the wake-ups of one more process, which sends them until the test ends.
func (s *site) newWakeups() *Wakeups {
	s.t.Helper()
	c := must.Get(Open(s.t.Context(), Config{URL: s.url, Prefix: s.prefix, Timeout: s.timeout}, Deps{}))(s.t)
	w := must.Get(NewWakeups(c, s.meter))(s.t)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	s.t.Cleanup(func() { cancel(); running.Wait(); c.Close() })
	return w
}

// start starts a worker of some stages, by default all. It has polled once when start returns, and
// polls again after poll.
func (s *site) start(poll time.Duration, do func(context.Context, memory.Job) error, stages ...memory.Stage) *worker {
	s.t.Helper()
	h := &worker{outbox: s.outbox, do: do}
	runner := must.Get(queue.New(h, h, nil, nil, queue.Config{Poll: poll, Burst: 2 * time.Second, Grace: 100 * time.Millisecond, Stages: stages}))(s.t)
	if len(stages) == 0 {
		stages = memory.Stages()
	}
	lanes := map[memory.Stage]int{}
	for _, stage := range stages {
		lanes[stage] = 4
	}
	w := s.newWakeups()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx) })
	running.Go(func() { w.Serve(ctx, runner, lanes) })
	h.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	s.t.Cleanup(h.stop)
	until(s.t, "the first poll", func() bool { return h.polls.Load() > 0 }) // from now on it needs wake-ups
	return h
}

// states returns the state of each stage.
func (s *site) states() map[memory.Stage]WakeState {
	s.t.Helper()
	all := must.Get(s.wakeups.client.WakeStates(s.t.Context()))(s.t)
	out := map[memory.Stage]WakeState{}
	for _, st := range all {
		out[st.Stage] = st
	}
	return out
}

// add puts a job into the outbox and sends its wake-up.
func (s *site) add(ref memory.Due, stage memory.Stage) {
	s.outbox.add(ref, stage)
	s.wakeups.Send(context.Background(), ref, stage)
}

func (s *site) fates(name string) map[string]int64 {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	must.Do(s.t, s.reader.Collect(s.t.Context(), &all))
	sums := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if d, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == name {
				for _, p := range d.DataPoints {
					f, _ := p.Attributes.Value("slipbox.wakeup.fate")
					sums[f.AsString()] += p.Value
				}
			}
		}
	}
	return sums
}

func newRef() memory.Due { return memory.Due{Tenant: uuid.New(), Collection: uuid.New()} }

// Workers that poll once an hour do all jobs by wake-ups, each job once, decisions in order.
func TestWakeUps(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	a, b := s.start(time.Hour, nil), s.start(time.Hour, nil)
	refs := []memory.Due{newRef(), newRef(), newRef()}
	for i := range 300 {
		s.add(refs[i%3], memory.Stages()[i/3%3])
	}
	done := func() int { return len(a.did()) + len(b.did()) } // a job leaves the outbox before its worker says that it did it
	until(t, "all jobs are done", func() bool { return s.outbox.left() == 0 && done() >= 300 })
	if n := done(); n != 300 {
		t.Errorf("%d jobs were done, want 300", n)
	}
	if f := s.fates("slipbox.wakeups.sent"); f["sent"] == 0 || f["dropped"] != 0 {
		t.Errorf("wake-ups: %v", f)
	}
	until(t, "no wake-up is left", func() bool {
		for _, st := range s.states() {
			if st.Waiting != 0 {
				return false
			}
		}
		return true
	})
}

// A job that is added while its lane is drained elsewhere is done immediately, and not at the next poll.
func TestWakeUpsWhileDraining(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	s.start(time.Hour, nil)
	s.start(time.Hour, nil)
	ref := newRef()
	for i := range 200 {
		s.add(ref, memory.StageDecide)
		if i%10 == 0 {
			until(t, "the job is done", func() bool { return s.outbox.left() == 0 })
		}
	}
	until(t, "all jobs are done", func() bool { return s.outbox.left() == 0 })
}

// A lane that had its time gets further wake-ups until it is empty.
func TestMoreIsLeft(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	ref := newRef()
	for range 5 {
		s.outbox.add(ref, memory.StageDecide)
	}
	w := s.start(time.Hour, func(ctx context.Context, _ memory.Job) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(900 * time.Millisecond):
			return nil
		}
	})
	until(t, "the first poll", func() bool { return s.outbox.left() < 5 })
	s.wakeups.Send(t.Context(), ref, memory.StageDecide)
	until(t, "all jobs are done", func() bool { return s.outbox.left() == 0 })
	if got := w.did(); !slices.IsSorted(got) {
		t.Errorf("decided in order %v", got)
	}
}

// patience is a hook that keeps how long a command may take.
type patience struct {
	mu   sync.Mutex
	left map[string]time.Duration
}

func (p *patience) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (p *patience) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, c goredis.Cmder) error {
		p.note(ctx, c.Name())
		return next(ctx, c)
	}
}

func (p *patience) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, list []goredis.Cmder) error {
		for _, c := range list {
			p.note(ctx, c.Name())
		}
		return next(ctx, list)
	}
}

func (p *patience) note(ctx context.Context, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if end, ok := ctx.Deadline(); ok {
		p.left[name] = time.Until(end)
	}
}

// The time that the settings give a call is kept where wake-ups are sent and taken too: a distant server needs it.
func TestWakeUpsHaveTime(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	client := openRedis(t, Config{URL: url, Prefix: prefix, Timeout: time.Hour}, Deps{})
	p := &patience{left: map[string]time.Duration{}}
	client.client.AddHook(p)
	w := must.Get(NewWakeups(client, nil))(t)
	want := newRef()
	w.send(t.Context(), wakeUp{want, memory.StageDecide})
	if got, ok := w.take(t.Context(), memory.StageDecide); !ok || got != want {
		t.Errorf("taken is %v, %t", got, ok)
	}
	for _, name := range []string{"zadd", "bzpopmin", "zpopmin"} {
		if p.left[name] < time.Minute {
			t.Errorf("%s may take %s", name, p.left[name])
		}
	}
}

// A worker of one stage takes only the wake-ups of that stage; another worker does the rest.
func TestStagesOfAWorker(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	a := s.start(50*time.Millisecond, nil, memory.StagePrepare)
	ref := newRef()
	s.add(ref, memory.StageTask)
	s.add(ref, memory.StagePrepare)
	until(t, "it is prepared", func() bool { return len(a.did()) == 1 })
	b := s.start(time.Hour, nil, memory.StageTask)
	until(t, "the task is done", func() bool { return s.outbox.left() == 0 })
	if len(a.did()) != 1 || len(b.did()) != 1 {
		t.Errorf("a did %v, b did %v", a.did(), b.did())
	}
}

// Polling finds the jobs of wake-ups that were lost with all of Redis, and later wake-ups work.
func TestFlush(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	s := newSite(t, srv.URL(), "flushed")
	ref := newRef()
	for range 20 {
		s.add(ref, memory.StageTask)
	}
	until(t, "wake-ups wait", func() bool { return s.fates("slipbox.wakeups.sent")["sent"] > 0 })
	must.Do(t, srv.Client().FlushAll(t.Context()).Err())
	w := s.start(200*time.Millisecond, nil)
	until(t, "all jobs are done", func() bool { return s.outbox.left() == 0 })
	w.stop()
	s.start(time.Hour, nil)
	s.add(ref, memory.StageTask)
	until(t, "a wake-up after the flush", func() bool { return s.outbox.left() == 0 })
}

// While Redis is away a wake-up costs its caller nothing and polling finds the jobs; wake-ups work
// again when Redis is back.
func TestRedisGoes(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	// A command to a frozen server takes this long.
	s := newPatientSite(t, srv.URL(), "gone", time.Second)
	s.start(100*time.Millisecond, nil)
	s.add(newRef(), memory.StageTask)
	until(t, "the first job is done", func() bool { return s.outbox.left() == 0 })
	for name, fault := range map[string]struct{ away, back func() }{"killed": {srv.Kill, srv.Restart}, "frozen": {srv.Freeze, srv.Thaw}} {
		fault.away()
		began := time.Now()
		for range 100 {
			s.add(newRef(), memory.StageTask)
		}
		if took := time.Since(began); took > time.Minute { // each waits for a second at least, when it waits
			t.Errorf("%s: 100 wake-ups took %v", name, took)
		}
		until(t, name+": jobs are done", func() bool { return s.outbox.left() == 0 })
		fault.back()
		before := s.fates("slipbox.wakeups.sent")["sent"]
		until(t, name+": wake-ups are sent again", func() bool {
			s.wakeups.Send(t.Context(), newRef(), memory.StageTask)
			return s.fates("slipbox.wakeups.sent")["sent"] > before
		})
	}
	if s.fates("slipbox.wakeups.sent")["dropped"] == 0 {
		t.Error("no wake-up was counted as dropped")
	}
}

// Senders and workers start without Redis.
func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	srv.Kill()
	s := newSite(t, srv.URL(), "late")
	w := s.start(time.Hour, nil)
	srv.Restart()
	ref := newRef()
	s.outbox.add(ref, memory.StageTask)
	until(t, "the wake-up arrives", func() bool {
		s.wakeups.Send(t.Context(), ref, memory.StageTask)
		return s.outbox.left() == 0
	})
	srv.Kill()
	began := time.Now()
	w.stop()
	if took := time.Since(began); took > 3*time.Minute {
		t.Errorf("a stop without Redis took %v", took)
	}
}

// A stop releases the jobs that are left, and leaves nothing that blocks their collection.
func TestStop(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	busy := make(chan struct{}, 8)
	a := s.start(time.Hour, func(ctx context.Context, _ memory.Job) error {
		busy <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	ref := newRef()
	s.add(ref, memory.StageDecide)
	s.add(ref, memory.StageDecide)
	<-busy
	b := s.start(time.Hour, nil)
	began := time.Now()
	a.stop()
	if took := time.Since(began); took > 3*time.Minute {
		t.Errorf("the stop took %v", took)
	}
	// a released its job after the wake-up; the next write or poll brings b to it.
	until(t, "the other one does it", func() bool {
		s.wakeups.Send(t.Context(), ref, memory.StageDecide)
		return s.outbox.left() == 0
	})
	if got := b.did(); !slices.Equal(got, []int64{0, 1}) {
		t.Errorf("b did %v", got)
	}
}

// Members that cannot be decoded are dropped.
func TestForeignMembers(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	for _, text := range []string{"", "{", uuid.NewString(), uuid.NewString() + "/no"} {
		must.Do(t, s.wakeups.client.client.ZAdd(t.Context(), s.wakeups.client.wakeKey(memory.StageTask), goredis.Z{Member: text}).Err())
	}
	tenant := uuid.New()
	must.Do(t, s.wakeups.client.client.ZAdd(t.Context(), s.wakeups.client.lanesKey(memory.StageTask, tenant), goredis.Z{Member: "no"}).Err())
	must.Do(t, s.wakeups.client.client.ZAdd(t.Context(), s.wakeups.client.wakeKey(memory.StageTask), goredis.Z{Member: tenant.String()}).Err())
	s.start(time.Hour, nil)
	s.add(newRef(), memory.StageTask)
	until(t, "the job is done", func() bool { return s.outbox.left() == 0 })
	until(t, "nothing is left", func() bool { return s.states()[memory.StageTask].Waiting == 0 })
}

// The number of waiting wake-ups is bounded, and the same one waits only once.
func TestWakeBuffer(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	c := openRedis(t, Config{URL: url, Prefix: prefix}, Deps{})
	w := must.Get(NewWakeups(c, nil))(t)
	w.out = make(chan wakeUp, 3)
	ref := newRef()
	for range 10 {
		w.Send(t.Context(), ref, memory.StageTask)
	}
	if len(w.out) != 1 {
		t.Errorf("%d wait", len(w.out))
	}
	for range 10 {
		w.Send(t.Context(), newRef(), memory.StageTask)
	}
	if len(w.out) != 3 || len(w.waiting) != 3 {
		t.Errorf("%d wait", len(w.out))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(gone) // sends those that wait
	if len(w.out) != 0 || len(w.waiting) != 0 {
		t.Errorf("%d wait after the end", len(w.out))
	}
	states, err := c.WakeStates(t.Context())
	if err != nil || states[2].Waiting != 3 {
		t.Errorf("states %v, %v", states, err)
	}
}

// A lane that waits in Redis already is merged, and the one that waits longest is taken first.
func TestLanesWaitOnceInOrder(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	refs := []memory.Due{newRef(), newRef(), newRef()}
	for i, ref := range append(refs, refs[0]) {
		s.wakeups.Send(t.Context(), ref, memory.StageDecide)
		until(t, "it is sent", func() bool {
			f := s.fates("slipbox.wakeups.sent")
			return f["sent"]+f["merged"] == int64(i+1)
		})
		until(t, "a millisecond later", func() func() bool {
			began := time.Now().UnixMilli()
			return func() bool { return time.Now().UnixMilli() > began }
		}())
	}
	if f := s.fates("slipbox.wakeups.sent"); f["sent"] != 3 || f["merged"] != 1 {
		t.Errorf("fates %v", f)
	}
	for _, want := range refs {
		if got, ok := s.wakeups.take(t.Context(), memory.StageDecide); !ok || got != want {
			t.Errorf("took %v, want %v", got, want)
		}
	}
}

// Tenants take turns: one with many collections has one turn for each of the others, and a tenant that comes later
// has the next but one.
func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	many, late := uuid.New(), newRef()
	send := func(refs ...memory.Due) {
		before := s.fates("slipbox.wakeups.sent")["sent"]
		for _, ref := range refs {
			s.wakeups.Send(t.Context(), ref, memory.StageDecide)
		}
		until(t, "they are sent", func() bool { return s.fates("slipbox.wakeups.sent")["sent"] == before+int64(len(refs)) })
	}
	var flood []memory.Due
	for range 300 {
		flood = append(flood, memory.Due{Tenant: many, Collection: uuid.New()})
	}
	send(flood...)
	send(late)
	taken := map[memory.Due]bool{}
	place := -1
	for i := range 301 {
		d, ok := s.wakeups.take(t.Context(), memory.StageDecide)
		if !ok || taken[d] {
			t.Fatalf("take %d: %v, ok %v, taken before %v", i, d, ok, taken[d])
		}
		if taken[d] = true; d == late {
			place = i
		}
	}
	if place < 0 || place > 1 {
		t.Errorf("the other tenant had turn %d, want 0 or 1", place)
	}
	if left := s.states()[memory.StageDecide].Waiting; left != 0 {
		t.Errorf("%d tenants wait after all lanes were taken", left)
	}
}

// WakeStates counts the processes that serve a stage, until they stop.
func TestWorkersAreCounted(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	a := s.start(time.Hour, nil)
	s.start(time.Hour, nil, memory.StageTask)
	until(t, "both are counted", func() bool {
		st := s.states()
		return st[memory.StageTask].Workers == 2 && st[memory.StageDecide].Workers == 1
	})
	a.stop()
	if st := s.states(); st[memory.StageTask].Workers != 1 || st[memory.StageDecide].Workers != 0 {
		t.Errorf("after a stop: %v", st)
	}
}

// stuck is a runner that takes a lane and never returns.
type stuck struct{}

// Drain implements Drainer.
func (stuck) Drain(context.Context, memory.Due, memory.Stage) bool {
	fmt.Fprintln(os.Stdout, "taken")
	select {}
}

// TestKilledWorker kills a worker's process that has taken a wake-up. The next wake-up of its
// collection reaches another worker.
func TestKilledWorker(t *testing.T) {
	const child = "SLIPBOX_TEST_WORKER"
	if os.Getenv(child) == "1" {
		w := must.Get(NewWakeups(openRedis(t, Config{URL: os.Getenv("WORKER_URL"), Prefix: os.Getenv("WORKER_PREFIX")}, Deps{}), nil))(t)
		w.Serve(t.Context(), stuck{}, map[memory.Stage]int{memory.StageDecide: 1})
		return
	}
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	ref := newRef()
	s.wakeups.Send(t.Context(), ref, memory.StageDecide)

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWorker$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), child+"=1", "WORKER_URL="+url, "WORKER_PREFIX="+prefix)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "taken\n" {
		t.Fatalf("the worker says %q: %v", line, err)
	}
	must.Do(t, cmd.Process.Kill())
	cmd.Wait() // it was killed

	s.start(time.Hour, nil)
	s.add(ref, memory.StageDecide)
	until(t, "the job is done", func() bool { return s.outbox.left() == 0 })
	until(t, "nothing is left", func() bool { return s.states()[memory.StageDecide].Waiting == 0 })
}

func TestNewWakeupsRefuses(t *testing.T) {
	t.Parallel()
	if _, err := NewWakeups(nil, nil); !fault.Is(err, fault.Internal) {
		t.Errorf("without a client: %v", err)
	}
}
