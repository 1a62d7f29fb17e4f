package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// ways are the mechanisms by which workers can learn of jobs.
var ways = map[string]func(ctx context.Context, url, prefix string) (*wakeWay, error){
	"sorted set": func(ctx context.Context, url, prefix string) (*wakeWay, error) {
		c, err := redis.Open(ctx, redis.Config{URL: url, Prefix: prefix}, redis.Deps{})
		if err != nil {
			return nil, err
		}
		w, err := redis.NewWakeups(c, nil)
		if err != nil {
			return nil, err
		}
		return &wakeWay{
			send: w.Send, run: w.Run,
			serve: func(ctx context.Context, r *queue.Runner) {
				w.Serve(ctx, r, map[memory.Stage]int{memory.StagePrepare: 4, memory.StageDecide: 4, memory.StageTask: 2})
			},
		}, nil
	},
	// Every worker receives each wake-up, and the store's leases decide which one does the job.
	"broadcast": func(ctx context.Context, url, prefix string) (*wakeWay, error) {
		c, err := redis.Open(ctx, redis.Config{URL: url, Prefix: prefix}, redis.Deps{})
		if err != nil {
			return nil, err
		}
		bus := redis.NewBus(c)
		return &wakeWay{
			send: func(ctx context.Context, d memory.Due, _ memory.Stage) {
				bus.Publish(ctx, redis.News{Tenant: d.Tenant, Collection: d.Collection})
			},
			run: bus.Run,
			serve: func(ctx context.Context, r *queue.Runner) {
				bus.Listen(ctx, func(n redis.News) {
					go r.Drain(ctx, memory.Due{Tenant: n.Tenant, Collection: n.Collection}, memory.StageTask)
				})
			},
		}, nil
	},
}

// wakeWay is one mechanism in a process.
type wakeWay struct {
	send  func(context.Context, memory.Due, memory.Stage)
	run   func(context.Context) // sends
	serve func(context.Context, *queue.Runner)
}

// BenchmarkWakeups measures how worker processes learn of jobs that this process commits to
// Postgres. For each way and number of workers it reports:
//
//   - the time from a commit to the start of its job, one job at a time (p50-ms, p99-ms), how many
//     of these jobs polling found as no wake-up arrived (polled), and how many claims the store
//     answered for each (claims/one);
//   - jobs per second when eight writers commit jobs to 50 collections (jobs/s), and the claims
//     for each (claims/job);
//   - commands that idle workers send to Redis (idle-cmds/s).
//
// A worker's process is this test binary with SLIPBOX_BENCH_WORKER set.
func BenchmarkWakeups(b *testing.B) {
	if os.Getenv(benchWorkerEnv) != "" {
		benchWorker(b)
		return
	}
	url := os.Getenv("REDIS_URL")
	if url == "" || os.Getenv("DATABASE_URL") == "" {
		b.Skip("REDIS_URL and DATABASE_URL are not set; see make services/env")
	}
	for _, way := range []string{"sorted set", "broadcast"} {
		for _, workers := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/workers=%d", way, workers), func(b *testing.B) {
				for b.Loop() {
					measureWakeups(b, url, way, workers)
				}
			})
		}
	}
}

func measureWakeups(b *testing.B, url, way string, workers int) {
	b.Helper()
	site := newWakeSite(b, url, way, workers)
	before := site.commands()
	const idle = 3 * time.Second
	timer := time.NewTimer(idle)
	<-timer.C
	b.ReportMetric(float64(site.commands()-before-1)/idle.Seconds(), "idle-cmds/s")

	const single = 200
	var took []time.Duration
	polled := 0
	claims := site.claims.Load()
	for range single {
		at := site.commit(b, rand.IntN(len(site.collections)))
		d := site.started(b, at.job).Sub(at.done)
		took = append(took, d)
		if d > time.Second {
			polled++
		}
		timer.Reset(time.Duration(5+rand.IntN(20)) * time.Millisecond)
		<-timer.C
	}
	b.ReportMetric(float64(site.claims.Load()-claims)/single, "claims/one")
	slices.Sort(took)
	b.ReportMetric(float64(took[single/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[single*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(polled), "polled")

	const writers, each = 8, 250
	claims = site.claims.Load()
	began := time.Now()
	var last sync.Map
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				last.Store(site.commit(b, (w*each+i)%len(site.collections)).job, nil)
			}
		})
	}
	writing.Wait()
	end := began
	last.Range(func(job, _ any) bool {
		if at := site.started(b, job.(uuid.UUID)); at.After(end) {
			end = at
		}
		return true
	})
	b.ReportMetric(writers*each/end.Sub(began).Seconds(), "jobs/s")
	b.ReportMetric(float64(site.claims.Load()-claims)/(writers*each), "claims/job")
}

// wakeSite is a store with collections, worker processes, and the sender.
type wakeSite struct {
	store       *postgres.Store
	scope       tenant.Scope
	collections []uuid.UUID
	way         *wakeWay
	client      *goredis.Client
	claims      atomic.Int64

	mu   sync.Mutex
	jobs map[uuid.UUID]chan time.Time // when it started
}

func newWakeSite(b *testing.B, url, name string, workers int) *wakeSite {
	b.Helper()
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	s := &wakeSite{jobs: map[uuid.UUID]chan time.Time{}}
	db := postgrestest.New(b)
	var err error
	s.store, err = postgres.Open(b.Context(), postgres.Config{URL: db.URL}, postgres.Deps{})
	check(err)
	b.Cleanup(func() { s.store.Close() })
	made, err := s.store.CreateTenant(b.Context(), grant.Operator("bench"), tenant.Tenant{Name: "bench", State: tenant.Active})
	check(err)
	s.scope = grant.Scope(made.ID, uuid.Nil, "bench", tenant.AllPermissions()...)
	for i := range 50 {
		c := memory.Collection{Name: fmt.Sprint("c", i), Policy: "none", Embedder: "test-4", Dim: 4, State: memory.CollectionActive}
		made, err := s.store.CreateCollection(b.Context(), s.scope, memory.NewCollection{Collection: c, Audit: memory.AuditEntry{Action: "collection.create"}})
		check(err)
		s.collections = append(s.collections, made.Collection.ID)
	}
	opts, err := goredis.ParseURL(url)
	check(err)
	s.client = goredis.NewClient(opts)
	b.Cleanup(func() { s.client.Close() })
	prefix := "bench-" + uuid.NewString()
	s.way, err = ways[name](b.Context(), url, prefix)
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.way.run(ctx) })
	b.Cleanup(func() { stop(); running.Wait() })
	for range workers {
		s.startWorker(b, url, prefix, name, db.URL)
	}
	return s
}

// startWorker starts a process that runs jobs and reports "id nanoseconds" for each, "ready" and
// "claim" for each claim. It ends with its input.
func (s *wakeSite) startWorker(b *testing.B, url, prefix, way, database string) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkWakeups$", "-test.benchtime=1x")
	cmd.Env = append(os.Environ(), benchWorkerEnv+"="+way, "BENCH_REDIS="+url, "BENCH_PREFIX="+prefix, "BENCH_DATABASE="+database)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ready := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() { s.read(out, sync.OnceFunc(func() { close(ready) })) })
	b.Cleanup(func() {
		in.Close()
		reading.Wait()
		cmd.Wait() // which fails as the benchmark did not end
	})
	<-ready
}

func (s *wakeSite) read(out io.Reader, ready func()) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		first, second, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseInt(second, 10, 64)
		if first == "ready" {
			ready()
		} else if first == "claim" {
			s.claims.Add(1)
		} else if id, err := uuid.Parse(first); err == nil {
			s.job(id) <- time.Unix(0, n)
		}
	}
	ready()
}

func (s *wakeSite) job(id uuid.UUID) chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[id] == nil {
		s.jobs[id] = make(chan time.Time, 1)
	}
	return s.jobs[id]
}

type committed struct {
	job  uuid.UUID
	done time.Time
}

// commit enqueues a job and sends its wake-up, as a gateway does.
func (s *wakeSite) commit(b *testing.B, i int) committed {
	b.Helper()
	var j memory.Job
	c := s.collections[i]
	_, err := s.store.Write(context.Background(), s.scope, c, memory.WriteOptions{Cause: memory.CauseImport}, func(ctx context.Context, tx memory.Tx) (err error) {
		j, err = tx.Enqueue(ctx, memory.Job{Collection: c, Kind: memory.JobImport, Stage: memory.StageTask})
		return err
	})
	if err != nil {
		b.Error(err)
	}
	done := time.Now()
	s.way.send(context.Background(), memory.Due{Tenant: s.scope.Tenant(), Collection: c}, memory.StageTask)
	return committed{j.ID, done}
}

func (s *wakeSite) started(b *testing.B, job uuid.UUID) time.Time {
	b.Helper()
	select {
	case at := <-s.job(job):
		return at
	case <-time.After(time.Minute):
		b.Fatalf("job %s did not start", job)
		return time.Time{}
	}
}

// commands returns how many commands Redis has processed.
func (s *wakeSite) commands() int64 {
	text, _ := s.client.Info(context.Background(), "stats").Result()
	_, rest, _ := strings.Cut(text, "total_commands_processed:")
	first, _, _ := strings.Cut(rest, "\r\n")
	n, _ := strconv.ParseInt(first, 10, 64)
	return n
}

const benchWorkerEnv = "SLIPBOX_BENCH_WORKER"

// benchWorker runs in a worker process.
func benchWorker(b *testing.B) {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin) // it ends with the parent
		stop()
	}()
	db, err := postgres.Open(ctx, postgres.Config{URL: os.Getenv("BENCH_DATABASE")}, postgres.Deps{})
	if err != nil {
		b.Fatal(err)
	}
	w := &timedWorker{store: db}
	runner, err := queue.New(w, w, nil, nil, queue.Config{Poll: 2 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	way, err := ways[os.Getenv(benchWorkerEnv)](ctx, os.Getenv("BENCH_REDIS"), os.Getenv("BENCH_PREFIX"))
	if err != nil {
		b.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx) })
	running.Go(func() { way.run(ctx) })
	running.Go(func() { way.serve(ctx, runner) })
	running.Wait()
	db.Close()
	os.Exit(0) // without a report
}

// timedWorker ends each job immediately and reports when it started.
type timedWorker struct {
	store *postgres.Store
	ready sync.Once
	mu    sync.Mutex
}

func (w *timedWorker) printf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

// Due implements queue.Source.
func (w *timedWorker) Due(ctx context.Context, limit int) ([]memory.Due, error) {
	defer w.ready.Do(func() { w.printf("ready") })
	return w.store.DueCollections(ctx, time.Now().UTC(), limit)
}

// Claim implements queue.Source.
func (w *timedWorker) Claim(ctx context.Context, c memory.Due, s memory.Stage, token uuid.UUID, until time.Time, limit int) ([]memory.Job, error) {
	w.printf("claim")
	return w.store.ClaimJobs(ctx, grant.Job(c.Tenant, uuid.Nil), c.Collection, s, token, until.UTC(), limit)
}

// Heartbeat implements queue.Source.
func (w *timedWorker) Heartbeat(ctx context.Context, j memory.Job, until time.Time) (bool, error) {
	err := w.store.Heartbeat(ctx, grant.Job(j.Tenant, j.ID), j.ID, j.Lease, until.UTC())
	return err == nil, nil
}

// NextDue implements queue.Source.
func (w *timedWorker) NextDue(ctx context.Context) (time.Time, error) { return w.store.NextDue(ctx) }

// Deadline implements queue.Handler.
func (w *timedWorker) Deadline(memory.Job) time.Duration { return 0 }

// Handle implements queue.Handler.
func (w *timedWorker) Handle(ctx context.Context, j memory.Job) error {
	w.printf("%s %d", j.ID, time.Now().UnixNano())
	return w.store.ReleaseJob(ctx, grant.Job(j.Tenant, j.ID), j.ID, j.Lease, memory.JobEnd{State: memory.JobDone, Stage: j.Stage})
}

// Settle implements queue.Handler.
func (w *timedWorker) Settle(context.Context, memory.Job, error) error { return nil }

// Done implements queue.Handler.
func (w *timedWorker) Done(memory.Job) {}
