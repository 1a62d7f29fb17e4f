package main

import (
	"context"
	"database/sql"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to change database files

	"github.com/slipboxhq/slipbox/test/must"
)

func TestFirstStartPrintsOneKeyOnce(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "created", "if", "missing") // C065
	p := serve(t, data, nil)
	keys := keyText.FindAllString(p.Stdout.String(), -1)
	if len(keys) != 1 {
		t.Fatalf("stdout of the first start holds %d keys, want 1:\n%s", len(keys), p.Stdout)
	}
	if strings.Contains(p.Stderr.String(), keys[0]) {
		t.Error("the key is in the logs as well")
	}
	if !strings.Contains(p.Stdout.String(), "gateway key create") {
		t.Errorf("no hint how to create another key:\n%s", p.Stdout)
	}
	p.must(t, keys[0], 201, "POST", "/v1/collections", object{"name": "kept"})
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0\n%s", code, p.Stderr)
	}
	p = serve(t, data, nil)
	if again := keyText.FindAllString(p.Stdout.String(), -1); len(again) != 0 {
		t.Errorf("the second start prints a key again:\n%s", p.Stdout)
	}
	p.must(t, keys[0], 200, "GET", "/v1/collections/kept", nil) // C062
}

// --data wins over the settings of servers, and the start says which are not used, without what they have.
func TestDataOverrulesServers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, []string{"REDIS_URL=redis://:hush@127.0.0.1:1", "DATABASE_URL=postgres://nobody:hush@127.0.0.1:1/x", "SLIPBOX_EMBED_MODEL=bge-m3"}, "--data", data)
	p.Stop(t)
	if log := p.Stderr.String(); !strings.Contains(log, "SLIPBOX_EMBED_MODEL") {
		t.Errorf("the start does not name a setting without effect:\n%s", log)
	}
	if log := p.Stderr.String(); strings.Count(log, "DATABASE_URL, REDIS_URL") != 1 || !strings.Contains(log, "--data selects the embedded store") || strings.Contains(log, "hush") {
		t.Errorf("the start says:\n%s", log)
	}
	p = serve(t, data, nil, "--data", data)
	p.Stop(t)
	if log := p.Stderr.String(); strings.Contains(log, "selects the embedded store") {
		t.Errorf("a start without servers says:\n%s", log)
	}
}

func TestSecondStartOnTheSameDataIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := serve(t, data, nil)
	second := launch(t, data, freeAddr(t), nil)
	select {
	case <-second.Done:
	case <-time.After(5 * time.Minute):
		t.Fatal("the second gateway is still running")
	}
	if code := second.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if msg := second.Stderr.String(); !strings.Contains(msg, data) || !strings.Contains(msg, "in use") {
		t.Errorf("the refusal does not name the directory and the reason:\n%s", msg)
	}
	if resp, err := http.Get(first.url + "/readyz"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the first gateway is no longer ready: %v", err)
	}
	first.Kill()
	serve(t, data, nil) // a killed gateway does not block the next one
}

func TestTakenPortIsAClearError(t *testing.T) {
	t.Parallel()
	first := serve(t, t.TempDir(), nil)
	second := launch(t, t.TempDir(), strings.TrimPrefix(first.url, "http://"), nil)
	select {
	case <-second.Done:
	case <-time.After(5 * time.Minute):
		t.Fatal("the second gateway is still running")
	}
	if msg := second.Stderr.String(); !strings.Contains(msg, "already in use") || !strings.Contains(msg, "--addr") {
		t.Errorf("the refusal does not name the port and the fix:\n%s", msg)
	}
}

func TestStopFinishesRequestsAndReturnsJobs(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, nil)
	key := newKey(t, data)
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "c"})
	ids := make(chan string, 200)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := make(chan struct{})
	go func() {
		defer close(ids)
		for i := range 200 {
			status, out := p.call(ctx, key, "POST", "/v1/collections/c/notes", object{"content": sentence(i)})
			if status == 0 {
				return // the gateway has closed its port
			}
			if status == 201 {
				ids <- out["note"].(object)["id"].(string)
			} else if status != 503 {
				t.Errorf("status %d while stopping: %v", status, out)
			}
			if i == 20 {
				close(started)
			}
		}
	}()
	<-started
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, p.Stderr)
	}
	p = serve(t, data, nil)
	waitIdle(t, p, key)
	n := 0
	for id := range ids {
		n++
		if note := p.must(t, key, 200, "GET", "/v1/collections/c/notes/"+id, nil); note["state"] != "evolved" {
			t.Errorf("note %s is %v after the restart, want evolved", id, note["state"])
		}
	}
	if n < 20 {
		t.Errorf("only %d notes were acknowledged before the stop", n)
	}
}

func TestUnusableDataDirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a-file")
	must.Do(t, os.WriteFile(file, []byte("x"), 0o600))
	_, msg, code := run(t, nil, "serve", "--data", file, "--addr", freeAddr(t))
	if code != 1 || !strings.Contains(msg, file) || !strings.Contains(msg, "not a directory") {
		t.Errorf("exit %d: %s", code, msg)
	}
}

func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	db := filepath.Join(data, "slipbox.db")
	must.Do(t, os.WriteFile(db, []byte(strings.Repeat("this is not a database. ", 500)), 0o600))
	_, msg, code := run(t, nil, "serve", "--data", data, "--addr", freeAddr(t))
	if code != 1 || !strings.Contains(msg, "slipbox.db") || !strings.Contains(msg, "restore") {
		t.Errorf("exit %d: the message names no file or no fix: %s", code, msg)
	}
	if raw, err := os.ReadFile(db); err != nil || !strings.HasPrefix(string(raw), "this is not a database") {
		t.Error("the damaged file was changed")
	}
}

func TestDatabaseOfANewerVersion(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, nil)
	p.Stop(t)
	db := must.Get(sql.Open("sqlite", filepath.Join(data, "slipbox.db")))(t)
	must.Get(db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`))(t)
	must.Do(t, db.Close())
	for _, args := range [][]string{{"serve", "--addr", freeAddr(t)}, {"key", "list"}} {
		_, msg, code := run(t, nil, append(args, "--data", data)...)
		if code != 1 || !strings.Contains(msg, "newer") {
			t.Errorf("%v: exit %d: %s", args, code, msg)
		}
	}
}

// With a full disk, writes are refused with a problem document, and the gateway keeps running.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", data).Run(); err != nil {
		if os.Getenv("CI") != "" && os.Geteuid() == 0 {
			t.Fatalf("mount a small tmpfs: %v", err)
		}
		t.Skipf("needs the right to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(data, syscall.MNT_DETACH) })
	p := serve(t, data, nil)
	key := p.firstKey(t)
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "c", "policy": "none"})
	big := strings.Repeat("a full disk ", 4000)
	acked := 0
	for i := range 400 {
		status, out := p.call(t.Context(), key, "POST", "/v1/collections/c/notes", object{"content": big, "on_duplicate": "keep"})
		if status == 201 {
			acked++
			continue
		}
		if status != 507 || out["code"] != "storage_full" {
			t.Fatalf("add %d: status %d: %v\n%s", i, status, out, p.Stderr)
		}
		break
	}
	if acked == 0 || acked == 400 {
		t.Fatalf("%d adds were acknowledged on a disk of 3 MiB", acked)
	}
	col := p.must(t, key, 200, "GET", "/v1/collections/c", nil)
	if n := col["counts"].(object)["notes"].(float64); int(n) != acked {
		t.Errorf("%v notes, %d acknowledged: a note was written in part", n, acked)
	}
}

func TestBackupAndRestoreOfTheLiveFile(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, nil)
	key := newKey(t, data)
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "c"})
	for i := range 20 {
		p.must(t, key, 201, "POST", "/v1/collections/c/notes", object{"content": sentence(i)})
	}
	waitIdle(t, p, key)
	before := p.must(t, key, 200, "POST", "/v1/collections/c/search", object{"query": "copper kettle", "k": 10})
	file := filepath.Join(t.TempDir(), "copy.db")
	if out, msg, code := run(t, nil, "backup", file, "--data", data); code != 0 {
		t.Fatalf("backup: exit %d\n%s\n%s", code, out, msg)
	}
	if _, msg, code := run(t, nil, "backup", file, "--data", data); code != 1 || !strings.Contains(msg, "exists") {
		t.Errorf("a second backup over the first: exit %d: %s", code, msg)
	}
	p.must(t, key, 201, "POST", "/v1/collections/c/notes", object{"content": "written after the backup"})
	fresh := t.TempDir()
	// These files are of a restore that was killed.
	for name, left := range map[string]string{"LOCK": "1\n", "slipbox.db.part": "a part of the file", "slipbox.db.part-wal": ""} {
		must.Do(t, os.WriteFile(filepath.Join(fresh, name), []byte(left), 0o600))
	}
	if _, msg, code := run(t, nil, "restore", file, "--data", fresh); code != 0 {
		t.Fatalf("restore: exit %d\n%s", code, msg)
	}
	if left, err := filepath.Glob(filepath.Join(fresh, "*.part*")); err != nil || len(left) > 0 {
		t.Errorf("the restore leaves %v, %v", left, err)
	}
	junk := filepath.Join(t.TempDir(), "junk.db")
	must.Do(t, os.WriteFile(junk, []byte(strings.Repeat("no database", 1_000)), 0o600))
	for _, command := range []string{"restore", "import"} {
		above := t.TempDir()
		for _, into := range []string{filepath.Join(above, "a", "new"), above} {
			_, msg, code := run(t, nil, command, junk, "--data", into)
			if code != 1 || command == "restore" && (!strings.Contains(msg, "name a file that") || strings.Contains(msg, "put it aside")) {
				t.Errorf("%s of no backup: exit %d: %s", command, code, msg)
			}
			if left, err := os.ReadDir(above); err != nil || len(left) != 0 {
				t.Errorf("a refused %s into %s leaves %v (%v)", command, into, left, err)
			}
		}
	}
	if _, msg, code := run(t, nil, "restore", file, "--data", fresh); code != 1 || !strings.Contains(msg, "not empty") {
		t.Errorf("restore over a restored store: exit %d: %s", code, msg)
	}
	q := serve(t, fresh, nil)
	after := q.must(t, key, 200, "POST", "/v1/collections/c/search", object{"query": "copper kettle", "k": 10})
	if a, b := hitIDs(before), hitIDs(after); a != b {
		t.Errorf("the restored store answers\n%s, the live one answered\n%s", b, a)
	}
	if out, msg, code := run(t, nil, "check", "--data", fresh); code != 0 {
		t.Errorf("check: exit %d\n%s\n%s", code, out, msg)
	}
}

func hitIDs(answer object) string {
	var ids []string
	for _, h := range answer["hits"].([]any) {
		ids = append(ids, h.(object)["note"].(object)["id"].(string))
	}
	return strings.Join(ids, " ")
}

func TestTenantAndKeyBesideARunningServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, nil)
	ok := func(args ...string) string { return succeeds(t, data, args...) }
	ok("tenant", "create", "acme")
	key := keyText.FindString(ok("key", "create", "--tenant", "acme", "--agent", "scout", "--scopes", "notes:read,notes:write,collections:write", "--ttl", "1h"))
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "c"})
	p.must(t, key, 403, "GET", "/v1/api-keys", nil)
	of := strings.TrimSpace(ok("key", "create", "--tenant", "acme", "--external", "user=ida@example.com,agent=chat"))
	p.must(t, of, 404, "GET", "/v1/collections/c", nil)
	p.must(t, of, 201, "POST", "/v1/collections", object{"name": "own", "external": object{"user": "ida@example.com", "agent": "chat"}})
	if list := ok("key", "list", "--tenant", "acme"); !strings.Contains(list, "agent=chat,user=ida@example.com") {
		t.Errorf("key list does not say whose memory the key is for:\n%s", list)
	}
	ok("tenant", "suspend", "acme")
	p.Await(t, "a key of a suspended tenant was refused", func() bool {
		status, _ := p.call(t.Context(), key, "GET", "/v1/collections/c", nil)
		return status == 401
	})
	ok("tenant", "resume", "acme")
	if list := ok("tenant", "list"); !strings.Contains(list, "acme") || !strings.Contains(list, "default") {
		t.Errorf("tenant list:\n%s", list)
	}
	if list := ok("key", "list", "--tenant", "acme"); strings.Contains(list, key) || !strings.Contains(list, "scout") {
		t.Errorf("key list shows a secret, or no agent:\n%s", list)
	}
	ok("tenant", "delete", "acme", "--yes")
	if list := ok("tenant", "list"); strings.Contains(list, "acme") {
		t.Errorf("a deleted tenant is listed:\n%s", list)
	}
}

func TestHelpVersionConfigDoctor(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"key", "create", "--help"}, {"tenant", "--help"}, {"check", "--help"}} {
		if out, msg, code := run(t, nil, args...); code != 0 || !strings.Contains(out, "Usage:") {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, msg)
		}
	}
	if out, _, code := run(t, nil, "version"); code != 0 || !strings.Contains(out, "commit") {
		t.Errorf("version: exit %d\n%s", code, out)
	}
	env := []string{"SLIPBOX_LLM=openai", "SLIPBOX_LLM_BASE_URL=http://127.0.0.1:1/v1", "SLIPBOX_LLM_API_KEY=sk-very-secret", "DATABASE_URL="}
	out, msg, code := run(t, env, "config", "--data", t.TempDir())
	if code != 0 || strings.Contains(out, "sk-very-secret") || !strings.Contains(out, "[redacted]") {
		t.Errorf("config: exit %d\n%s%s", code, out, msg)
	}
	out, msg, code = run(t, nil, "config", "--data", t.TempDir())
	for _, want := range []string{"provider: heuristic", "timeout: 1m0s", "max_tokens: 1000", "temperature: 0.7", "max_tries: 3", "token_ttl: 15m0s"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("config: exit %d, %q is missing in\n%s%s", code, want, out, msg)
		}
	}
	out, msg, code = run(t, env, "doctor", "--data", t.TempDir())
	if code != 1 || !strings.Contains(out, "127.0.0.1:1") { // C074, C088: it names the endpoint
		t.Errorf("doctor with a model that is down: exit %d\n%s%s", code, out, msg)
	}
	if out, msg, code = run(t, nil, "doctor", "--data", t.TempDir()); code != 0 {
		t.Errorf("doctor with defaults: exit %d\n%s%s", code, out, msg)
	}
	_, msg, code = run(t, []string{"SLIPBOX_LLM=gpt", "SLIPBOX_EMBEDDER=words", "SLIPBOX_LOG_LEVEL=loud"}, "config")
	for _, want := range []string{"gpt", "ollama", "words", "loud"} { // C070: all problems, with the valid names
		if code != 1 || !strings.Contains(msg, want) {
			t.Errorf("bad settings: exit %d, %q missing in\n%s", code, want, msg)
		}
	}
}
