package auth

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

func TestConfigReportsEveryProblem(t *testing.T) {
	t.Parallel()
	m := newMemStore()
	deps := Deps{Keys: m, SigningKeys: m, Grants: m, Directory: m, Agents: m, Clock: time.Now, Logger: slog.New(slog.DiscardHandler)}
	_, err := New(deps, Config{
		Env: "Live!", TokenTTL: 2 * time.Hour, Leeway: time.Minute, StatusTTL: time.Minute, SigningKeyAge: -1, KeyOverlap: -1, StatusSize: -1,
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"Env", "Secret", "TokenTTL", "Leeway", "StatusTTL", "SigningKeyAge", "KeyOverlap", "StatusSize"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in: %v", name, err)
		}
	}
	if _, err := New(Deps{}, Config{Secret: make([]byte, 32)}); err == nil {
		t.Error("a Service was created without a store")
	}
}

func TestSecretFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "token.secret")
	var wg sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wg.Go(func() {
			b, err := SecretFile(path)
			if err != nil {
				t.Error(err)
			}
			got[i] = string(b)
		})
	}
	wg.Wait()
	for _, s := range got {
		if s != got[0] || len(s) < minSecret {
			t.Errorf("secrets differ or are short: %d bytes", len(s))
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
	must.Do(t, os.WriteFile(path, []byte("short"), 0o600))
	if _, err := SecretFile(path); err == nil {
		t.Error("a short secret was accepted")
	}
	if _, err := SecretFile(filepath.Join(dir, "absent", "token.secret")); err == nil {
		t.Error("a secret was created in a folder that does not exist")
	}
}
