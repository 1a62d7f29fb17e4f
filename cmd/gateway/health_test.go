package main

import (
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
)

// The health command asks at the address in the settings, also when the gateway listens on every
// interface.
func TestHealth(t *testing.T) {
	t.Parallel()
	port := commandtest.FreePort(t)
	env := []string{"SLIPBOX_ADDR=0.0.0.0:" + port}
	if out, msg, code := run(t, env, "health"); code != 1 || out != "" || !strings.Contains(msg, "nothing answers at http://127.0.0.1:"+port) {
		t.Errorf("before the start: exit %d\n%s%s", code, out, msg)
	}
	p := launch(t, t.TempDir(), "0.0.0.0:"+port, nil)
	for deadline := time.Now().Add(30 * time.Second); ; {
		if _, _, code := run(t, env, "health"); code == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not ready within 30 s:\n%s", p.Stderr)
		}
	}
	for _, args := range [][]string{{"health"}, {"health", "--url", "http://127.0.0.1:" + port}} {
		if out, msg, code := run(t, env, args...); code != 0 || out != "ok: store ok, writes ok\n" {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, msg)
		}
	}
	if out, msg, code := run(t, []string{"SLIPBOX_ADDR=127.0.0.1:0"}, "health"); code != 1 || out != "" || !strings.Contains(msg, "--url") {
		t.Errorf("any free port: exit %d\n%s%s", code, out, msg)
	}
	p.Stop(t)
}
