package app

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/test/must"
)

// ownRedis starts a Redis that the test may kill.
func ownRedis(t *testing.T) (*redistest.Server, *servers) {
	t.Helper()
	r := redistest.Start(t)
	return r, newServersOn(t, r.URL(), "mine")
}

// The next search through another gateway always sees a write: with Redis, without it, and when it
// is killed in between. Searches at the second gateway keep its index warm, to detect a stale one.
func TestNextSearchAnywhereSeesTheWrite(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, a, b *gatewayTest, rounds int) {
		t.Helper()
		for range rounds {
			word := "w" + strings.ReplaceAll(uuid.NewString(), "-", "")
			out := a.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": "The word is " + word, "infer": false})
			id := out["note"].(object)["id"].(string)
			if ids := b.search("c", word, "lexical"); len(ids) != 1 || ids[0] != id {
				t.Fatalf("the other gateway found %v, want %s", ids, id)
			}
			if ids := b.search("c", "The word is "+word, "vector"); len(ids) == 0 || ids[0] != id {
				t.Fatalf("the other gateway found %v by meaning, want %s first", ids, id)
			}
			a.call(http.StatusNoContent, http.MethodDelete, "/v1/collections/c/notes/"+id, nil)
			if ids := b.search("c", word, "lexical"); len(ids) != 0 {
				t.Fatalf("the other gateway finds a note that was deleted: %v", ids)
			}
			a, b = b, a
		}
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s := newServers(t, false)
		a, b := s.gateway(nil), s.gateway(nil)
		a.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
		check(t, a, b, 10)
	})
	t.Run("postgres and redis", func(t *testing.T) {
		t.Parallel()
		redis, s := ownRedis(t)
		a, b := s.gateway(nil), s.gateway(nil)
		a.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
		check(t, a, b, 10)
		redis.Kill()
		check(t, a, b, 10)
		a.until("readiness names redis as degraded", func() bool {
			out := b.call(http.StatusOK, http.MethodGet, "/readyz", nil)
			return out["status"] == "ok" && out["checks"].(object)["redis"] == "degraded"
		})
		redis.Restart()
		check(t, a, b, 10)
	})
}

// A gateway waits until it can see min_revision, which another gateway wrote.
func TestMinRevisionOfAnotherGateway(t *testing.T) {
	t.Parallel()
	s := newServers(t, true)
	a, b := s.gateway(nil), s.gateway(nil)
	a.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "none"})
	for i := range 5 {
		out := a.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": fmt.Sprintf("The ferry leaves at %d.", i)})
		found := b.call(http.StatusOK, http.MethodPost, "/v1/collections/c/search", object{"query": "ferry", "min_revision": out["revision"]})
		if found["revision"].(float64) < out["revision"].(float64) {
			t.Fatalf("searched at revision %v, want %v or later", found["revision"], out["revision"])
		}
	}
}

// C306: what remember stored is in the log. Redis may forget everything, and another gateway recalls the same items of all
// layers; a layer that was just recalled is served from memory.
func TestLayersOutliveRedis(t *testing.T) {
	t.Parallel()
	redis, s := ownRedis(t)
	g := s.gateway(nil)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "layered"})
	for _, said := range []string{"My name is Ada.", "Remember that I live in Lisbon.", "The ferry was late."} {
		g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/remember", object{"content": said, "role": "user"})
	}
	recalled := func(g *gatewayTest) (out []any) {
		t.Helper()
		found := g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/recall", object{"query": "What is my name, where do I live and was the ferry late?"})
		for _, layer := range []string{"working", "episodic", "semantic"} {
			if len(found[layer].([]any)) == 0 {
				t.Errorf("nothing in the layer %s", layer)
			}
			for _, item := range found[layer].([]any) {
				note := item.(object)["note"].(object)
				delete(note, "usage") // this counts
				out = append(out, note)
			}
		}
		return out
	}
	missed := func() string {
		return strings.Join(slices.DeleteFunc(seriesOf(g.metrics()), func(line string) bool {
			return !strings.HasPrefix(line, "slipbox_cache_lookups_total") || strings.Contains(line, `hit="true"`)
		}), "\n")
	}
	want := recalled(g)
	before := missed()
	if again := recalled(g); !reflect.DeepEqual(again, want) {
		t.Errorf("recalled %v, then %v", want, again)
	}
	if after := missed(); after != before || before == "" {
		t.Errorf("the second recall missed the cache:\n%s\n%s", before, after)
	}
	must.Do(t, redis.Client().FlushAll(t.Context()).Err())
	for name, g := range map[string]*gatewayTest{"this gateway": g, "another gateway": s.gateway(nil)} {
		if after := recalled(g); !reflect.DeepEqual(after, want) {
			t.Errorf("with an empty Redis %s recalls %v, want %v", name, after, want)
		}
	}
}

// The rate limit of a tenant counts requests of all gateways that share a Redis.
func TestSharedRateLimit(t *testing.T) {
	t.Parallel()
	s := newServers(t, true)
	limit := func(c *Settings) { c.Limits.RequestsPerMinute = 20 }
	a, b := s.gateway(limit), s.gateway(limit)
	allowed := 0
	for i := range 60 {
		g := a
		if i%2 == 1 {
			g = b
		}
		if status, _ := g.try(http.MethodGet, "/v1/collections", nil); status == http.StatusOK {
			allowed++
		}
	}
	if allowed < 20 || allowed > 30 { // one request is allowed again every 3 s
		t.Errorf("%d of 60 requests through two gateways were allowed, want the limit of 20", allowed)
	}
}

// A key that is revoked through one gateway is refused by another within 10 s.
func TestRevokedEverywhere(t *testing.T) {
	t.Parallel()
	s := newServers(t, true)
	a, b := s.gateway(nil), s.gateway(nil)
	made := a.call(http.StatusCreated, http.MethodPost, "/v1/api-keys", object{})
	other := *b
	other.key = made["key"].(string)
	other.call(http.StatusOK, http.MethodGet, "/v1/collections", nil)
	token := other.call(http.StatusOK, http.MethodPost, "/v1/auth/token", object{})["access_token"].(string)
	bearer := other
	bearer.key = token
	a.key = token // a token of one gateway is valid at another
	a.call(http.StatusOK, http.MethodGet, "/v1/collections", nil)
	a.key = s.key
	a.call(http.StatusNoContent, http.MethodPost, "/v1/api-keys/"+made["id"].(string)+"/revoke", nil)
	revoked := time.Now()
	for _, g := range []*gatewayTest{&other, &bearer} {
		g.until("the other gateway refuses the key", func() bool {
			status, _ := g.try(http.MethodGet, "/v1/collections", nil)
			return status == http.StatusUnauthorized
		})
	}
	if took := time.Since(revoked); took > time.Minute {
		t.Errorf("refused after %s, want within a minute", took)
	}
}

// A request at a gateway waits for a job that a worker runs.
func TestWaitForAWorker(t *testing.T) {
	t.Parallel()
	redis, s := ownRedis(t)
	g := s.gateway(nil)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
	out := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": "The ferry to Texel leaves at nine."})
	job := out["job"].(object)["id"].(string)
	if j := g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil); j["state"] != "queued" {
		t.Errorf("without a worker the job is %v", j["state"])
	}
	w := s.worker(nil)
	w.key = s.key
	g.until("the job is done", func() bool {
		return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil)["state"] == "done"
	})
	if n := g.add("c", "The ferry to Texel is late in fog.")["note"].(object); n["state"] != "evolved" {
		t.Errorf("the note is %v after waiting", n["state"])
	}
	redis.Kill() // worker and gateway now poll the database
	if n := g.add("c", "The ferry to Texel is full in summer.")["note"].(object); n["state"] != "evolved" {
		t.Errorf("without redis the note is %v after waiting", n["state"])
	}
	for _, path := range []string{"/healthz", "/readyz", "/version", "/metrics"} {
		if status, _ := w.try(http.MethodGet, path, nil); status != http.StatusOK {
			t.Errorf("GET %s of the worker: status %d", path, status)
		}
	}
	if status, _ := w.try(http.MethodGet, "/v1/collections", nil); status != http.StatusNotFound {
		t.Errorf("the worker serves the API: status %d", status)
	}
}

// A request repeated with its idempotency key is done once, also at several gateways and at the
// same time.
func TestIdempotencyOverGateways(t *testing.T) {
	t.Parallel()
	s := newServers(t, true)
	a, b := s.gateway(nil), s.gateway(nil)
	a.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "none"})
	for range 5 {
		key := uuid.NewString()
		answers := make(chan object, 2)
		for _, g := range []*gatewayTest{a, b} {
			go func() {
				status, out := g.tryWith(http.Header{"Idempotency-Key": {key}}, http.MethodPost, "/v1/collections/c/notes", object{"content": "Once.", "on_duplicate": "keep"})
				out["status"] = status
				answers <- out
			}()
		}
		first, second := <-answers, <-answers
		if first["status"] != http.StatusCreated || second["status"] != http.StatusCreated ||
			first["note"].(object)["id"] != second["note"].(object)["id"] {
			t.Fatalf("answers %v and %v, want one note", first, second)
		}
	}
	if n := a.call(http.StatusOK, http.MethodGet, "/v1/collections/c", nil)["counts"].(object)["notes"]; n != 5.0 {
		t.Errorf("%v notes, want 5", n)
	}
}

// On servers there are several processes, so an ephemeral collection has an expiry, and survives
// the stop of a gateway.
func TestEphemeralOnServers(t *testing.T) {
	t.Parallel()
	s := newServers(t, false)
	a := s.gateway(nil)
	made := a.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "draft", "ephemeral": true})
	ends := func(c object) time.Duration {
		t.Helper()
		at := must.Get(time.Parse(time.RFC3339Nano, c["expires_at"].(string)))(t)
		return time.Until(at)
	}
	if left := ends(made); left < 23*time.Hour || left > 24*time.Hour {
		t.Errorf("it ends in %s, want 24 h", left)
	}
	if left := ends(a.call(http.StatusOK, http.MethodPatch, "/v1/collections/draft", object{"ttl_seconds": nil})); left < 23*time.Hour {
		t.Errorf("without a time to live it ends in %s, want 24 h", left)
	}
	if left := ends(a.call(http.StatusOK, http.MethodPatch, "/v1/collections/draft", object{"ttl_seconds": 60})); left > time.Minute {
		t.Errorf("it ends in %s, want 60 s", left)
	}
	fork := a.call(http.StatusCreated, http.MethodPost, "/v1/collections/draft/clone", object{"name": "fork"})
	if left := ends(fork); left < 23*time.Hour {
		t.Errorf("its fork ends in %s, want 24 h", left)
	}
	a.stop()
	b := s.gateway(nil)
	b.call(http.StatusOK, http.MethodGet, "/v1/collections/draft", nil)
	b.call(http.StatusOK, http.MethodPatch, "/v1/collections/draft", object{"ttl_seconds": 1})
	b.until("it is gone", func() bool {
		status, _ := b.try(http.MethodGet, "/v1/collections/draft", nil)
		return status == http.StatusNotFound
	})
}

// A worker that is stopped returns its running job to the queue, without counting an attempt, and
// another worker runs it.
func TestWorkerHandsOver(t *testing.T) {
	t.Parallel()
	s := newServers(t, true)
	g := s.gateway(nil)
	first := s.worker(func(c *Settings) { c.StopTimeout = 8 * time.Second })
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
	var lines strings.Builder
	for range 2000 {
		lines.WriteString(`{"id":"` + uuid.NewString() + `","content":"` + uuid.NewString() + ` is a number that nobody remembers"}` + "\n")
	}
	out := g.post("/v1/collections/c/import", "application/x-ndjson", lines.String())
	job := out["job"].(object)["id"].(string)
	state := func() object { return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil) }
	g.until("the import runs", func() bool { return state()["state"] != "queued" })
	first.stop()
	s.worker(nil)
	g.until("the import is done", func() bool { return state()["state"] == "done" })
	if j := state(); j["attempts"] != 0.0 {
		t.Errorf("the import has %v tries counted", j["attempts"])
	}
	if n := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c", nil)["counts"].(object)["notes"]; n != 2000.0 {
		t.Errorf("%v notes, want 2000, each once", n)
	}
}

// Migrations distribute the tables only where the extension is; without it they say what is missing, and have migrated.
func TestMigrateDistributed(t *testing.T) {
	t.Parallel()
	s := newServers(t, false)
	cfg := s.settings(func(c *Settings) { c.MigrateDatabaseURL, c.Database.Distributed = s.database.OwnerURL, true })
	if err := MigrateUp(t.Context(), cfg); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "CREATE EXTENSION citus") {
		t.Errorf("got %v", err)
	}
	cfg.Database.Distributed = false
	if err := MigrateUp(t.Context(), cfg); err != nil {
		t.Error(err)
	}
}

// relay returns the URL of a server behind a relay, and what takes the relay down or up again. Down, it closes all connections.
func relay(t *testing.T, server string) (at string, set func(up bool)) {
	t.Helper()
	u := must.Get(url.Parse(server))(t)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	var mu sync.Mutex
	down, open := false, []net.Conn{}
	join := func(from, to net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}
	serve := func(from net.Conn, host string) {
		mu.Lock()
		defer mu.Unlock()
		to, err := net.Dial("tcp", host)
		if err != nil || down {
			_ = from.Close()
		}
		if err == nil {
			open = append(open, from, to)
			go join(from, to)
			go join(to, from)
		}
	}
	go func(host string) {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			serve(from, host)
		}
	}(u.Host)
	u.Host = l.Addr().String()
	return u.String(), func(up bool) {
		mu.Lock()
		defer mu.Unlock()
		for down = !up; down && len(open) > 0; open = open[1:] {
			_ = open[0].Close()
		}
	}
}

// A gateway over a distributed database and a standby that is down serves: the tenant is set by SET LOCAL, and reads go to the database.
// When that is down, too, /readyz names it alone.
func TestGatewayOfDistributedTenants(t *testing.T) {
	t.Parallel()
	s := newServers(t, false)
	database, set := relay(t, s.database.URL)
	g := s.gateway(func(c *Settings) {
		c.DatabaseURL = database
		c.Database.Distributed, c.ReplicaURL = true, strings.Replace(s.database.URL, "127.0.0.1", "127.0.0.9", 1)
	})
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
	if n := g.add("c", "The ferry to Texel leaves at nine.")["note"].(object); n["state"] != "evolved" {
		t.Errorf("the note is %v", n["state"])
	}
	if found := g.search("c", "When does the ferry leave?", "hybrid"); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	ready := g.call(http.StatusOK, http.MethodGet, "/readyz", nil)
	if says := fmt.Sprint(ready["notices"]); ready["status"] != "ok" || ready["checks"].(object)["replica"] != "degraded" || !strings.Contains(says, "DATABASE_REPLICA_URL") {
		t.Errorf("/readyz says %v", ready)
	}
	if page := g.metrics(); !hasSample(page, "slipbox_replica_available 0") {
		t.Errorf("the metrics are\n%s", page)
	}
	set(false)
	ready = g.call(http.StatusServiceUnavailable, http.MethodGet, "/readyz", nil)
	if notices, _ := ready["notices"].([]any); ready["status"] != "unavailable" || ready["checks"].(object)["store"] != "failed" || len(notices) != 1 || notices[0] != noticeStore {
		t.Errorf("without the database /readyz says %v", ready)
	}
	if page := g.metrics(); !hasSample(page, "slipbox_ready 0") {
		t.Errorf("without the database the metrics are\n%s", page)
	}
	set(true)
	g.ready()
}

// Doctor names a standby that does not answer, and a server that is none.
func TestDoctorKnowsTheStandby(t *testing.T) {
	t.Parallel()
	s := newServers(t, false)
	for url, says := range map[string]string{
		"": "", s.database.URL: "is no standby", strings.Replace(s.database.URL, "127.0.0.1", "127.0.0.9", 1): "the database serves its reads",
	} {
		found := doctorPostgres(t.Context(), s.settings(func(c *Settings) { c.ReplicaURL = url }), slog.New(slog.DiscardHandler))
		i := slices.IndexFunc(found, func(f Finding) bool { return f.Name == "replica" })
		switch {
		case url == "" && i >= 0:
			t.Errorf("without a standby: %+v", found[i])
		case url != "" && (i < 0 || found[i].State != Bad || !strings.Contains(found[i].Detail, says) || !strings.Contains(found[i].Fix, "DATABASE_REPLICA_URL")):
			t.Errorf("%s: %+v", says, found)
		}
	}
}

// Settings that cannot work are refused with one sentence that names the fix.
func TestServersThatCannotServe(t *testing.T) {
	t.Parallel()
	s := newServers(t, false)
	for name, x := range map[string]struct {
		set  func(*Settings)
		want []string
	}{
		"no server":      {func(c *Settings) { c.DatabaseURL = "postgres://slipbox_app@127.0.0.1:1/slipbox" }, []string{"cannot be reached"}},
		"wrong password": {func(c *Settings) { c.DatabaseURL = strings.Replace(c.DatabaseURL, "dev-only", "guess", 1) }, []string{"password", "DATABASE_URL"}},
		"owner serves":   {func(c *Settings) { c.DatabaseURL = s.database.OwnerURL }, []string{"owns the tables", "gateway migrate up"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := s.settings(x.set)
			_, err := NewGateway(t.Context(), cfg, slog.New(slog.DiscardHandler))
			if err == nil {
				t.Fatal("it starts")
			}
			for _, want := range x.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "guess") {
				t.Errorf("the error contains the password: %v", err)
			}
		})
	}
}
