package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/test/must"
)

// BenchmarkServers measures gateway processes over Postgres and Redis, called from this process.
// "make bench/servers" starts the servers and prints tables of the results. Run it with
// -benchtime 1x: it takes the time itself.
//
// SLIPBOX_BENCH_SIZES are the sizes of collections, in notes; without it nothing is measured.
// SLIPBOX_BENCH_TURN is how long each figure is measured, by default 2s.
func BenchmarkServers(b *testing.B) {
	m := newServersBench(b)
	m.about(b)
	for _, part := range []struct {
		name string
		run  func(*testing.B)
	}{
		{"durable note", m.adds},
		{"search", m.searches},
		{"fork", m.forks},
		{"two gateways", m.gateways},
		{"scaling", m.scaling},
		{"redis", m.redis},
		{"statements", m.statements}, // last: it leaves queued jobs, which a gateway would run
	} {
		b.Run(part.name, func(b *testing.B) {
			m.logf("%s", part.name)
			part.run(b)
		})
	}
	m.logf("done")
}

// serversBench is one run of the benchmark.
type serversBench struct {
	*site // with a collection of each size, created on first use

	sizes  []int // ascending
	length time.Duration
	began  time.Time
	binary string // of the gateway
}

func newServersBench(b *testing.B) *serversBench {
	b.Helper()
	m := &serversBench{began: time.Now(), length: 2 * time.Second}
	list := os.Getenv("SLIPBOX_BENCH_SIZES")
	if list == "" {
		b.Skip("SLIPBOX_BENCH_SIZES is not set; run \"make bench/servers\"")
	}
	for n := range strings.SplitSeq(list, ",") {
		m.sizes = append(m.sizes, must.Get(strconv.Atoi(n))(b))
	}
	slices.Sort(m.sizes)
	if m.sizes[0] < 100 {
		b.Fatal("SLIPBOX_BENCH_SIZES: a collection must have 100 notes or more")
	}
	if text := os.Getenv("SLIPBOX_BENCH_TURN"); text != "" {
		m.length = must.Get(time.ParseDuration(text))(b)
	}
	m.site = newSite(b)
	m.binary = filepath.Join(b.TempDir(), "gateway")
	if out, err := exec.Command("go", "build", "-o", m.binary, "../../cmd/gateway").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return m
}

// largest and middle return the sizes for parts that do not measure all sizes.
func (m *serversBench) largest() int { return m.sizes[len(m.sizes)-1] }
func (m *serversBench) middle() int  { return m.sizes[max(0, len(m.sizes)-2)] }

// logf prints the progress of the run.
func (m *serversBench) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.1f s  %s\n", time.Since(m.began).Seconds(), fmt.Sprintf(format, args...))
}

// about prints the circumstances of the figures as "key: value" lines.
func (m *serversBench) about(b *testing.B) {
	b.Helper()
	var server, fsync, buffers, vector string
	m.query(b, "SELECT current_setting('server_version'), current_setting('fsync'), current_setting('shared_buffers'), (SELECT extversion FROM pg_extension WHERE extname = 'vector')",
		&server, &fsync, &buffers, &vector)
	options := must.Get(redis.ParseURL(os.Getenv("REDIS_URL")))(b)
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	info := must.Get(client.Info(b.Context(), "server").Result())(b)
	_, version, _ := strings.Cut(info, "redis_version:")
	version, _, _ = strings.Cut(version, "\r\n")
	fmt.Fprintf(os.Stdout, "machine: %d cores, %s, %s/%s, %s; gateways, Postgres, Redis and the clients share it\n",
		runtime.NumCPU(), machineMemory(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintf(os.Stdout, "postgres: %s, pgvector %s, fsync %s, shared_buffers %s\nredis: %s\n", server, vector, fsync, buffers, version)
	fmt.Fprintf(os.Stdout, "time: %s for each figure, in %d turns\n", m.length, turns)
}

func machineMemory() string {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%d GiB", procKilobytes(string(text), "MemTotal:")>>20)
}

// procKilobytes returns a figure of a file of /proc, or 0 when the file lacks it.
func procKilobytes(text, name string) int {
	_, rest, _ := strings.Cut(text, name)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil {
		return 0
	}
	return n
}

// adds measures durable notes: through the store with vector and job, and over HTTP, there also until A-MEM has evolved them.
func (m *serversBench) adds(b *testing.B) {
	f := must.Get(os.Create(filepath.Join(b.TempDir(), "fsync")))(b)
	defer func() { _ = f.Close() }()
	page := make([]byte, 8192)
	must.Get(f.Write(make([]byte, 256*len(page))))(b)
	m.compare(b, way{name: "write 8 KiB over an older page, fsync", do: func(_, i int) error {
		if _, err := f.WriteAt(page, int64(i%256)*int64(len(page))); err != nil {
			return err
		}
		return f.Sync()
	}})
	const most = 32
	ways := func(where string, s *site, add func(c uuid.UUID, i int) error) (out []way) {
		own := make([]uuid.UUID, most)
		for i := range own {
			own[i] = s.newCollection(b)
		}
		hot := s.newCollection(b)
		for _, clients := range []int{1, 8, 16, most} {
			out = append(out, way{name: fmt.Sprintf("%s, clients with a collection each: %d", where, clients), clients: clients, do: func(client, i int) error {
				return add(own[client], i)
			}})
		}
		return append(out, way{name: where + ", clients on one collection: 16", clients: 16, do: func(_, i int) error { return add(hot, i) }})
	}
	store := newSite(b)
	notes := store.notes(b, 1024)
	m.compare(b, ways("store", store, func(c uuid.UUID, i int) error { return store.add(store.Store, c, notes[i%len(notes)]) })...)
	web := newSite(b)
	g := m.gateway(b, web)
	m.compare(b, ways("HTTP", web, func(c uuid.UUID, i int) error { return web.addOverHTTP(g, c, i) })...)
	evolving := web.evolvingCollection(b, g)
	m.compare(b, way{name: "HTTP, until evolved (amem), 1 client", do: func(_, _ int) error { return web.addNew(g, evolving, "evolved") }})
}
