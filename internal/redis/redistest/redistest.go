// Package redistest provides a real Redis to tests: a key prefix on the shared server, or
// a separate server that a test may stop, fill and kill. Without a Redis the tests are
// skipped, or fail if SLIPBOX_REQUIRE_SERVICES is 1.
package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
)

// Shared returns the URL of the shared Redis and a unique prefix. Keys that contain the
// prefix are removed at the end of the test.
func Shared(t *testing.T) (url, prefix string) {
	t.Helper()
	url = os.Getenv("REDIS_URL")
	if url == "" {
		skipOrFail(t, "REDIS_URL is not set; see make services/env")
	}
	prefix = "test-" + uuid.NewString()
	t.Cleanup(func() {
		c := client(t, url)
		defer c.Close() //nolint:errcheck // nothing depends on it
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		keys := c.Scan(ctx, 0, "*"+prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			c.Unlink(ctx, keys.Val())
		}
	})
	return url, prefix
}

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("parse the Redis URL: %v", err)
	}
	return redis.NewClient(opts)
}

// skipOrFail skips the test, or fails it if services are required.
func skipOrFail(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("SLIPBOX_REQUIRE_SERVICES") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Password is the password of the servers that Start starts.
const Password = "test"

// Server is a Redis for one test, without persistence.
type Server struct {
	t    *testing.T
	bin  string
	port string
	args []string
	cmd  *exec.Cmd
	gone chan struct{}
}

// Start starts a server that is killed at the end of the test. args are additional
// settings, such as "--maxmemory", "2mb".
func Start(t *testing.T, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, bin: binary(t), args: args}
	t.Cleanup(s.Kill)
	for range 5 {
		s.port = commandtest.FreePort(t)
		if s.start() {
			return s
		}
	}
	t.Fatal("redis-server does not start")
	return nil
}

// URL returns the URL of the server.
func (s *Server) URL() string { return s.Address("default:" + Password) }

// Address returns the URL with another user and password.
func (s *Server) Address(userinfo string) string {
	return fmt.Sprintf("redis://%s@127.0.0.1:%s/0", userinfo, s.port)
}

// Client returns a plain client of the server, independent of the tested code.
func (s *Server) Client() *redis.Client {
	c := client(s.t, s.URL())
	s.t.Cleanup(func() { c.Close() }) //nolint:errcheck // nothing depends on it
	return c
}

// Kill kills the server, as kill -9 does.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	//nolint:errcheck // it may have ended already
	s.cmd.Process.Kill()
	<-s.gone
	s.cmd = nil
}

// Restart starts a killed server again on its port, without data.
func (s *Server) Restart() {
	s.t.Helper()
	if !s.start() {
		s.t.Fatal("redis-server does not start again")
	}
}

// Freeze makes the server accept connections but answer nothing.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// start starts the server and reports whether it answers. It does not when another process
// uses the port.
func (s *Server) start() bool {
	s.t.Helper()
	args := append([]string{
		"--port", s.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--requirepass", Password, "--dir", s.t.TempDir(), "--daemonize", "no",
	}, s.args...)
	//nolint:gosec // the path of redis-server; Kill ends the process
	s.cmd, s.gone = exec.CommandContext(context.Background(), s.bin, args...), make(chan struct{})
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("start redis-server: %v", err)
	}
	go func(cmd *exec.Cmd, gone chan struct{}) {
		defer close(gone)
		cmd.Wait() //nolint:errcheck // it was killed
	}(s.cmd, s.gone)
	c := client(s.t, s.URL())
	defer c.Close() //nolint:errcheck // nothing depends on it
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if c.Ping(context.Background()).Err() == nil {
			return true
		}
		select {
		case <-s.gone:
			s.cmd = nil
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.Kill()
	return false
}

// binary returns the path of redis-server: from PATH, or from the tools of
// scripts/services.sh.
func binary(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path
	}
	if os.Getenv("REDIS_URL") == "" {
		skipOrFail(t, "redis-server is not in PATH, and REDIS_URL is not set; see make services/env")
	}
	//nolint:gosec // our own script
	out, err := exec.CommandContext(t.Context(), filepath.Join(moduleRoot(t), "scripts", "services.sh"), "bindir").Output()
	path := filepath.Join(strings.TrimSpace(string(out)), "redis-server")
	if _, gone := os.Stat(path); err != nil || gone != nil {
		skipOrFail(t, "redis-server is neither in PATH nor among the tools of scripts/services.sh")
	}
	return path
}

// moduleRoot returns the folder of go.mod at or above the one where the test runs. The
// compiler's file names do not lead there when the test is built with -trimpath.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("there is no go.mod above the folder of the test")
		}
		dir = up
	}
}
