package main

import (
	"bufio"
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
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bench is a run with its gateway.
type bench struct {
	options
	dir    string
	result Result

	process *exec.Cmd
	ended   chan error
	url     string
	key     string
	fsync   float64 // p50 of an fsync, ms
	rate    float64 // bytes of memory read in a millisecond by one processor
	besides int64   // bytes of the data directory that are of forks and copies
}

var keyText = regexp.MustCompile(`sb_[A-Za-z0-9_-]+`)

// start starts the gateway on the run's data and returns when it is ready.
func (b *bench) start(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // for its port
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	out, err := os.CreateTemp(b.dir, "stdout")
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	// The process is ended by stop, also when ctx ends.
	args := []string{"serve", "--addr", addr, "--data", filepath.Join(b.dir, "data"), "--log-level", "error"}
	cmd := exec.Command(b.gateway, args...) //nolint:gosec,noctx // the user's binary
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Env = append(os.Environ(), "SLIPBOX_EMBEDDER="+b.embedder, "DATABASE_URL=", "REDIS_URL=")
	if err := cmd.Start(); err != nil {
		return err
	}
	b.process, b.ended, b.url = cmd, make(chan error, 1), "http://"+addr
	go func() { b.ended <- cmd.Wait() }()
	for {
		err := b.call(ctx, http.MethodGet, "/readyz", nil, nil)
		if err == nil {
			break
		}
		select {
		case ended := <-b.ended:
			b.process = nil
			return fmt.Errorf("the gateway ended: %w", errors.Join(ended, err))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	if b.key == "" {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			return err
		}
		if b.key = keyText.FindString(string(text)); b.key == "" {
			return errors.New("the gateway printed no key")
		}
	}
	return nil
}

// stop ends the gateway.
func (b *bench) stop() error {
	if b.process == nil {
		return nil
	}
	p := b.process
	b.process = nil
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-b.ended:
		return err
	case <-time.After(time.Minute):
		return errors.Join(errors.New("the gateway did not stop within a minute"), p.Process.Kill(), <-b.ended)
	}
}

// call sends a request with the run's key and decodes the answer into out, unless nil.
func (b *bench) call(ctx context.Context, method, path string, body, out any) error {
	return b.callAs(ctx, b.key, method, path, body, out)
}

func (b *bench) callAs(ctx context.Context, key, method, path string, body, out any) error {
	var raw []byte
	contentType := "application/json"
	switch v := body.(type) {
	case nil:
	case []byte:
		raw, contentType = v, "application/x-ndjson"
	default:
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if raw != nil {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, resp.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// linesPerBulk is how many notes are sent in one call: far below the contract's 10,000.
const linesPerBulk = 2_000

// bulk adds notes and fails unless all were created.
func (b *bench) bulk(ctx context.Context, key, collection string, texts []string) error {
	var body bytes.Buffer
	for _, text := range texts {
		line, err := json.Marshal(map[string]string{"content": text})
		if err != nil {
			return err
		}
		body.Write(append(line, '\n'))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+"/v1/collections/"+collection+"/notes/bulk", &body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var last string
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		last = lines.Text()
	}
	var end struct {
		Summary struct{ Created, Failed int }
	}
	if err := errors.Join(lines.Err(), json.Unmarshal([]byte(last), &end)); err != nil || end.Summary.Created != len(texts) {
		return fmt.Errorf("a bulk of %d notes: %s: %.300s: %w", len(texts), resp.Status, last, err)
	}
	return nil
}

// resident returns the resident memory of the gateway, and the part that is not of files, in MiB.
func (b *bench) resident() (all, own float64, err error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(b.process.Process.Pid) + "/status")
	if err != nil {
		return 0, 0, err
	}
	field := func(name string) float64 {
		_, rest, _ := strings.Cut(string(status), name+":")
		kib, _ := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
		return kib / 1024
	}
	return field("VmRSS"), field("RssAnon"), nil
}

// disk returns the bytes of the data directory, without the log, which is truncated when nobody writes.
func (b *bench) disk() (bytes int64, err error) {
	err = filepath.Walk(filepath.Join(b.dir, "data"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && !strings.HasSuffix(info.Name(), "-wal") {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
