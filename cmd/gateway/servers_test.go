package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
)

// wrapping is the environment that all processes of a test's servers share.
const wrapping = "SLIPBOX_WRAPPING_KEY=a wrapping key that all of them share"

// What an operator does: migrate, create a tenant and a key, serve, run doctor and check, migrate
// back. Everything but the migrations goes through a pooler.
func TestServersFromTheCommandLine(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewEmpty(t)
	url, prefix := redistest.Shared(t)
	database, _ := db.Pooled(t)
	env := []string{"DATABASE_URL=" + database, "SLIPBOX_DATABASE_EXEC_MODE=exec", "REDIS_URL=" + url, "SLIPBOX_REDIS_PREFIX=" + prefix, wrapping, "SLIPBOX_ADDR=127.0.0.1:0"}
	owner := append([]string{"MIGRATE_DATABASE_URL=" + db.OwnerURL}, env...)
	expect := func(env []string, want string, args ...string) string {
		t.Helper()
		out, msg, code := run(t, env, args...)
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("gateway %s: exit %d, want %q\n%s%s", strings.Join(args, " "), code, want, out, msg)
		}
		return out
	}
	refuse := func(env []string, want string, args ...string) {
		t.Helper()
		out, msg, code := run(t, env, args...)
		if code != 1 || out != "" || !strings.Contains(msg, want) || strings.Count(msg, "\n") > 1 {
			t.Errorf("gateway %s: exit %d, want one line with %q\n%s%s", strings.Join(args, " "), code, want, out, msg)
		}
	}
	refuse(env, "no schema; run \"gateway migrate up\"", "serve")
	if out := expect(owner, "pending", "migrate", "status"); strings.Contains(out, "applied") {
		t.Errorf("an empty database:\n%s", out)
	}
	refuse(env, "no schema; run \"gateway migrate up\"", "serve")
	if out := expect(owner, "applied", "migrate", "up"); strings.Contains(out, "pending") || !strings.Contains(out, "which this build knows; builds that know 3 can work on it.") {
		t.Errorf("after up:\n%s", out)
	}
	expect(owner, "applied", "migrate", "up") // twice
	expect(env, "tenant acme created", "tenant", "create", "acme")
	key := strings.TrimSpace(expect(env, "sb_live_", "key", "create", "--tenant", "acme"))
	expect(env, "acme", "tenant", "list")

	// --data wins over the database of the environment, for every command, and deletes nothing without --yes.
	own := filepath.Join(t.TempDir(), "own")
	serve(t, own, nil).Stop(t)
	succeeds(t, own, "tenant", "create", "acme")
	for _, args := range [][]string{{"export", "-"}, {"check"}, {"key", "list"}, {"config"}, {"tenant", "suspend", "acme"}, {"tenant", "delete", "acme", "--yes"}} {
		expect(owner, "", append(args, "--data", own)...)
	}
	expect(env, "acme  active", "tenant", "list")
	refuse(env, "add --yes", "tenant", "delete", "acme")
	refuse(env, "--data names no directory", "tenant", "delete", "acme", "--yes", "--data", "")
	refuse(owner, "--data", "migrate", "down", "--to", "0", "--yes", "--data", own)

	data := t.TempDir()
	p := serve(t, data, env)
	p.must(t, key, http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "none"})
	p.must(t, key, http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": "The ferry leaves at nine."})
	p.must(t, key, http.StatusOK, http.MethodPost, "/v1/collections/c/search", object{"query": "ferry"})
	if left, err := os.ReadDir(data); err != nil || len(left) != 0 {
		t.Errorf("a gateway over servers leaves %v in the data directory (%v)", left, err)
	}
	if out := p.Stdout.String(); out != "" {
		t.Errorf("it printed %q", out)
	}
	if out := expect(env, "pgvector", "doctor"); !strings.Contains(out, "start a `worker`") {
		t.Errorf("doctor does not miss the workers:\n%s", out)
	}
	other := append(slices.Clone(env), "SLIPBOX_WRAPPING_KEY=a wrapping key that only this one has")
	if out, msg, code := run(t, other, "doctor"); code != 1 || !strings.Contains(out, "bad   wrapping") {
		t.Errorf("doctor takes another wrapping key: exit %d\n%s%s", code, out, msg)
	}
	// A Redis that was too busy to take the version is not asked again for that note.
	for deadline := time.Now().Add(time.Minute); ; {
		out := expect(env, "the store is sound", "check")
		if !strings.Contains(out, "redis caches 0 versions") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("check does not see the cached version:\n%s", out)
		}
		p.must(t, key, http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": "The ferry leaves at ten."})
		p.must(t, key, http.StatusOK, http.MethodPost, "/v1/collections/c/search", object{"query": "ferry"})
	}
	expect(env, "a search with a new key finds the note", "selftest", "--url", p.url)
	if out := expect(env, "acme", "tenant", "list"); strings.Contains(out, "selftest") {
		t.Errorf("the self-test left its tenant:\n%s", out)
	}
	refuse(env, "nothing answers", "selftest", "--url", "http://127.0.0.1:1")
	expect(env, "the store is sound", "check")
	refuse(env, "pg_dump", "backup", data+"/copy.db")
	refuse(env, "pg_restore", "restore", data)
	refuse(env, "--demo", "serve", "--demo")
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit %d\n%s", code, p.Stderr)
	}

	refuse(owner, "--to VERSION", "migrate", "down")
	refuse(owner, "--yes", "migrate", "down", "--to", "0")
	refuse(owner, "no version 77", "migrate", "down", "--to", "77", "--yes")
	expect(owner, "pending", "migrate", "down", "--to", "0", "--yes")
	refuse(env, "gateway migrate up", "serve")
	expect(owner, "applied", "migrate", "up")
	expect(env, "tenant acme created", "tenant", "create", "acme")
}

// Mistakes in the settings of servers are answered in one line that names the
// fix and no password.
func TestMistakesWithServers(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	refusals := redistest.Start(t)
	for _, tt := range []struct {
		name string
		env  []string
		want []string
	}{
		{"no wrapping key", []string{"DATABASE_URL=" + db.URL}, []string{"SLIPBOX_WRAPPING_KEY", "openssl"}},
		{"redis alone", []string{"REDIS_URL=redis://127.0.0.1"}, []string{"REDIS_URL", "DATABASE_URL", "gateway serve"}},
		{"another database", []string{wrapping, "DATABASE_URL=mysql://root:guess@db/x"}, []string{"DATABASE_URL", "postgres://"}},
		{"nobody there", []string{wrapping, "DATABASE_URL=postgres://slipbox_app:guess@127.0.0.1:1/x"}, []string{"cannot be reached"}},
		{"wrong password", []string{wrapping, "DATABASE_URL=" + strings.Replace(db.URL, "dev-only", "guess", 1)}, []string{"password", "DATABASE_URL"}},
		{"the owner serves", []string{wrapping, "DATABASE_URL=" + db.OwnerURL}, []string{"owns the tables", "CREATE ROLE"}},
		{"an unreadable redis", []string{wrapping, "DATABASE_URL=" + db.URL, "REDIS_URL=redis://:guess@[::1"}, []string{"redis_url"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, msg, code := run(t, append(tt.env, "SLIPBOX_ADDR=127.0.0.1:0", "SLIPBOX_DATA="+t.TempDir()), "serve")
			if code != 1 || out != "" || strings.Contains(msg, "guess") {
				t.Errorf("exit %d, want 1; stdout %q, stderr %q", code, out, msg)
			}
			for _, want := range tt.want {
				if !strings.Contains(msg, want) {
					t.Errorf("%q is missing in: %s", want, msg)
				}
			}
		})
	}
	// A Redis that refuses is no reason not to serve, but the log says what to mend.
	p := serve(t, t.TempDir(), []string{wrapping, "DATABASE_URL=" + db.URL, "REDIS_URL=" + refusals.Address("default:guess")})
	p.Await(t, "the log named the refused password", func() bool { return strings.Contains(p.Stderr.String(), "correct REDIS_URL") })
	if strings.Contains(p.Stderr.String(), "guess") {
		t.Errorf("the password is in the log:\n%s", p.Stderr)
	}
}
