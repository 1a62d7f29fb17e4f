package offline_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// network returns the command line that runs a script in its own network namespace, which has only a
// loopback device. ok is false if the system does not allow that.
func network(ctx context.Context, script string) (args []string, ok bool) {
	const up = "ip link set lo up"
	if exec.CommandContext(ctx, "unshare", "-rn", "sh", "-c", up).Run() != nil {
		return nil, false
	}
	return []string{"unshare", "-rn", "sh", "-c", up + ` && exec "$0"`, script}, true
}

// C086: the shipped example runs offline from start to finish: a gateway starts, a collection is
// created, notes are added and found, and no process is left running.
func TestC086ExampleRunsOffline(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the example needs %s, which is not installed", tool)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	gateway := filepath.Join(dir, "gateway")
	if built := os.Getenv("SLIPBOX_BINARIES"); built != "" {
		gateway = filepath.Join(built, "gateway")
	} else if out, err := exec.CommandContext(ctx, "go", "build", "-o", gateway, "../../../cmd/gateway").CombinedOutput(); err != nil {
		t.Fatalf("build the gateway: %v\n%s", err, out)
	}
	script, err := filepath.Abs("run.sh")
	if err != nil {
		t.Fatal(err)
	}
	args, alone := network(ctx, script)
	if !alone {
		args = []string{script}
	}
	t.Logf("without a network: %v", alone)
	// Below the range from which systems take the ports of clients.
	port := strconv.Itoa(20_000 + rand.IntN(10_000))
	temp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// Settings of the machine, such as a model, must not reach the example.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GATEWAY=" + gateway, "PORT=" + port, "TMPDIR=" + temp}
	// The gateway writes to the script's standard error: while it runs, the output has no end.
	cmd.WaitDelay = 30 * time.Second
	raw, err := cmd.CombinedOutput()
	out := string(raw)
	if errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("the example left its gateway running:\n%s", out)
	}
	if err != nil {
		t.Fatalf("the example failed: %v\n%s", err, out)
	}
	part := func(name string) string {
		_, rest, ok := strings.Cut(out, "\n== "+name)
		if !ok {
			t.Fatalf("there is no part %q:\n%s", name, out)
		}
		body, _, _ := strings.Cut(rest, "\n== ")
		return body
	}
	const asked, about = "Grandmother's sourdough bread recipe", "Bob thinks"
	if !strings.Contains(part("init"), "diary") {
		t.Errorf("no collection:\n%s", out)
	}
	if add := part("add"); strings.Count(add, `"keywords":["`) != 4 {
		t.Errorf("not every note was described:\n%s", add)
	}
	if search := part("search"); !strings.Contains(search, asked) || strings.Count(search, "\n  - ") != 2 {
		t.Errorf("the search did not find two notes with the one asked for:\n%s", search)
	}
	bobs, adas, ok := strings.Cut(part("fork"), "ada's:")
	if !ok || !strings.Contains(bobs, about) || !strings.Contains(bobs, asked) || strings.Contains(adas, about) {
		t.Errorf("the fork is not separate from its base:\n%s%s", bobs, adas)
	}
	if history := part("history"); !strings.Contains(history, "- add") || !strings.Contains(history, "- evolve") {
		t.Errorf("the history does not show how the note changed:\n%s", history)
	}
	if !strings.Contains(part("verify"), "the store is sound") || !strings.HasSuffix(out, "done\n") {
		t.Errorf("the example did not reach its end:\n%s", out)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("the example left files: %v (%v)", left, err)
	}
}
