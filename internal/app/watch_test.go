package app

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/telemetry/telemetrytest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// watchedTest is the product with all its telemetry: one gateway over the embedded store, or a
// gateway and a worker over servers.
type watchedTest struct {
	*gatewayTest
	seen  *telemetrytest.Receiver
	model *llmtest.Server
	logs  *commandtest.Buffer
	owner string // URL of the database; "" when embedded
	data  string
	urls  []string // of every process
}

// watch starts the product with debug logs and a model.
func watch(t *testing.T, servers bool) *watchedTest {
	t.Helper()
	w := &watchedTest{gatewayTest: &gatewayTest{t: t}, seen: telemetrytest.New(t), model: llmtest.New(t), logs: &commandtest.Buffer{}}
	w.seen.Setenv(t)
	w.model.EmbedDim(384)
	cfg := config.Default()
	cfg.Addr, cfg.WorkerAddr, cfg.Data = "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
	cfg.LLM.Provider, cfg.LLM.BaseURL, cfg.LLM.Model = "openai", w.model.URL(), "a-model"
	cfg.LLM.EmbedProvider, cfg.LLM.EmbedModel, cfg.LLM.EmbedDim = "openai", "an-embedder", 384
	cfg.LLM.APIKey = "sk-of-the-model"
	cfg.LLM.MaxTries, cfg.LLM.RetryWait, cfg.LLM.BreakerFailures = 1, time.Millisecond, 1000
	w.data = cfg.Data
	if servers {
		db := postgrestest.New(t)
		cfg.DatabaseURL, w.owner = db.URL, db.OwnerURL
		cfg.RedisURL, cfg.Redis.Prefix = redistest.Shared(t)
		cfg.Auth.WrappingKey = strings.Repeat("k", 40)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	log, err := telemetry.NewLogger(w.logs, telemetry.LogConfig{Level: "debug"})
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGateway(t.Context(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	stdout := &commandtest.Buffer{}
	w.url, w.urls = g.URL(), []string{g.URL()}
	run := []func(context.Context) error{func(ctx context.Context) error { return g.Run(ctx, stdout, false) }}
	if servers {
		k, err := NewWorker(t.Context(), cfg, log)
		if err != nil {
			t.Fatal(err)
		}
		w.urls = append(w.urls, k.URL())
		run = append(run, k.Run)
	}
	w.stop = background(t, run)
	t.Cleanup(w.stop)
	w.until("the gateway is ready", func() bool { return w.status(http.MethodGet, "/readyz", "") == http.StatusOK })
	if servers {
		w.key = firstKey(t, g)
	} else {
		_, after, _ := strings.Cut(stdout.String(), "key: ")
		w.key, _, _ = strings.Cut(after, "\n")
	}
	return w
}

// background runs functions until stop is called.
func background(t *testing.T, run []func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	for _, r := range run {
		running.Go(func() {
			if err := r(ctx); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); running.Wait() })
}

// firstKey creates a tenant on servers, with a key.
func firstKey(t *testing.T, g *Gateway) string {
	t.Helper()
	op := grant.Operator("operator:test")
	made, err := g.Tenants.Create(t.Context(), op, tenant.NewTenant{Name: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	k, err := g.Auth.Keys.Create(t.Context(), wholeTenant(made.ID, op.Actor()), auth.NewKey{Name: "first key"})
	if err != nil {
		t.Fatal(err)
	}
	return k.Text
}

// status makes a request with pairs of headers and returns the status of the answer.
func (w *watchedTest) status(method, path, body string, headers ...string) int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(w.t.Context()), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// An add is one trace, from the caller's span to the last call of the model, whether a gateway or a
// worker runs its job.
func TestAddIsOneTrace(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { addIsOneTrace(t, watch(t, false), "slipbox-gateway") })
	t.Run("servers", func(t *testing.T) { addIsOneTrace(t, watch(t, true), "slipbox-worker") })
}

func addIsOneTrace(t *testing.T, w *watchedTest, jobs string) {
	t.Helper()
	const trace, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	w.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "bees"})
	w.add("bees", "I wrapped the beehive in straw before the first frost.")
	if s := w.status(http.MethodPost, "/v1/collections/bees/notes?wait=evolved", `{"content":"The bees survived the frost in the straw."}`,
		"traceparent", "00-"+trace+"-"+caller+"-01"); s != http.StatusCreated {
		t.Fatalf("status %d", s)
	}
	at := map[string]telemetrytest.Span{} // by id
	byName := map[string][]telemetrytest.Span{}
	w.until("the whole trace is there", func() bool {
		clear(at)
		clear(byName)
		for _, s := range w.seen.Spans() {
			if s.Trace != trace {
				continue
			}
			at[s.ID] = s
			name := s.Name
			if p := s.Attributes["slipbox.model.purpose"]; p != "" {
				name += " " + p
			}
			byName[name] = append(byName[name], s)
		}
		return len(byName["POST /v1/collections/:collection/notes"]) == 1 && len(byName["job note prepare"]) == 1 && len(byName["job note decide"]) == 1
	})
	for id, s := range at {
		if _, ok := at[s.Parent]; !ok && s.Parent != caller {
			t.Errorf("%s (%s) has no parent", s.Name, id)
		}
	}
	// above reports whether a span has an ancestor of the name.
	above := func(s telemetrytest.Span, name string) bool {
		for {
			parent, ok := at[s.Parent]
			if !ok {
				return false
			}
			if parent.Name == name {
				return true
			}
			s = parent
		}
	}
	request := byName["POST /v1/collections/:collection/notes"][0]
	if request.Parent != caller || request.Service != "slipbox-gateway" {
		t.Errorf("the request is %+v", request)
	}
	for _, c := range []struct{ name, under, service string }{
		{"store.Write", request.Name, "slipbox-gateway"},
		{"job note prepare", "store.Write", jobs},
		{"job note decide", "store.Write", jobs},
		{"chat a-model analyze", "job note prepare", jobs},
		{"embeddings an-embedder embed", "job note prepare", jobs},
		{"chat a-model evolve", "job note decide", jobs},
		{"store.Write", "job note decide", jobs},
	} {
		found := false
		for _, s := range byName[c.name] {
			found = found || above(s, c.under) && s.Service == c.service
		}
		if !found {
			t.Errorf("no %s of %s under %s", c.name, c.service, c.under)
		}
	}
	if w.owner != "" {
		sql := 0
		for _, s := range at {
			if s.Attributes["db.system.name"] == "postgresql" && strings.HasPrefix(at[s.Parent].Name, "store.") {
				sql++
			}
		}
		if sql == 0 {
			t.Error("no statement is a span")
		}
	}
	tenantID := request.Attributes["slipbox.tenant"]
	for _, s := range append(byName["store.Write"], byName["job note decide"]...) {
		if tenantID == "" || s.Attributes["slipbox.tenant"] != tenantID || s.Attributes["slipbox.collection"] == "" {
			t.Errorf("%s names %v", s.Name, s.Attributes)
		}
	}
}
