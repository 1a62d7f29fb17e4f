package app

import (
	"context"
	"flag"
	"hash/crc32"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/document"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

// parallelTests is how many tests run at the same time. They wait for timers, retries and other
// processes more than they compute, so they need not be limited by the number of processors.
const parallelTests = "6"

func TestMain(m *testing.M) {
	document.ServeChild() // uploads are read by a process of this program
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", parallelTests); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// setUps are the ways to run the product. Each starts a gateway and what runs its jobs, with
// settings changed by set.
var setUps = map[string]func(t *testing.T, set func(*Settings)) *gatewayTest{
	"embedded": startGateway,
	"postgres": func(t *testing.T, set func(*Settings)) *gatewayTest {
		t.Helper()
		return newServers(t, false).gateway(set)
	},
	"postgres and redis": func(t *testing.T, set func(*Settings)) *gatewayTest {
		t.Helper()
		s := newServers(t, true)
		s.worker(set)
		return s.gateway(set)
	},
}

// everySetUp reports whether tests run on all set-ups, as they do at night (SLIPBOX_SETUPS=all).
func everySetUp() bool { return os.Getenv("SLIPBOX_SETUPS") == "all" }

// chosenSetUps returns the names of the set-ups of a test: the embedded one, and one of both with servers, by the test's name.
func chosenSetUps(t *testing.T) []string {
	t.Helper()
	if everySetUp() {
		return slices.Sorted(maps.Keys(setUps))
	}
	servers := []string{"postgres", "postgres and redis"}
	return []string{"embedded", servers[crc32.ChecksumIEEE([]byte(t.Name()))%2]}
}

// onEach runs a test on its set-ups.
func onEach(t *testing.T, test func(t *testing.T, start func(set func(*Settings)) *gatewayTest)) {
	t.Helper()
	for _, name := range chosenSetUps(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(set func(*Settings)) *gatewayTest { return setUps[name](t, set) })
		})
	}
}

// running is a gateway or worker that runs until stop.
type running struct {
	stop func()
	logs *commandtest.Buffer
}

func run(t *testing.T, logs *commandtest.Buffer, serve func(ctx context.Context) error) running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	r := running{logs: logs, stop: sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop: %v\n%s", err, logs)
		}
		if t.Failed() {
			t.Logf("log:\n%s", logs)
		}
	})}
	t.Cleanup(r.stop)
	return r
}

// settings returns the default settings changed by base and set, on a free port.
func settings(t *testing.T, base, set func(*Settings)) Settings {
	t.Helper()
	cfg := config.Default()
	cfg.Addr, cfg.Data = "127.0.0.1:0", t.TempDir()
	cfg.LLM.EmbedProvider = "hash"
	for _, fn := range []func(*Settings){base, set} {
		if fn != nil {
			fn(&cfg)
		}
	}
	must.Do(t, cfg.Validate())
	return cfg
}

// launch runs a gateway and waits until it is ready.
func launch(t *testing.T, cfg Settings) (*gatewayTest, *commandtest.Buffer) {
	t.Helper()
	logs, stdout := &commandtest.Buffer{}, &commandtest.Buffer{}
	a := must.Get(NewGateway(t.Context(), cfg, slog.New(slog.NewTextHandler(logs, nil))))(t)
	g := &gatewayTest{t: t, url: a.URL(), handler: a.api, listening: a.bus.Listening}
	g.running = run(t, logs, func(ctx context.Context) error { return a.Run(ctx, stdout, false) })
	g.ready()
	return g, stdout
}

// ready waits until /readyz answers 200.
func (g *gatewayTest) ready() {
	g.t.Helper()
	g.until("it is ready", func() bool {
		resp, err := http.Get(g.url + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// startGateway starts an embedded gateway and uses the key that its first start prints.
func startGateway(t *testing.T, set func(*Settings)) *gatewayTest {
	t.Helper()
	g, stdout := launch(t, settings(t, nil, set))
	g.key = printedKey(t, stdout.String())
	return g
}

// printedKey returns the key that the first start of an embedded gateway prints.
func printedKey(t *testing.T, stdout string) string {
	t.Helper()
	_, after, ok := strings.Cut(stdout, "key: ")
	if !ok {
		t.Fatalf("no key on stdout:\n%s", stdout)
	}
	key, _, _ := strings.Cut(after, "\n")
	return key
}

// servers are a database and perhaps a Redis for the gateways and workers of a test, with a tenant
// and a key to call them with.
type servers struct {
	t        *testing.T
	base     func(*Settings)
	database postgrestest.Database
	tenant   string
	key      string
}

func newServers(t *testing.T, redis bool) *servers {
	t.Helper()
	if !redis {
		return newServersOn(t, "", "")
	}
	url, prefix := redistest.Shared(t)
	s := newServersOn(t, url, prefix)
	base := s.base
	s.base = func(c *Settings) {
		base(c)
		// No test stops this Redis, but all of them keep it busy: a late answer is no outage.
		c.Redis.Timeout = 10 * time.Second
	}
	return s
}

// newServersOn uses a Redis of the test; "" means none.
func newServersOn(t *testing.T, redisURL, prefix string) *servers {
	t.Helper()
	s := &servers{t: t, database: postgrestest.New(t), tenant: "acme"}
	s.base = func(c *Settings) {
		c.DatabaseURL, c.RedisURL = s.database.URL, redisURL
		c.Auth.WrappingKey = "a wrapping key that all of them share"
		c.Database.Connections = 4
		if prefix != "" {
			c.Redis.Prefix = prefix
		}
	}
	s.admin(func(a *Admin) error {
		if _, err := a.CreateTenant(t.Context(), s.tenant); err != nil {
			return err
		}
		k, err := a.CreateKey(t.Context(), s.tenant, NewKey{Name: "test"})
		s.key = k.Text
		return err
	})
	return s
}

// admin calls fn with an Admin, as a command would.
func (s *servers) admin(fn func(*Admin) error) {
	s.t.Helper()
	a := must.Get(OpenAdmin(s.t.Context(), s.settings(nil), slog.New(slog.DiscardHandler)))(s.t)
	defer func() { _ = a.Close() }()
	must.Do(s.t, fn(a))
}

func (s *servers) settings(set func(*Settings)) Settings {
	s.t.Helper()
	return settings(s.t, s.base, set)
}

func (s *servers) gateway(set func(*Settings)) *gatewayTest {
	s.t.Helper()
	g, stdout := launch(s.t, s.settings(set))
	if stdout.String() != "" {
		s.t.Errorf("a gateway over servers printed %q", stdout)
	}
	g.key = s.key
	return g
}

func (s *servers) worker(set func(*Settings)) *gatewayTest {
	s.t.Helper()
	logs := &commandtest.Buffer{}
	w := must.Get(NewWorker(s.t.Context(), s.settings(set), slog.New(slog.NewTextHandler(logs, nil))))(s.t)
	g := &gatewayTest{t: s.t, url: w.URL()}
	g.running = run(s.t, logs, w.Run)
	g.ready()
	return g
}

// until waits until done returns true, for at most three minutes: other tests run beside.
func (g *gatewayTest) until(what string, done func() bool) {
	g.t.Helper()
	for deadline := time.After(3 * time.Minute); !done(); {
		select {
		case <-deadline:
			g.t.Fatalf("not within three minutes: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
