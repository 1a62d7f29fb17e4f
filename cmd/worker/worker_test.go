package main

import (
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

// These tests run the real binary, to test how the process starts and stops.

func TestMain(m *testing.M) { commandtest.Main(m) }

const wrapping = "SLIPBOX_WRAPPING_KEY=a wrapping key that all of them share"

// An error for a missing setting is short and says what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = taken.Close() })
	somewhere := []string{wrapping, "DATABASE_URL=postgres://a:guess@127.0.0.1:1/x", "REDIS_URL=redis://127.0.0.1:1"}
	for name, tt := range map[string]struct {
		env, args, want []string
	}{
		"neither":        {nil, nil, []string{"DATABASE_URL", "REDIS_URL", "gateway serve"}},
		"no redis":       {somewhere[:2], nil, []string{"DATABASE_URL", "REDIS_URL", "gateway serve"}},
		"no database":    {[]string{wrapping, somewhere[2]}, nil, []string{"DATABASE_URL", "REDIS_URL", "gateway serve"}},
		"nobody there":   {somewhere, nil, []string{"cannot be reached"}},
		"a taken port":   {somewhere, []string{"--addr", taken.Addr().String()}, []string{taken.Addr().String(), "--addr"}},
		"unknown stage":  {somewhere, []string{"--stages", "decide,dance"}, []string{"dance", "prepare, decide, task or send"}},
		"too many":       {somewhere, []string{"--tasks", "5000"}, []string{"jobs.tasks", "1024"}},
		"an argument":    {somewhere, []string{"now"}, []string{`"now"`, "worker --help"}},
		"a mistyped one": {somewhere, []string{"--stage", "task"}, []string{"--stage", "worker --help"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, msg, code := commandtest.Run(t, tt.env, tt.args...)
			if code != 1 || out != "" {
				t.Errorf("exit code %d, want 1; stdout %q", code, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(msg, want) {
					t.Errorf("%q is missing in: %s", want, msg)
				}
			}
			if strings.Contains(msg, "guess") {
				t.Errorf("the password is told: %s", msg)
			}
		})
	}
}

// process is a running worker.
type process struct {
	*commandtest.Process
	url string
}

var healthURL = regexp.MustCompile(`health=(http://\S+)`)

// start runs a worker and waits until its log names the address.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{Process: commandtest.Start(t, commandtest.Command(t, env, args...))}
	p.Await(t, "it named its address", func() bool {
		m := healthURL.FindStringSubmatch(p.Stderr.String())
		if m != nil {
			p.url = m[1]
		}
		return m != nil
	})
	return p
}

func (p *process) get(t *testing.T, path string) (status int, body map[string]any) {
	t.Helper()
	resp := must.Get(http.Get(p.url + path))(t)
	defer func() { _ = resp.Body.Close() }()
	_ = json.NewDecoder(resp.Body).Decode(&body)
	return resp.StatusCode, body
}

// A worker logs its address and analyst, serves its health there, works while Redis is down, and
// stops on SIGTERM.
func TestStartAndStop(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	redis := redistest.Start(t)
	env := []string{wrapping, "DATABASE_URL=" + db.URL, "REDIS_URL=" + redis.URL()}
	p := start(t, env, "--stages", "prepare,decide", "--decides", "3")
	for _, want := range []string{"heuristic", "prepare decide", "decides=3"} {
		if !strings.Contains(p.Stderr.String(), want) {
			t.Errorf("the log does not tell %q:\n%s", want, p.Stderr)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/version", "/metrics"} {
		if status, body := p.get(t, path); status != http.StatusOK {
			t.Errorf("GET %s: %d %v", path, status, body)
		}
	}
	if status, _ := p.get(t, "/v1/collections"); status != http.StatusNotFound {
		t.Errorf("it serves the API: %d", status)
	}
	if out, err := commandtest.Command(t, nil, "health", "--url", p.url).CombinedOutput(); err != nil || string(out) != "ok: redis ok, store ok, writes ok\n" {
		t.Errorf("health: %v\n%s", err, out)
	}
	at := append([]string{"SLIPBOX_WORKER_ADDR=" + strings.TrimPrefix(p.url, "http://")}, env...)
	if out, err := commandtest.Command(t, at, "health").CombinedOutput(); err != nil || string(out) != "ok: redis ok, store ok, writes ok\n" {
		t.Errorf("health by the settings: %v\n%s", err, out)
	}
	redis.Kill()
	status, body := p.get(t, "/readyz")
	if checks, ok := body["checks"].(map[string]any); status != http.StatusOK || !ok || checks["redis"] != "degraded" {
		t.Errorf("without redis: %d %v", status, body)
	}
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit %d\n%s", code, p.Stderr)
	}
	if !strings.Contains(p.Stderr.String(), "stopped") || strings.Contains(p.Stderr.String(), "dev-only") {
		t.Errorf("log:\n%s", p.Stderr)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	out := must.Get(commandtest.Command(t, nil, "--help").Output())(t)
	for _, want := range []string{"DATABASE_URL", "REDIS_URL", "SLIPBOX_WRAPPING_KEY", "gateway serve", "--stages", "SIGTERM", "/readyz", "worker health"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("help does not speak of %q:\n%s", want, out)
		}
	}
}
