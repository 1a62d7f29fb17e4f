// Package commandtest runs a command as the process that it is: what one does
// when it is started, stopped, started twice or killed cannot be seen from
// inside. The command is that of the package under test, whose TestMain calls
// Main.
package commandtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// dir holds the binary as soon as a test has asked for it.
var dir string

// binary returns the path of the command under test. It is built once per package, unless
// SLIPBOX_BINARIES is a folder that has it.
var binary = sync.OnceValues(func() (path string, err error) {
	if built := os.Getenv("SLIPBOX_BINARIES"); built != "" {
		here, err := os.Getwd()
		return filepath.Join(built, filepath.Base(here)), err
	}
	if dir, err = os.MkdirTemp("", "command-test-"); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "command")
	//nolint:gosec // a folder of our own
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// Main runs the tests of a package and removes the binary.
func Main(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var settings = regexp.MustCompile(`^(SLIPBOX_|DATABASE_URL|MIGRATE_DATABASE_URL|REDIS_URL|OPENAI_|OTEL_)`)

// Command prepares a run of the binary, in an environment without settings of
// a person's own and with those of env. Unless they say otherwise it embeds by
// hashes, so that no test depends on what is installed.
func Command(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // the binary that the test is for
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, args...)
	for _, kv := range os.Environ() {
		if !settings.MatchString(kv) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, "SLIPBOX_EMBEDDER=hash"), env...)
	return cmd
}

// Run runs one command to its end, for at most a minute.
func Run(t testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	p := Start(t, Command(t, env, args...))
	select {
	case <-p.Done:
	case <-time.After(time.Minute):
		t.Fatalf("%v did not end within a minute:\n%s", args, p.Stderr)
	}
	return p.Stdout.String(), p.Stderr.String(), p.ExitCode()
}

// Process is a command that was started.
type Process struct {
	Stdout, Stderr *Buffer
	// Done is closed when the process has ended; ExitCode may be asked then.
	Done <-chan struct{}

	cmd *exec.Cmd
}

// Start starts a command. It is killed when the test ends.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	done := make(chan struct{})
	p := &Process{Stdout: &Buffer{}, Stderr: &Buffer{}, Done: done, cmd: cmd}
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(p.Kill)
	return p
}

// Await waits until something is so, for at most a minute. The process must
// not end meanwhile.
func (p *Process) Await(t testing.TB, what string, so func() bool) {
	t.Helper()
	for deadline := time.After(time.Minute); !so(); {
		select {
		case <-p.Done:
			t.Fatalf("the process ended before %s:\n%s", what, p.Stderr)
		case <-deadline:
			t.Fatalf("not within a minute: %s:\n%s", what, p.Stderr)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Kill ends the process at once, as a power cut or the kernel would.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.Done
}

// Stop asks the process to end and gives its exit code.
func (p *Process) Stop(t testing.TB) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done:
	case <-time.After(40 * time.Second):
		t.Fatalf("the process did not stop within 40 s:\n%s", p.Stderr)
	}
	return p.ExitCode()
}

// ExitCode is that of a process that has ended; -1 for one that was killed.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Buffer is what a process writes; it may be read meanwhile.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
