package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestRollBack runs this release and the next one beside each other, over one Postgres and one
// Redis: the next one migrates and serves, processes of this one are restarted on the newer schema,
// and then the next one is taken away. Clients write and read all the time and must get no error,
// nothing that was acknowledged may be lost, and the store must be sound.
//
// The next release is this one with a migration more, which only adds. SLIPBOX_ROLLBACK_SECONDS is
// how long both serve side by side, with restarts. Without it the next release is not built: the
// test itself migrates, and this release is restarted once on the newer schema.
func TestRollBack(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers several times: left out of -short")
	}
	t.Parallel()
	long := os.Getenv("SLIPBOX_ROLLBACK_SECONDS") != ""
	length := time.Duration(envInt(t, "SLIPBOX_ROLLBACK_SECONDS", 1)) * time.Second
	db := postgrestest.New(t)
	redis, prefix := redistest.Shared(t)
	this, next := buildRelease(t, ""), ""
	if long {
		next = buildRelease(t, overlay(t, nextSteps()))
	}
	r := &rollback{t: t, clients: make([]*rollbackClient, 3), env: []string{
		"DATABASE_URL=" + db.URL, "MIGRATE_DATABASE_URL=" + db.OwnerURL, "REDIS_URL=" + redis, "SLIPBOX_REDIS_PREFIX=" + prefix, wrapping,
		"SLIPBOX_DATABASE_CONNECTIONS=12", "SLIPBOX_JOB_WORKERS=4", "SLIPBOX_LOG_LEVEL=warn",
	}}
	r.command(this, "tenant", "create", "acme")
	key := strings.TrimSpace(r.command(this, "key", "create", "--tenant", "acme"))

	old := r.start(this)
	for _, name := range []string{"notes", "talk"} {
		policy := map[string]string{"notes": "amem", "talk": "mem0"}[name]
		old.gateway.must(t, key, http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": name, "policy": policy})
	}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop()
	for i := range r.clients {
		c := &rollbackClient{run: r, key: key, name: fmt.Sprintf("c%d", i), rng: rand.New(rand.NewPCG(uint64(i), 1)), acked: map[string]string{}}
		r.clients[i] = c
		clients.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				c.act()
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond): // like an agent that thinks
				}
			}
		})
	}
	r.work()

	if long {
		r.command(next, "migrate", "up")
	} else {
		migrateToNext(t, db.OwnerURL)
		r.command(this, "migrate", "up") // grants the serving role the new table
	}
	if out := r.command(this, "migrate", "status"); !strings.Contains(out, "of a newer build") || !strings.Contains(out, "can work on it") {
		t.Errorf("this release says of the newer schema:\n%s", out)
	}
	r.work()
	var both release
	if long {
		both = r.start(next)
		r.work()
	}
	for began, restarts := time.Now(), 0; restarts == 0 || long && time.Since(began) < length; restarts++ {
		newer := r.start(this) // before the other is stopped, so that one always serves
		r.stop(old)
		old = newer
		r.work()
	}
	if long {
		r.stop(both)
		r.work()
		r.command(this, "migrate", "up") // as the release does that is installed again
		r.work()
	}

	stop()
	clients.Wait()
	waitIdle(t, old.gateway, key)
	notes := 0
	for _, c := range r.clients {
		notes += len(c.acked)
		for id, content := range c.acked {
			n := old.gateway.must(t, key, http.StatusOK, http.MethodGet, "/v1/collections/notes/notes/"+id, nil)
			if n["content"] != content || n["state"] != "evolved" {
				t.Errorf("note %s: content %q, state %v; want %q, evolved", id, n["content"], n["state"], content)
			}
		}
	}
	t.Logf("%d requests without an error, %d notes", r.requests.Load(), notes)
	if out := r.command(this, "doctor"); !strings.Contains(out, "from a newer build") {
		t.Errorf("doctor does not name the newer schema:\n%s", out)
	}
	r.stop(old)
	if out := r.command(this, "check"); !strings.Contains(out, "the store is sound") {
		t.Error(out)
	}
}

// rollback is a run of two releases and clients.
type rollback struct {
	t        *testing.T
	env      []string
	requests atomic.Int64

	mu      sync.RWMutex // held for reading during a request
	serving []*process   // what a load balancer would send requests to
	clients []*rollbackClient
}

// release is a gateway and a worker of a release.
type release struct {
	gateway *process
	worker  *commandtest.Process
}

// command runs a command of a release to its end. It must succeed.
func (r *rollback) command(bin string, args ...string) string {
	r.t.Helper()
	cmd := commandtest.Command(r.t, r.env, args...)
	cmd.Path = filepath.Join(bin, "gateway")
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // of Output itself
			said = e.Stderr
		}
		r.t.Fatalf("gateway %s: %v\n%s%s", strings.Join(args, " "), err, out, said)
	}
	return string(out)
}

// start starts a gateway and a worker, and sends requests to the gateway when both are ready.
func (r *rollback) start(bin string) release {
	r.t.Helper()
	ready := func(name string, args ...string) *process {
		addr := freeAddr(r.t)
		cmd := commandtest.Command(r.t, r.env, append(args, "--addr", addr)...)
		cmd.Path = filepath.Join(bin, name)
		p := &process{commandtest.Start(r.t, cmd), "http://" + addr}
		p.Await(r.t, "it was ready", func() bool {
			resp, err := http.Get(p.url + "/readyz")
			if err != nil {
				return false
			}
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
		return p
	}
	out := release{gateway: ready("gateway", "serve"), worker: ready("worker").Process}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving = append(r.serving, out.gateway)
	return out
}

// stop sends no more requests to a gateway, and stops it and its worker.
func (r *rollback) stop(old release) {
	r.t.Helper()
	r.mu.Lock()
	r.serving = slices.DeleteFunc(r.serving, func(p *process) bool { return p == old.gateway })
	r.mu.Unlock()
	for _, p := range []*commandtest.Process{old.gateway.Process, old.worker} {
		if code := p.Stop(r.t); code != 0 {
			r.t.Errorf("exit code %d after SIGTERM\n%s", code, p.Stderr)
		}
		if strings.Contains(p.Stderr.String(), "level=ERROR") {
			r.t.Errorf("it logs errors:\n%s", p.Stderr)
		}
	}
}

// work waits until every client has made some requests more.
func (r *rollback) work() {
	r.t.Helper()
	const more = 6
	for _, c := range r.clients {
		want := c.acts.Load() + more
		for end := time.After(time.Minute); c.acts.Load() < want; {
			select {
			case <-end:
				r.t.Fatalf("client %s made no %d requests within a minute", c.name, more)
			case <-time.After(5 * time.Millisecond):
			}
			if r.t.Failed() {
				r.t.FailNow()
			}
		}
	}
}

// rollbackClient writes and reads, one request after the other. Each request goes to any gateway.
type rollbackClient struct {
	run   *rollback
	key   string
	name  string
	rng   *rand.Rand
	acts  atomic.Int64
	ids   []string
	acked map[string]string // id → content
}

// send sends a request that must be answered with the status.
func (c *rollbackClient) send(want int, method, path string, body any) object {
	r := c.run
	r.mu.RLock()
	defer r.mu.RUnlock()
	p := r.serving[c.rng.IntN(len(r.serving))]
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), time.Minute)
	defer cancel()
	status, out := p.call(ctx, c.key, method, path, body)
	if status != want {
		r.t.Errorf("%s %s: status %d, want %d: %v\n%s", method, path, status, want, out, p.Stderr)
	}
	r.requests.Add(1)
	return out
}

// act makes one thing that an agent does.
func (c *rollbackClient) act() {
	n := c.acts.Load()
	defer c.acts.Add(1)
	const notes = "/v1/collections/notes/notes"
	switch kind := n % 12; {
	case kind < 4 || len(c.ids) == 0:
		content := fmt.Sprintf("%s %s%d.", sentence(int(n)), c.name, n)
		path := notes
		if kind == 0 {
			path += "?wait=evolved"
		}
		note, ok := c.send(http.StatusCreated, http.MethodPost, path, object{"content": content})["note"].(object)
		if !ok {
			return
		}
		id, _ := note["id"].(string)
		c.ids, c.acked[id] = append(c.ids, id), content
		// Any gateway finds it at once.
		found := c.send(http.StatusOK, http.MethodPost, "/v1/collections/notes/search", object{"query": fmt.Sprint(c.name, n), "mode": "lexical", "k": 1})
		if hits, ok := found["hits"].([]any); !ok || len(hits) != 1 || hits[0].(object)["note"].(object)["id"] != id {
			c.run.t.Errorf("a search found %v, want the note %s that was added before", found["hits"], id)
		}
	case kind < 6:
		id := c.ids[c.rng.IntN(len(c.ids))]
		c.acked[id] = fmt.Sprintf("%s changed %s%d.", c.acked[id], c.name, n)
		c.send(http.StatusOK, http.MethodPatch, notes+"/"+id, object{"content": c.acked[id], "attributes": object{"n": n}})
	case kind < 7 && len(c.ids) > 2:
		id := c.ids[0]
		c.ids = c.ids[1:]
		delete(c.acked, id)
		c.send(http.StatusNoContent, http.MethodDelete, notes+"/"+id, nil)
		c.send(http.StatusNotFound, http.MethodGet, notes+"/"+id, nil)
	case kind < 8:
		c.send(http.StatusAccepted, http.MethodPost, "/v1/collections/talk/messages", object{"messages": []object{{"role": "user", "name": c.name, "content": "I " + sentence(int(n))}}})
	case n == 8: // once: a fork does the waiting work of its parent again
		name := c.name + "-fork"
		c.send(http.StatusCreated, http.MethodPost, "/v1/collections/notes/clone", object{"name": name})
		c.send(http.StatusCreated, http.MethodPost, "/v1/collections/"+name+"/notes", object{"content": sentence(int(n))})
		c.send(http.StatusOK, http.MethodPost, "/v1/collections/"+name+"/search", object{"query": "lanterns"})
	case kind < 9:
		// The jobs keep up with the clients.
		id := c.ids[len(c.ids)-1]
		for end := time.After(time.Minute); c.send(http.StatusOK, http.MethodGet, notes+"/"+id, nil)["state"] != "evolved"; {
			select {
			case <-end:
				c.run.t.Errorf("note %s was not evolved within a minute", id)
				return
			case <-time.After(50 * time.Millisecond):
			}
			if c.run.t.Failed() {
				return
			}
		}
	case kind < 10:
		c.send(http.StatusOK, http.MethodGet, notes+"/"+c.ids[0]+"/history", nil)
		c.send(http.StatusOK, http.MethodGet, "/v1/jobs?state=done", nil)
	default:
		c.send(http.StatusOK, http.MethodPost, "/v1/collections/notes/search", object{"query": sentence(int(n)), "expand_links": 2})
		c.send(http.StatusOK, http.MethodPost, "/v1/collections/talk/context", object{"query": "Who painted the boat?", "token_budget": 200})
	}
}

const moduleRoot = "../.."

// nextSteps are the statements of the migration of the next release.
func nextSteps() map[store.Dialect]string {
	return map[store.Dialect]string{
		store.SQLite: "ALTER TABLE notes ADD COLUMN next_words TEXT NOT NULL DEFAULT '';\n",
		store.Postgres: "ALTER TABLE notes ADD COLUMN next_words text NOT NULL DEFAULT '', ADD COLUMN next_at timestamptz;\n" +
			"UPDATE notes SET next_at = created_at;\n" +
			"ALTER TABLE jobs ADD COLUMN next_weight bigint NOT NULL DEFAULT 1;\n" +
			"CREATE INDEX jobs_next ON jobs (tenant, next_weight) WHERE state = 'queued';\n" +
			"CREATE TABLE next_things (tenant uuid NOT NULL, id uuid NOT NULL, PRIMARY KEY (tenant, id));\n" +
			"ALTER TABLE next_things ENABLE ROW LEVEL SECURITY;\n" +
			"CREATE POLICY own_tenant ON next_things USING (tenant = nullif(current_setting('slipbox.tenant', true), '')::uuid);\n",
	}
}

// nextMigration returns the name and the text of a migration after those of this release.
func nextMigration(t *testing.T, up string) (file, text string) {
	t.Helper()
	steps := must.Get(postgres.Migrations())(t)
	newest := steps[len(steps)-1]
	return fmt.Sprintf("%05d_next.sql", newest.Version+1), fmt.Sprintf("-- compatible-from: %d\n-- +goose Up\n%s", newest.CompatibleFrom, up)
}

// migrateToNext migrates a database as the next release would.
func migrateToNext(t *testing.T, owner string) {
	t.Helper()
	steps := must.Get(postgres.Migrations())(t)
	folder := fstest.MapFS{}
	for _, s := range steps {
		folder[s.File] = &fstest.MapFile{Data: []byte(s.SQL)}
	}
	file, text := nextMigration(t, nextSteps()[store.Postgres])
	folder[file] = &fstest.MapFile{Data: []byte(text)}
	cc := must.Get(pgx.ParseConfig(owner))(t)
	db := stdlib.OpenDB(*cc)
	defer func() { _ = db.Close() }()
	m := must.Get(store.NewMigrator(db, store.Postgres, folder))(t)
	must.Do(t, m.Up(t.Context()))
}

// overlay writes the migration of the next release, and returns a file for "go build -overlay" that
// adds it to the source.
func overlay(t *testing.T, steps map[store.Dialect]string) (path string) {
	t.Helper()
	root := must.Get(filepath.Abs(moduleRoot))(t)
	dir, replace := t.TempDir(), map[string]string{}
	for engine, up := range steps {
		name, content := nextMigration(t, up)
		file := filepath.Join(dir, string(engine)+".sql")
		must.Do(t, os.WriteFile(file, []byte(content), 0o600))
		replace[filepath.Join(root, "migrations", string(engine), name)] = file
	}
	text := must.Get(json.Marshal(map[string]any{"Replace": replace}))(t)
	path = filepath.Join(dir, "overlay.json")
	must.Do(t, os.WriteFile(path, text, 0o600))
	return path
}

// buildRelease builds both commands and returns their folder. With an overlay it is that of the next
// release; without, that of this one, which SLIPBOX_BINARIES may hold.
func buildRelease(t *testing.T, overlay string) (dir string) {
	t.Helper()
	if built := os.Getenv("SLIPBOX_BINARIES"); built != "" && overlay == "" {
		return built
	}
	dir = t.TempDir()
	args := []string{"build", "-o", dir + "/"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "./cmd/gateway", "./cmd/worker")...)
	cmd.Dir = moduleRoot
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return dir
}
