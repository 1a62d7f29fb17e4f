package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
)

// These tests run the real binary, because a test inside the process cannot start it twice, stop it or
// kill it.

func TestMain(m *testing.M) { commandtest.Main(m) }

// run runs one command to its end and returns stdout, stderr and the exit code.
func run(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return commandtest.Run(t, env, args...)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	return "127.0.0.1:" + commandtest.FreePort(t)
}

// process is a running `gateway serve`.
type process struct {
	*commandtest.Process
	url string
}

// serve starts a gateway on a data directory and waits until it is ready.
func serve(t *testing.T, data string, env []string, args ...string) *process {
	t.Helper()
	p := launch(t, data, freeAddr(t), env, args...)
	p.Await(t, "it was ready", func() bool {
		resp, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// launch starts a gateway without waiting.
func launch(t *testing.T, data, addr string, env []string, args ...string) *process {
	t.Helper()
	env = append([]string{"SLIPBOX_DATA=" + data}, env...) // a flag would win over a DATABASE_URL
	cmd := commandtest.Command(t, env, append([]string{"serve", "--addr", addr}, args...)...)
	return &process{commandtest.Start(t, cmd), "http://" + addr}
}

var keyText = regexp.MustCompile(`sb_[A-Za-z0-9_-]+`)

// succeeds runs a command on the data of a gateway, which may run, and returns what it prints.
func succeeds(t *testing.T, data string, args ...string) string {
	t.Helper()
	out, msg, code := run(t, nil, append(args, "--data", data)...)
	if code != 0 {
		t.Fatalf("%v: exit %d\n%s", args, code, msg)
	}
	return out
}

// firstKey returns the key that a first start prints before it is ready.
func (p *process) firstKey(t *testing.T) string {
	t.Helper()
	key := keyText.FindString(p.Stdout.String())
	if key == "" {
		t.Fatalf("no first key:\n%s", p.Stdout)
	}
	return key
}

// newKey creates a key on the command line. The gateway may run or not.
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

// call sends one request. Status 0 means that there was no answer.
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

// must sends a request whose answer must have the status.
func (p *process) must(t *testing.T, key string, want int, method, path string, body any) object {
	t.Helper()
	status, out := p.call(t.Context(), key, method, path, body)
	if status != want {
		t.Fatalf("%s %s: status %d, want %d: %v\n%s", method, path, status, want, out, p.Stderr)
	}
	return out
}
