package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
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
	"github.com/slipboxhq/slipbox/test/must"
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
	cfg.Outbound.AllowHosts = []string{"127.0.0.1:9"}         // where no service is
	cfg.LLM.BaseURL, cfg.LLM.Model = w.model.URL(), "a-model" // which make the provider openai
	cfg.LLM.EmbedProvider, cfg.LLM.EmbedModel, cfg.LLM.EmbedDim = "openai", "an-embedder", 384
	cfg.LLM.APIKey = "sk-of-the-model"
	cfg.LLM.MaxTries, cfg.LLM.RetryWait, cfg.LLM.BreakerFailures = 1, time.Millisecond, 1000
	w.data = cfg.Data
	if servers {
		db := postgrestest.New(t)
		cfg.DatabaseURL, w.owner = db.URL, db.OwnerURL
		cfg.ReplicaURL = strings.Replace(db.URL, "127.0.0.1", "127.0.0.9", 1) // where no standby is
		cfg.RedisURL, cfg.Redis.Prefix = redistest.Shared(t)
		cfg.Auth.WrappingKey = strings.Repeat("k", 40)
	}
	must.Do(t, cfg.Validate())
	log := must.Get(telemetry.NewLogger(w.logs, telemetry.LogConfig{Level: "debug"}))(t)
	g := must.Get(NewGateway(t.Context(), cfg, log))(t)
	stdout := &commandtest.Buffer{}
	w.url, w.urls = g.URL(), []string{g.URL()}
	started := []running{run(t, w.logs, func(ctx context.Context) error { return g.Run(ctx, stdout, false) })}
	if servers {
		k := must.Get(NewWorker(t.Context(), cfg, log))(t)
		w.urls = append(w.urls, k.URL())
		started = append(started, run(t, w.logs, k.Run))
	}
	w.stop = func() {
		for _, r := range started {
			r.stop()
		}
	}
	w.until("the gateway is ready", func() bool { return w.status(http.MethodGet, "/readyz", "") == http.StatusOK })
	if servers {
		w.key = firstKey(t, g)
	} else {
		_, after, _ := strings.Cut(stdout.String(), "key: ")
		w.key, _, _ = strings.Cut(after, "\n")
	}
	return w
}

// firstKey creates a tenant on servers, with a key.
func firstKey(t *testing.T, g *Gateway) string {
	t.Helper()
	op := grant.Operator("operator:test")
	made := must.Get(g.Tenants.Create(t.Context(), op, tenant.NewTenant{Name: "acme"}))(t)
	k := must.Get(g.Auth.Keys.Create(t.Context(), wholeTenant(made.ID, op.Actor()), auth.NewKey{Name: "first key"}))(t)
	return k.Text
}

// status makes a request with pairs of headers and returns the status of the answer.
func (w *watchedTest) status(method, path, body string, headers ...string) int {
	w.t.Helper()
	req := must.Get(http.NewRequestWithContext(context.WithoutCancel(w.t.Context()), method, w.url+path, strings.NewReader(body)))(w.t)
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
	checkSpanCount(t, slices.Collect(maps.Values(at)), maxAddSpans)
	checkLangfuse(t, slices.Collect(maps.Values(at)), "generation", "embedding")
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
		for _, s := range byName["store.OpenView"] {
			if a := s.Attributes; !strings.HasPrefix(a["db.operation.name"], "BATCH") || a["db.operation.batch.size"] == "" || !strings.Contains(a["db.query.text"], "SELECT") {
				t.Errorf("a call with one round trip has %v", a)
			}
		}
	}
	for _, s := range at {
		if _, ok := s.Attributes["db.operation.batch.size"]; ok && strings.Contains(at[s.Parent].Name, "BATCH") {
			t.Errorf("%s is part of a batch", s.Name)
		}
		if p, ok := s.Attributes["gen_ai.provider.name"]; ok && p != "openai" {
			t.Errorf("%s names the provider %q, want openai", s.Name, p)
		}
	}
	for line := range strings.Lines(w.scrape()) {
		if strings.Contains(line, "gen_ai_provider_name=") && !strings.Contains(line, `gen_ai_provider_name="openai"`) {
			t.Errorf("a metric names another provider: %s", line)
		}
	}
	if a := request.Attributes; a["gen_ai.operation.name"] != "create_memory" || a["gen_ai.memory.record.id"] == "" || a["gen_ai.memory.record.count"] != "int_value:1" ||
		a["gen_ai.memory.store.id"] != byName["job note decide"][0].Attributes["slipbox.collection"] {
		t.Errorf("the request has %v", a)
	}
	tenantID := request.Attributes["slipbox.tenant"]
	for _, s := range append(byName["store.Write"], byName["job note decide"]...) {
		if tenantID == "" || s.Attributes["slipbox.tenant"] != tenantID || s.Attributes["slipbox.collection"] == "" {
			t.Errorf("%s names %v", s.Name, s.Attributes)
		}
	}
}

// Spans of a trace at most: an add with its jobs, and a search or a context.
const (
	maxAddSpans    = 40
	maxSearchSpans = 12
)

// checkSpanCount fails when a trace has too many spans.
func checkSpanCount(t *testing.T, spans []telemetrytest.Span, most int) {
	t.Helper()
	slices.SortFunc(spans, func(a, b telemetrytest.Span) int { return cmp.Compare(a.Start, b.Start) })
	names := make([]string, len(spans))
	for i, s := range spans {
		names[i] = s.Name
	}
	t.Logf("%d spans:\n%s", len(spans), strings.Join(names, "\n"))
	if len(spans) > most {
		t.Errorf("%d spans, want at most %d", len(spans), most)
	}
}

// A search is a few spans, which show where its time goes, also when the index has to be loaded first.
func TestSearchIsOneTrace(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { searchIsOneTrace(t, watch(t, false)) })
	t.Run("servers", func(t *testing.T) { searchIsOneTrace(t, watch(t, true)) })
}

func searchIsOneTrace(t *testing.T, w *watchedTest) {
	t.Helper()
	made := w.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "bees"})
	// Nothing decides about these notes, so nothing has loaded the index.
	for _, content := range []string{"I wrapped the beehive in straw.", "The bees survived the frost."} {
		w.call(http.StatusCreated, http.MethodPost, "/v1/collections/bees/notes", object{"content": content, "infer": false})
	}
	loaded := []string{"index.load", "encode", "embeddings an-embedder", "index.search", "rank"}
	for i, c := range []struct {
		what, path string
		want       []string // spans besides the request
	}{
		{"the first search", "search", loaded},
		{"another search", "search", []string{"encode", "index.search", "rank"}},
		{"a context", "context", []string{"encode", "index.search", "rank", "context.build"}},
	} {
		trace := fmt.Sprintf("0af7651916cd43dd8448eb211c8031%02d", i)
		if s := w.status(http.MethodPost, "/v1/collections/bees/"+c.path, `{"query":"straw of bees"}`, "traceparent", "00-"+trace+"-b7ad6b7169203331-01"); s != http.StatusOK {
			t.Fatalf("%s: status %d", c.what, s)
		}
		var spans []telemetrytest.Span
		var request telemetrytest.Span
		w.until(c.what+" is there", func() bool {
			spans = slices.DeleteFunc(w.seen.Spans(), func(s telemetrytest.Span) bool { return s.Trace != trace })
			i := slices.IndexFunc(spans, func(s telemetrytest.Span) bool { return s.Name == "POST /v1/collections/:collection/"+c.path })
			if i >= 0 {
				request = spans[i]
			}
			return i >= 0
		})
		checkSpanCount(t, spans, maxSearchSpans)
		checkLangfuse(t, spans, "retriever")
		for _, name := range c.want {
			found := slices.IndexFunc(spans, func(s telemetrytest.Span) bool { return s.Name == name })
			if found < 0 || spans[found].Parent != request.ID && name != "embeddings an-embedder" {
				t.Errorf("%s has no span %s under the request", c.what, name)
			}
		}
		if i := slices.IndexFunc(spans, func(s telemetrytest.Span) bool { return s.Name == "index.search" }); spans[i].Attributes["openinference.span.kind"] != "RETRIEVER" ||
			spans[i].Attributes["input.value"] != "" {
			t.Errorf("the search of %s has %v", c.what, spans[i].Attributes)
		}
		if a := request.Attributes; a["gen_ai.operation.name"] != "search_memory" || a["gen_ai.memory.store.id"] != made["id"] || a["gen_ai.memory.record.count"] != "int_value:2" {
			t.Errorf("%s has %v", c.what, a)
		}
	}
}

// checkLangfuse verifies that Langfuse takes calls of models as generations and embeddings, with a model and tokens, searches as
// retrievals, and all else as plain spans; and that the spans have each kind in want.
func checkLangfuse(t *testing.T, spans []telemetrytest.Span, want ...string) {
	t.Helper()
	for _, s := range spans {
		kind := "span"
		switch {
		case strings.HasPrefix(s.Name, "chat "):
			kind = "generation"
		case strings.HasPrefix(s.Name, "embeddings "):
			kind = "embedding"
		case s.Name == "index.search":
			kind = "retriever"
		}
		if got := langfuseKind(s.Attributes); got != kind {
			t.Errorf("Langfuse takes %s for a %s, want a %s: %v", s.Name, got, kind, s.Attributes)
		}
		if kind == "generation" && (s.Attributes["gen_ai.usage.input_tokens"] == "" || s.Attributes["gen_ai.usage.output_tokens"] == "") {
			t.Errorf("%s has no tokens: %v", s.Name, s.Attributes)
		}
		want = slices.DeleteFunc(want, func(k string) bool { return k == kind })
	}
	if len(want) > 0 {
		t.Errorf("no span is a %v", want)
	}
}

// langfuseKind returns what Langfuse takes a span for, by the attributes that it documents, in their order.
func langfuseKind(a map[string]string) string {
	if kind := a["langfuse.observation.type"]; kind != "" {
		return kind
	}
	inference := map[string]string{"RETRIEVER": "retriever", "LLM": "generation", "EMBEDDING": "embedding", "CHAIN": "chain", "AGENT": "agent", "TOOL": "tool"}
	if kind := inference[a["openinference.span.kind"]]; kind != "" {
		return kind
	}
	operation := map[string]string{
		"chat": "generation", "completion": "generation", "text_completion": "generation", "generate_content": "generation", "generate": "generation",
		"embeddings": "embedding", "invoke_agent": "agent", "create_agent": "agent", "execute_tool": "tool",
	}
	if kind := operation[a["gen_ai.operation.name"]]; kind != "" {
		return kind
	}
	for _, tool := range []string{"gen_ai.tool.name", "gen_ai.tool.call.id"} {
		if a[tool] != "" {
			return "tool"
		}
	}
	for _, model := range []string{"gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "model"} {
		if a[model] != "" {
			return "generation"
		}
	}
	return "span"
}

// Requests name their operation on memory as the conventions for generative AI do.
func TestMemoryOperations(t *testing.T) {
	w := watch(t, false)
	store := w.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "bees", "policy": "memorybank"})["id"]
	note := w.call(http.StatusCreated, http.MethodPost, "/v1/collections/bees/notes", object{"content": "The bees survived.", "infer": false})["note"]
	n, ok := note.(map[string]any)
	if !ok {
		t.Fatalf("the note is %v", note)
	}
	id := fmt.Sprint(n["id"])
	w.call(http.StatusOK, http.MethodPatch, "/v1/collections/bees/notes/"+id, object{"content": "The bees survived the frost."})
	w.call(http.StatusAccepted, http.MethodPost, "/v1/collections/bees/messages", object{"messages": []object{
		{"role": "user", "content": "Do bees sleep?"}, {"role": "assistant", "content": "They rest."},
	}})
	w.call(http.StatusOK, http.MethodPost, "/v1/collections/bees/forget", object{"dry_run": false})
	w.status(http.MethodDelete, "/v1/collections/bees/notes/"+id, "")
	w.status(http.MethodDelete, "/v1/collections/bees", "")
	w.stop() // sends the rest
	const c = "/v1/collections/:collection"
	for _, want := range []struct{ span, operation, record, count string }{
		{"POST /v1/collections", "create_memory_store", "", ""},
		{"POST " + c + "/notes", "create_memory", id, "1"},
		{"PATCH " + c + "/notes/:note", "update_memory", id, "1"},
		{"POST " + c + "/messages", "create_memory", "", "2"},
		{"POST " + c + "/forget", "delete_memory", "", "0"},
		{"DELETE " + c + "/notes/:note", "delete_memory", id, "1"},
		{"DELETE " + c, "delete_memory_store", "", ""},
	} {
		i := slices.IndexFunc(w.seen.Spans(), func(s telemetrytest.Span) bool { return s.Name == want.span })
		if i < 0 {
			t.Errorf("there is no span %s", want.span)
			continue
		}
		a := w.seen.Spans()[i].Attributes
		if a["gen_ai.operation.name"] != want.operation || a["gen_ai.memory.store.id"] != store || a["gen_ai.memory.record.id"] != want.record ||
			strings.TrimPrefix(a["gen_ai.memory.record.count"], "int_value:") != want.count {
			t.Errorf("%s has %v, want %+v of the store %v", want.span, a, want, store)
		}
	}
}
