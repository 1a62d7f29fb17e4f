package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
)

// Commands of this program that are processes of their own.
const (
	floodCommand = "flood"
	modelCommand = "model"
)

// process is a part of the load: this program again, with a command.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

// beside starts a part of the load at the lowest priority. It stands for other machines, where it would take no time
// from the product; here it gets the CPUs when no process under load wants them.
func beside(ctx context.Context, command string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "nice", "-n", "19", self, command) //nolint:gosec // this program
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &process{cmd, in, out}, cmd.Start()
}

// end ends the process, and waits for it.
func (p *process) end() error {
	if err := p.in.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return p.cmd.Wait()
}
