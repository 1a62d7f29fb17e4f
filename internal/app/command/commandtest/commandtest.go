// Package commandtest runs commands as processes, for tests of starting, stopping and killing
// them. The binary is the command of the package under test, whose TestMain calls Main, or another
// one, which its TestMain names by MainOf.
package commandtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// source is the folder of the command's package.
var source = "."

// built holds what was built, by folder of the package.
var built struct {
	sync.Mutex

	dir   string // "" until a test needs it
	paths map[string]string
}

// binary returns the path of a command. It is built once per package under test, unless SLIPBOX_BINARIES is a folder
// that has it.
func binary(folder string) (path string, err error) {
	of, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if made := os.Getenv("SLIPBOX_BINARIES"); made != "" {
		return filepath.Join(made, filepath.Base(of)), nil
	}
	built.Lock()
	defer built.Unlock()
	if path = built.paths[of]; path != "" {
		return path, nil
	}
	if built.dir == "" {
		if built.dir, err = os.MkdirTemp("", "command-test-"); err != nil {
			return "", err
		}
		built.paths = map[string]string{}
	}
	path = filepath.Join(built.dir, filepath.Base(of))
	//nolint:gosec // a folder of our own
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, folder).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	built.paths[of] = path
	return path, nil
}

// Main runs the tests of a package and removes the binary.
func Main(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

// MainOf is Main for a package that runs the command of another folder.
func MainOf(m *testing.M, folder string) {
	source = folder
	Main(m)
}

// Limits that end what hangs. They are long, because a process may have little of a busy machine.
const (
	limit     = 5 * time.Minute
	stopLimit = 2 * time.Minute
)

var settings = regexp.MustCompile(`^(SLIPBOX_|DATABASE_URL|MIGRATE_DATABASE_URL|REDIS_URL|OPENAI_|OTEL_)`)

// Command returns a run of the binary, in the environment of the test without settings of slipbox,
// plus env. It uses the hash embedder unless env names another one, so that no test depends on
// installed weights.
func Command(tb testing.TB, env []string, args ...string) *exec.Cmd {
	tb.Helper()
	return CommandOf(tb, source, env, args...)
}

// CommandOf is Command for the command of another folder.
func CommandOf(tb testing.TB, folder string, env []string, args ...string) *exec.Cmd {
	tb.Helper()
	path, err := binary(folder)
	if err != nil {
		tb.Fatal(err)
	}
	//nolint:gosec // the binary that the test is for
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), path, args...)
	for _, kv := range os.Environ() {
		if !settings.MatchString(kv) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, "SLIPBOX_EMBEDDER=hash"), env...)
	return cmd
}

// Run runs one command and waits for its end, for at most five minutes.
func Run(tb testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	p := Start(tb, Command(tb, env, args...))
	select {
	case <-p.Done:
	case <-time.After(limit):
		tb.Fatalf("%v did not end within %v:\n%s", args, limit, p.Stderr)
	}
	return p.Stdout.String(), p.Stderr.String(), p.ExitCode()
}

// Process is a started command.
type Process struct {
	Stdout, Stderr Output
	// Done is closed when the process has ended. ExitCode may be called then.
	Done <-chan struct{}

	cmd *exec.Cmd
}

// Start starts a command. It is killed when the test ends.
func Start(tb testing.TB, cmd *exec.Cmd) *Process {
	tb.Helper()
	done := make(chan struct{})
	p := &Process{Stdout: newOutput(tb), Stderr: newOutput(tb), Done: done, cmd: cmd}
	cmd.Stdout, cmd.Stderr = p.Stdout.file, p.Stderr.file
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	tb.Cleanup(p.Kill)
	return p
}

// Await waits until done returns true, for at most five minutes. It fails when the process ends before.
func (p *Process) Await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for deadline := time.After(limit); !done(); {
		select {
		case <-p.Done:
			tb.Fatalf("the process ended before %s:\n%s", what, p.Stderr)
		case <-deadline:
			tb.Fatalf("not within %v: %s:\n%s", limit, what, p.Stderr)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill kills the process.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.Done
}

// Stop asks the process to end and returns its exit code.
func (p *Process) Stop(tb testing.TB) int {
	tb.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		tb.Fatal(err)
	}
	select {
	case <-p.Done:
	case <-time.After(stopLimit):
		tb.Fatalf("the process did not stop within %v:\n%s", stopLimit, p.Stderr)
	}
	return p.ExitCode()
}

// ExitCode returns the exit code of a process that has ended; -1 when it was killed.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Output is what a process has written. It is a file: what the process wrote before it answered a request is there
// when the answer is, and no reader of a pipe has to be waited for.
type Output struct{ file *os.File }

func newOutput(tb testing.TB) Output {
	tb.Helper()
	f, err := os.CreateTemp(tb.TempDir(), "output-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return Output{f}
}

func (o Output) String() string {
	b, err := os.ReadFile(o.file.Name())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Buffer holds what a server in the same process logs. It may be read while the server writes.
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

// FreePort returns the number of a free port of the loopback device. It is below the range from which
// systems take the ports of clients, so that nothing else has it before the command under test has.
func FreePort(tb testing.TB) string {
	tb.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000)) //nolint:gosec // no secret
		var c net.ListenConfig
		if l, err := c.Listen(tb.Context(), "tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	tb.Fatal("no free port")
	return ""
}
