package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// site is the product under load: its processes, their data, and the model that they ask.
type site struct {
	dir   string
	url   string
	env   []string
	bin   string
	model *process
	procs []*exec.Cmd
}

// Times of starting and stopping.
const (
	startTime = time.Minute
	stopTime  = 30 * time.Second
)

// start starts the processes and waits until they answer.
func start(ctx context.Context, s *settings) (_ *site, err error) {
	t := &site{bin: s.bin}
	defer func() {
		if err != nil {
			t.stop()
		}
	}()
	if t.dir, err = os.MkdirTemp("", "slipbox-load-"); err != nil {
		return nil, err
	}
	if t.model, err = beside(ctx, modelCommand); err != nil {
		return nil, err
	}
	var model string // its base URL
	if _, err := fmt.Fscanln(t.model.out, &model); err != nil {
		return nil, err
	}
	t.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "SLIPBOX_LOG_LEVEL=warn", "SLIPBOX_DATA=" + filepath.Join(t.dir, "data"),
		"SLIPBOX_LLM=openai", "SLIPBOX_LLM_MODEL=fake", "SLIPBOX_LLM_BASE_URL=" + model, "SLIPBOX_EMBEDDER=hash",
	}
	if s.engine == servers {
		for _, name := range []string{"DATABASE_URL", "REDIS_URL"} {
			t.env = append(t.env, name+"="+os.Getenv(name))
		}
		t.env = append(t.env, "SLIPBOX_WRAPPING_KEY=the key of a load test of one day", "SLIPBOX_REDIS_PREFIX=load-"+filepath.Base(t.dir))
	}
	t.env = append(t.env, s.set...)
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	t.url = "http://" + addr
	if err := t.launch("gateway", "serve", "--addr", addr); err != nil {
		return nil, err
	}
	if s.engine == servers {
		if err := t.launch("worker"); err != nil {
			return nil, err
		}
	}
	if err := t.await(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (t *site) launch(name string, args ...string) error {
	log, err := os.Create(filepath.Join(t.dir, name+".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(t.bin, name), args...) //nolint:gosec,noctx // the binary that the caller names; stop ends it
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = t.env, log, log, t.dir
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return err
	}
	t.procs = append(t.procs, cmd)
	return nil
}

func (t *site) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			said, _ := os.ReadFile(filepath.Join(t.dir, "gateway.log"))
			return fmt.Errorf("the gateway does not answer within %s: %w\n%s", startTime, ctx.Err(), said)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// command runs a command of the gateway, and decodes its output unless into is nil.
func (t *site) command(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(t.bin, "gateway"), args...) //nolint:gosec // the binary that the caller names
	cmd.Env, cmd.Dir = t.env, t.dir
	out, err := cmd.Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			return fmt.Errorf("gateway %s: %w: %s", strings.Join(args, " "), err, e.Stderr)
		}
		return err
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(out, into)
}

// limitPause is the time between two measurements of the machine's limits.
const limitPause = 50 * time.Millisecond

// limits measures until the end of ctx what the machine needs for an fsync and for a request that does nothing,
// from outside of the processes under load.
func (t *site) limits(ctx context.Context) (out []sample) {
	f, err := os.Create(filepath.Join(t.dir, "fsync"))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	page := make([]byte, 4096)
	for {
		select {
		case <-ctx.Done():
			return out
		case <-time.After(limitPause):
		}
		began := time.Now()
		if _, err := f.WriteAt(page, 0); err == nil && f.Sync() == nil {
			out = append(out, sample{kind: sync4k, took: time.Since(began), status: http.StatusOK})
		}
		began = time.Now()
		req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, t.url+"/healthz", http.NoBody)
		if err != nil {
			return out
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
			out = append(out, sample{kind: empty, took: time.Since(began), status: resp.StatusCode})
		}
	}
}

// stop ends the processes and removes their data.
func (t *site) stop() {
	for _, p := range t.procs {
		_ = p.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(stopTime, func() { _ = p.Process.Kill() })
		_ = p.Wait()
		kill.Stop()
	}
	if t.model != nil {
		_ = t.model.end()
	}
	if t.dir != "" {
		_ = os.RemoveAll(t.dir)
	}
}
