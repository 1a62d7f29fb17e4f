package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/cache/redistest"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
)

// These tests run the real binary: how a process starts and stops cannot be
// seen from inside one.

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "worker-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "worker")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// prepared is the binary with an environment of its own.
func prepared(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, args...)
	settings := regexp.MustCompile(`^(SLIPBOX_|DATABASE_URL|MIGRATE_DATABASE_URL|REDIS_URL|OPENAI_|OTEL_)`)
	for _, kv := range os.Environ() {
		if !settings.MatchString(kv) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

const wrapping = "SLIPBOX_WRAPPING_KEY=a wrapping key that all of them share"

// What a worker cannot do without is told in a few words, with the way out.
func TestRefusals(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
		"unknown stage":  {somewhere, []string{"--stages", "decide,dance"}, []string{"dance", "prepare, decide, task"}},
		"too many":       {somewhere, []string{"--tasks", "5000"}, []string{"jobs.tasks", "1024"}},
		"an argument":    {somewhere, []string{"now"}, []string{`"now"`, "worker --help"}},
		"a mistyped one": {somewhere, []string{"--stage", "task"}, []string{"--stage", "worker --help"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := prepared(t, tt.env, tt.args...)
			var out, msg bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &msg
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || out.Len() > 0 {
				t.Errorf("%v, want exit code 1; stdout %q", err, &out)
			}
			for _, want := range tt.want {
				if !strings.Contains(msg.String(), want) {
					t.Errorf("%q is missing in: %s", want, &msg)
				}
			}
			if strings.Contains(msg.String(), "guess") {
				t.Errorf("the password is told: %s", &msg)
			}
		})
	}
}

// lines gathers what a process writes and finds a word in it.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// process is a running worker.
type process struct {
	cmd    *exec.Cmd
	stderr *lines
	url    string
	done   chan struct{}
}

var healthURL = regexp.MustCompile(`health=(http://\S+)`)

// start runs a worker and waits until its log names the address.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: prepared(t, env, args...), stderr: &lines{}, done: make(chan struct{})}
	p.cmd.Stderr = p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	for deadline := time.After(30 * time.Second); p.url == ""; {
		select {
		case <-p.done:
			t.Fatalf("the worker ended:\n%s", p.stderr)
		case <-deadline:
			t.Fatalf("the worker did not name its address within 30 s:\n%s", p.stderr)
		case <-time.After(10 * time.Millisecond):
		}
		if m := healthURL.FindStringSubmatch(p.stderr.String()); m != nil {
			p.url = m[1]
		}
	}
	return p
}

// stop asks it to end and gives its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		t.Fatalf("the worker did not stop within 30 s:\n%s", p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) get(t *testing.T, path string) (status int, body map[string]any) {
	t.Helper()
	resp, err := http.Get(p.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_ = json.NewDecoder(resp.Body).Decode(&body)
	return resp.StatusCode, body
}

// A worker tells its address and analyst, serves its health there, works on
// while Redis is away, and ends by itself when it is asked to.
func TestStartAndStop(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	redis := redistest.Start(t)
	env := []string{wrapping, "DATABASE_URL=" + db.URL, "REDIS_URL=" + redis.URL()}
	p := start(t, env, "--stages", "prepare,decide", "--decides", "3")
	for _, want := range []string{"heuristic", "prepare decide", "decides=3"} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("the log does not tell %q:\n%s", want, p.stderr)
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
	if out, err := prepared(t, nil, "health", "--url", p.url).CombinedOutput(); err != nil || string(out) != "ok: redis ok, store ok\n" {
		t.Errorf("health: %v\n%s", err, out)
	}
	at := append([]string{"SLIPBOX_WORKER_ADDR=" + strings.TrimPrefix(p.url, "http://")}, env...)
	if out, err := prepared(t, at, "health").CombinedOutput(); err != nil || string(out) != "ok: redis ok, store ok\n" {
		t.Errorf("health by the settings: %v\n%s", err, out)
	}
	redis.Kill()
	status, body := p.get(t, "/readyz")
	if checks, ok := body["checks"].(map[string]any); status != http.StatusOK || !ok || checks["redis"] != "degraded" {
		t.Errorf("without redis: %d %v", status, body)
	}
	if code := p.stop(t); code != 0 {
		t.Errorf("exit %d\n%s", code, p.stderr)
	}
	if !strings.Contains(p.stderr.String(), "stopped") || strings.Contains(p.stderr.String(), "dev-only") {
		t.Errorf("log:\n%s", p.stderr)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	out, err := prepared(t, nil, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"DATABASE_URL", "REDIS_URL", "SLIPBOX_WRAPPING_KEY", "gateway serve", "--stages", "SIGTERM", "/readyz", "worker health"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("help does not speak of %q:\n%s", want, out)
		}
	}
}
