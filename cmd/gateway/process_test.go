package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// These tests run the real binary: what a process does when it is started,
// stopped, started twice or killed cannot be seen from inside one.

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gateway-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "gateway")
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

// run runs one command to its end and gives stdout, stderr and the exit code.
func run(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(cleanEnv(), env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %v: %v", args, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// cleanEnv is the environment without settings of a person's own gateway.
func cleanEnv() []string {
	var out []string
	for _, kv := range os.Environ() {
		if !regexp.MustCompile(`^(SLIPBOX_|DATABASE_URL|MIGRATE_DATABASE_URL|REDIS_URL|OPENAI_|OTEL_)`).MatchString(kv) {
			out = append(out, kv)
		}
	}
	return out
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// process is a running `gateway serve`.
type process struct {
	cmd    *exec.Cmd
	url    string
	stdout *buffer
	stderr *buffer
	done   chan struct{}
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// serve starts a gateway on a data directory and waits until it is ready.
func serve(t *testing.T, data string, env []string, args ...string) *process {
	t.Helper()
	p := launch(t, data, freePort(t), env, args...)
	deadline := time.Now().Add(30 * time.Second)
	for {
		resp, err := http.Get(p.url + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return p
			}
		}
		select {
		case <-p.done:
			t.Fatalf("the gateway ended before it was ready:\n%s", p.stderr)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the gateway was not ready within 30 s:\n%s", p.stderr)
		}
	}
}

// launch starts a gateway without waiting.
func launch(t *testing.T, data, addr string, env []string, args ...string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{url: "http://" + addr, stdout: &buffer{}, stderr: &buffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(path, append([]string{"serve", "--addr", addr, "--data", data}, args...)...)
	p.cmd.Env = append(cleanEnv(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process at once, as a power cut or the kernel would.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.done
}

// stop asks the process to end and gives its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(40 * time.Second):
		t.Fatalf("the gateway did not stop within 40 s:\n%s", p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

var keyText = regexp.MustCompile(`sb_[A-Za-z0-9_-]+`)

// newKey makes a key on the command line, beside a running server or not.
func newKey(t *testing.T, data string) string {
	t.Helper()
	out, errOut, code := run(t, nil, "key", "create", "--tenant", "default", "--data", data, "--json")
	var k struct {
		Key string `json:"key"`
	}
	if code != 0 || json.Unmarshal([]byte(out), &k) != nil || !keyText.MatchString(k.Key) {
		t.Fatalf("key create: exit %d\n%s\n%s", code, out, errOut)
	}
	return k.Key
}

type object = map[string]any

// call makes one request; status 0 means that there was no answer.
func (p *process) call(ctx context.Context, key, method, path string, body any) (int, object) {
	var rd io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil
		}
		rd = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, rd)
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = resp.Body.Close() }()
	var out object
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil && resp.StatusCode != http.StatusNoContent {
		return 0, nil
	}
	return resp.StatusCode, out
}

// must makes a request that has to answer with the status.
func (p *process) must(t *testing.T, key string, want int, method, path string, body any) object {
	t.Helper()
	status, out := p.call(t.Context(), key, method, path, body)
	if status != want {
		t.Fatalf("%s %s: status %d, want %d: %v\n%s", method, path, status, want, out, p.stderr)
	}
	return out
}
