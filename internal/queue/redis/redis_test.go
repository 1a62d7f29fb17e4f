package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
)

// outbox keeps jobs under leases, as a store does, for several workers of the test.
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

// change changes a job that is held.
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

// worker is a process that runs jobs: its own runner and servers over the shared outbox.
type worker struct {
	*outbox
	name string
	do   func(ctx context.Context, w memory.Job) error

	looked atomic.Int64

	mu   sync.Mutex
	done []memory.Job
	stop func()
}

// Due implements queue.Source.
func (h *worker) Due(ctx context.Context, limit int) ([]memory.Due, error) {
	defer h.looked.Add(1)
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

// site is an installation of the test: an outbox, a Redis, and a relay.
type site struct {
	t           *testing.T
	url, prefix string
	outbox      *outbox
	relay       *Relay
	reader      *metric.ManualReader
	deps        Deps
}

func newSite(t *testing.T, url, prefix string) *site {
	t.Helper()
	s := &site{t: t, url: url, prefix: prefix, outbox: &outbox{}, reader: metric.NewManualReader()}
	s.deps.Meter = metric.NewMeterProvider(metric.WithReader(s.reader)).Meter("test")
	s.relay = s.newRelay(RelayConfig{})
	return s
}

func (s *site) newRelay(cfg RelayConfig) *Relay {
	s.t.Helper()
	cfg.URL, cfg.Prefix = s.url, s.prefix
	r, err := NewRelay(cfg, s.deps)
	must(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	s.t.Cleanup(func() { cancel(); running.Wait(); r.Close() })
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a worker, which has looked once when start returns; poll is how often it looks again by itself.
func (s *site) start(name string, poll time.Duration, do func(context.Context, memory.Job) error, cfg ServerConfig) *worker {
	s.t.Helper()
	h := &worker{outbox: s.outbox, name: name, do: do}
	runner, err := queue.New(h, h, nil, nil, queue.Config{Poll: poll, Burst: 2 * time.Second, Grace: 100 * time.Millisecond, Stages: cfg.Stages})
	must(s.t, err)
	cfg.URL, cfg.Prefix, cfg.Check = s.url, s.prefix, 10*time.Millisecond
	srv, err := NewServer(runner, s.relay, cfg, s.deps)
	must(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx) })
	running.Go(func() {
		if err := srv.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	h.stop = sync.OnceFunc(func() { cancel(); running.Wait(); srv.Close() })
	s.t.Cleanup(h.stop)
	until(s.t, "the first look", func() bool { return h.looked.Load() > 0 }) // from now on it must be told
	return h
}

// add leaves a job in the outbox and tells of it.
func (s *site) add(ref memory.Due, stage memory.Stage) {
	s.outbox.add(ref, stage)
	s.relay.Wake(context.Background(), ref, stage)
}

func (s *site) fates(name string) map[string]int64 {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	must(s.t, s.reader.Collect(s.t.Context(), &all))
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

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.After(30 * time.Second); !ok(); {
		select {
		case <-deadline:
			t.Fatalf("%s: not within 30 s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func newRef() memory.Due { return memory.Due{Tenant: uuid.New(), Collection: uuid.New()} }

func (s *site) inspector() *asynq.Inspector {
	s.t.Helper()
	c, err := connect(s.url, 5*time.Second, false)
	must(s.t, err)
	s.t.Cleanup(func() { c.Close() })
	return asynq.NewInspectorFromRedisClient(c)
}

// Workers that would look by themselves in an hour do all that they are told of, each job once, decisions in order.
func TestWakeUps(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	a, b := s.start("a", time.Hour, nil, ServerConfig{}), s.start("b", time.Hour, nil, ServerConfig{})
	refs := []memory.Due{newRef(), newRef(), newRef()}
	for i := range 300 {
		s.add(refs[i%3], memory.Stages()[i/3%3])
	}
	until(t, "all jobs are done", func() bool { return s.outbox.left() == 0 })
	if n := len(a.did()) + len(b.did()); n != 300 {
		t.Errorf("%d jobs were done, want 300", n)
	}
	if f := s.fates("slipbox.wakeups.sent"); f["sent"] == 0 || f["dropped"] != 0 {
		t.Errorf("wake-ups: %v", f)
	}
	until(t, "no task is left", func() bool {
		for _, stage := range memory.Stages() {
			info, err := s.inspector().GetQueueInfo(queueName(prefix, stage))
			if err != nil || info.Size != 0 {
				return false
			}
		}
		return true
	})
}

// What is told while a lane is drained elsewhere is done at once, and not at the next look.
func TestWhatIsToldMeanwhile(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	s.start("a", time.Hour, nil, ServerConfig{})
	s.start("b", time.Hour, nil, ServerConfig{})
	ref := newRef()
	for i := range 200 {
		s.add(ref, memory.StageDecide)
		if i%10 == 0 {
			until(t, "the job is done", func() bool { return s.outbox.left() == 0 })
		}
	}
	until(t, "all jobs are done", func() bool { return s.outbox.left() == 0 })
}

// A lane that had its time is woken again until it is empty.
func TestMoreIsLeft(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	ref := newRef()
	for range 5 {
		s.outbox.add(ref, memory.StageDecide)
	}
	w := s.start("a", time.Hour, func(ctx context.Context, _ memory.Job) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(900 * time.Millisecond):
			return nil
		}
	}, ServerConfig{})
	until(t, "the first look", func() bool { return s.outbox.left() < 5 })
	s.relay.Wake(t.Context(), ref, memory.StageDecide)
	until(t, "all jobs are done", func() bool { return s.outbox.left() == 0 })
	if got := w.did(); !slices.IsSorted(got) {
		t.Errorf("decided in order %v", got)
	}
}

// A worker of one stage takes that stage's wake-ups only, and another does the rest.
func TestStagesOfAWorker(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	a := s.start("a", 50*time.Millisecond, nil, ServerConfig{Stages: []memory.Stage{memory.StagePrepare}})
	ref := newRef()
	s.add(ref, memory.StageTask)
	s.add(ref, memory.StagePrepare)
	until(t, "it is prepared", func() bool { return len(a.did()) == 1 })
	b := s.start("b", time.Hour, nil, ServerConfig{Stages: []memory.Stage{memory.StageTask}})
	until(t, "the task is done", func() bool { return s.outbox.left() == 0 })
	if len(a.did()) != 1 || len(b.did()) != 1 {
		t.Errorf("a did %v, b did %v", a.did(), b.did())
	}
}

// Wake-ups that were lost with all of Redis are covered by the workers' own looks, and the next ones work.
func TestFlush(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	s := newSite(t, srv.URL(), "flushed")
	ref := newRef()
	for range 20 {
		s.add(ref, memory.StageTask)
	}
	until(t, "wake-ups wait", func() bool { return s.fates("slipbox.wakeups.sent")["sent"] > 0 })
	must(t, srv.Client().FlushAll(t.Context()).Err())
	w := s.start("a", 200*time.Millisecond, nil, ServerConfig{})
	until(t, "all jobs are done", func() bool { return s.outbox.left() == 0 })
	w.stop()
	s.start("b", time.Hour, nil, ServerConfig{})
	s.add(ref, memory.StageTask)
	until(t, "a wake-up after the flush", func() bool { return s.outbox.left() == 0 })
	// The queue's name went with the flush; a leftover is found and removed nevertheless.
	must(t, srv.Client().FlushAll(t.Context()).Err())
	leaveArchived(t, s, ref, memory.StageTask)
	must(t, srv.Client().Del(t.Context(), "asynq:queues").Err())
	s.add(ref, memory.StageTask)
	until(t, "a wake-up past a leftover", func() bool { return s.outbox.left() == 0 })
}

// leaveArchived makes what a worker that died leaves behind: a task under the collection's id that nobody takes.
func leaveArchived(t *testing.T, s *site, ref memory.Due, stage memory.Stage) {
	t.Helper()
	c, err := connect(s.url, 5*time.Second, false)
	must(t, err)
	defer c.Close()
	name := queueName(s.prefix, stage)
	// Delayed, so that no worker takes it before it is archived.
	_, err = asynq.NewClientFromRedisClient(c).Enqueue(asynq.NewTask(taskType, nil), asynq.Queue(name), asynq.TaskID(ref.Collection.String()), asynq.ProcessIn(time.Hour))
	must(t, err)
	must(t, asynq.NewInspectorFromRedisClient(c).ArchiveTask(name, ref.Collection.String()))
}

func TestArchivedLeftover(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	s.start("a", time.Hour, nil, ServerConfig{})
	for _, stage := range memory.Stages() {
		ref := newRef()
		leaveArchived(t, s, ref, stage)
		s.add(ref, stage)
	}
	until(t, "all jobs are done", func() bool { return s.outbox.left() == 0 })
}

// While Redis is away a wake-up costs its caller nothing, workers find the jobs by looking, and all goes on when it is back.
func TestRedisGoes(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	s := newSite(t, srv.URL(), "gone")
	s.start("a", 100*time.Millisecond, nil, ServerConfig{})
	s.add(newRef(), memory.StageTask)
	until(t, "the first job is done", func() bool { return s.outbox.left() == 0 })
	for name, fault := range map[string]struct{ away, back func() }{"killed": {srv.Kill, srv.Restart}, "frozen": {srv.Freeze, srv.Thaw}} {
		fault.away()
		began := time.Now()
		for range 500 {
			s.add(newRef(), memory.StageTask)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s: 500 wake-ups took %v", name, took)
		}
		until(t, name+": jobs are done", func() bool { return s.outbox.left() == 0 })
		fault.back()
		before := s.fates("slipbox.wakeups.sent")["sent"]
		until(t, name+": wake-ups are sent again", func() bool {
			s.relay.Wake(t.Context(), newRef(), memory.StageTask)
			return s.fates("slipbox.wakeups.sent")["sent"] > before
		})
	}
	if s.fates("slipbox.wakeups.sent")["dropped"] == 0 {
		t.Error("no wake-up was counted as dropped")
	}
}

// Relays and servers start without Redis.
func TestStartWithoutRedis(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	srv.Kill()
	s := newSite(t, srv.URL(), "late")
	w := s.start("a", time.Hour, nil, ServerConfig{})
	srv.Restart()
	ref := newRef()
	s.outbox.add(ref, memory.StageTask)
	until(t, "the wake-up arrives", func() bool {
		s.relay.Wake(t.Context(), ref, memory.StageTask)
		return s.outbox.left() == 0
	})
	srv.Kill()
	began := time.Now()
	w.stop()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("a stop without Redis took %v", took)
	}
}

// A stop hands on what is left, and leaves no task that blocks its collection.
func TestStop(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	busy := make(chan struct{}, 8)
	a := s.start("a", time.Hour, func(ctx context.Context, _ memory.Job) error {
		busy <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, ServerConfig{})
	ref := newRef()
	s.add(ref, memory.StageDecide)
	s.add(ref, memory.StageDecide)
	<-busy
	b := s.start("b", time.Hour, nil, ServerConfig{})
	began := time.Now()
	a.stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stop took %v", took)
	}
	// a gave its job back after the wake-up; somebody's next write or look wakes b for it.
	until(t, "the other one does it", func() bool {
		s.relay.Wake(t.Context(), ref, memory.StageDecide)
		return s.outbox.left() == 0
	})
	if got := b.did(); !slices.Equal(got, []int64{0, 1}) {
		t.Errorf("b did %v", got)
	}
}

// Wake-ups that are of another build, or nonsense, are dropped and leave nothing behind.
func TestForeignPayloads(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	s := newSite(t, url, prefix)
	newer, err := json.Marshal(payload{Version: payloadVersion + 1, Tenant: uuid.New(), Collection: uuid.New()})
	must(t, err)
	name := queueName(prefix, memory.StageTask)
	for i, body := range []string{string(newer), "", "{", `{"v":1,"t":"no"}`} {
		must(t, s.relay.put(t.Context(), name, fmt.Sprint("foreign", i), []byte(body)))
	}
	s.start("a", time.Hour, nil, ServerConfig{})
	s.add(newRef(), memory.StageTask)
	until(t, "the job is done", func() bool { return s.outbox.left() == 0 })
	until(t, "nothing is left", func() bool {
		info, err := s.inspector().GetQueueInfo(name)
		return err == nil && info.Size == 0
	})
}

// What waits is bounded, and the same wake-up waits once.
func TestBuffer(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	r, err := NewRelay(RelayConfig{URL: url, Prefix: prefix, Buffer: 3}, Deps{})
	must(t, err)
	defer r.Close()
	ref := newRef()
	for range 10 {
		r.Wake(t.Context(), ref, memory.StageTask)
	}
	if len(r.out) != 1 {
		t.Errorf("%d wait", len(r.out))
	}
	for range 10 {
		r.Wake(t.Context(), newRef(), memory.StageTask)
	}
	if len(r.out) != 3 || len(r.waiting) != 3 {
		t.Errorf("%d wait", len(r.out))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r.Run(gone) // sends what waits
	if len(r.out) != 0 || len(r.waiting) != 0 {
		t.Errorf("%d wait after the end", len(r.out))
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "http://h", "redis://u:s3cr%zzet@h"} {
		if _, err := NewRelay(RelayConfig{URL: url}, Deps{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := NewServer(nil, nil, ServerConfig{URL: "redis://h"}, Deps{}); err == nil {
		t.Error("no runner is accepted")
	}
	runner, err := queue.New(&worker{outbox: &outbox{}}, &worker{}, nil, nil, queue.Config{})
	must(t, err)
	if _, err := NewServer(runner, nil, ServerConfig{URL: "redis://h", Stages: []memory.Stage{"dream"}}, Deps{}); err == nil {
		t.Error("an unknown stage is accepted")
	}
}
