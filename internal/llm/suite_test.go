package llm_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/analyst"
	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// meter records all uses.
type meter struct {
	mu   sync.Mutex
	uses []memory.ModelUse
	by   []uuid.UUID
}

func (m *meter) Record(_ context.Context, s tenant.Scope, u memory.ModelUse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses = append(m.uses, u)
	m.by = append(m.by, s.Tenant())
}

func (m *meter) all() []memory.ModelUse {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]memory.ModelUse(nil), m.uses...)
}

// secret is the key that must not appear anywhere.
const secret = "sk-very-secret-0123456789"

var now = time.Date(2026, 3, 4, 23, 30, 0, 0, time.UTC)

type fixture struct {
	srv   *llmtest.Server
	meter *meter
	log   *commandtest.Buffer
	scope tenant.Scope
	cfg   llm.Config
	deps  llm.Deps
}

// setup returns a fake endpoint and a Config for it with short timeouts.
func setup(t *testing.T) *fixture {
	t.Helper()
	return setupOf(llmtest.New(t))
}

// inBubble runs a test in a bubble of time, whose endpoint has no connections.
func inBubble(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := setupOf(llmtest.Unconnected())
		f.deps.Transport = f.srv
		test(t, f)
	})
}

func setupOf(srv *llmtest.Server) *fixture {
	f := &fixture{srv: srv, meter: &meter{}, log: &commandtest.Buffer{}}
	f.scope = grant.Scope(uuid.New(), uuid.Nil, "test")
	f.cfg = llm.Config{
		Provider: llm.ProviderOpenAI, BaseURL: f.srv.URL(), Model: "fake", APIKey: secret,
		Timeout: time.Minute, RetryWait: time.Millisecond, MaxRetryWait: 2 * time.Second, // a busy machine answers slowly
		EmbedProvider: llm.EmbedHash,
	}
	f.deps = llm.Deps{
		Log: slog.New(slog.NewTextHandler(f.log, nil)), Meter: f.meter,
		Clock: func() time.Time { return now }, Rules: analyst.New(),
	}
	return f
}

func (f *fixture) model(t *testing.T) *llm.Completion {
	t.Helper()
	m := must.Get(llm.NewCompletion(f.deps, f.cfg))(t)
	return m
}

var analyzeSchema = json.RawMessage(`{"type":"object","properties":{
	"keywords":{"type":"array","items":{"type":"string"}},
	"context":{"type":"string"},
	"tags":{"type":"array","items":{"type":"string"}}},
	"required":["keywords","context","tags"],"additionalProperties":false}`)

var evolveSchema = json.RawMessage(`{"type":"object","properties":{
	"should_evolve":{"type":"boolean"},
	"actions":{"type":"array","items":{"type":"string","enum":["strengthen","update_neighbor"]}},
	"suggested_connections":{"type":"array","items":{"type":"integer"}},
	"confidence":{"type":"number"}},
	"required":["should_evolve","actions","suggested_connections","confidence"],"additionalProperties":false}`)

var collection = uuid.MustParse("00000000-0000-0000-0000-0000000000c0")

func analyzeCall() memory.Call {
	return memory.Call{
		Name: "analyze", Version: "amem/analyze@1", System: `Describe the note. Example: {"context": "Ann is in Oslo."}`, Prompt: "The note: bees survive frost in straw.",
		Schema: analyzeSchema, Temperature: 0.7, MaxTokens: 1000, Collection: collection,
		Needs: []string{"keywords", "context", "tags"},
	}
}

func evolveCall() memory.Call {
	return memory.Call{Name: "evolve", Version: "amem/evolve@1", System: "Decide.", Prompt: "Notes.", Schema: evolveSchema, MaxTokens: 500, Temperature: 0.3, Collection: collection}
}

var goodAnalysis = amem.Analysis{
	Keywords: []string{"bees", "frost", "straw"}, Context: "Bees survive frost in straw.", Tags: []string{"nature", "statement", "fact"},
}

func keywordsOf(t *testing.T, a memory.Answer) []string {
	t.Helper()
	var out amem.Analysis
	if err := json.Unmarshal(a.JSON, &out); err != nil {
		t.Fatalf("%v in %s", err, a.JSON)
	}
	return out.Keywords
}
