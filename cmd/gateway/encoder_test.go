package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestEncoderInstall(t *testing.T) {
	t.Parallel()
	from, dir := weightstest.Dir(t), filepath.Join(t.TempDir(), "encoder")
	env := []string{"SLIPBOX_ENCODER_DIR=" + dir, "PATH=" + t.TempDir()} // no pip
	fails := func(want string, args ...string) {
		t.Helper()
		out, msg, code := run(t, env, append([]string{"encoder", "install"}, args...)...)
		if code != 1 || out != "" || !strings.Contains(msg, want) {
			t.Errorf("%v: exit %d, want %q\n%s%s", args, code, want, out, msg)
		}
	}
	fails("--from") // the way out of having no pip
	fails("no such file", "--from", filepath.Join(dir, "absent.whl"))
	fails("model.safetensors", "--from", t.TempDir())

	out, msg, code := run(t, env, "encoder", "install", "--from", from)
	if code != 0 || !strings.Contains(out, "installed") || !strings.Contains(out, dir) || !strings.Contains(msg, "verifying") {
		t.Fatalf("exit %d\n%s%s", code, out, msg)
	}
	// What serving needs besides is not asked for.
	if out, msg, code = run(t, append(env, "DATABASE_URL=postgres://localhost/slipbox"), "encoder", "install"); code != 0 || !strings.Contains(out, "already") || msg != "" {
		t.Errorf("the second time: exit %d\n%s%s", code, out, msg)
	}
	must.Do(t, os.Truncate(filepath.Join(dir, "model.safetensors"), 1000))
	if out, _, code = run(t, append(env, "SLIPBOX_EMBEDDER="), "doctor", "--data", t.TempDir()); code != 0 || !strings.Contains(out, "1000 of 90868376 bytes") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
	if out, msg, code = run(t, env, "encoder", "install", "--from", from); code != 0 || !strings.Contains(out, "installed") {
		t.Errorf("repair: exit %d\n%s%s", code, out, msg)
	}
	if out, _, code = run(t, append(env, "SLIPBOX_EMBEDDER="), "doctor", "--data", t.TempDir()); code != 0 || !strings.Contains(out, "hashes as published") || !strings.Contains(out, "kernels") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
}
