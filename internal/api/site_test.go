package api

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/clock"
	"github.com/slipboxhq/slipbox/test/must"
)

// siteSecret wraps the signing keys of sites.
const siteSecret = "a secret of thirty-two bytes, or more"

// site is the API with the real services over the embedded store, with its own clock.
type site struct {
	*Server
	*clock.Clock
	store    store.Store
	auth     *auth.Service
	log      *commandtest.Buffer
	operator string // a platform key
}

func need[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newSite(t *testing.T, change func(*site, *Deps)) *site {
	t.Helper()
	s := &site{log: &commandtest.Buffer{}, Clock: clock.New(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))}
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.store = enginetest.Open(t, s.Now, log)
	s.auth = need(auth.New(auth.Deps{
		Keys: s.store, SigningKeys: s.store, Grants: s.store, Directory: s.store, Agents: s.store, Clock: s.Now, Logger: slog.New(slog.NewJSONHandler(s.log, nil)),
	}, auth.Config{Secret: []byte(siteSecret)}))(t)
	ledger := need(auth.NewTenantLedger(s.store, s.Now))(t)
	deps := Deps{
		Log: log, Auth: s.auth.Authenticator, Now: s.Now,
		Access: &Access{
			Tokens: s.auth.Tokens, Keys: s.auth.Keys, Grants: s.auth.Grants, Usage: s.store, Audit: s.store,
			Agents: need(tenant.NewAgents(tenant.AgentsDeps{Store: s.store, Keys: s.auth.Keys, Audit: ledger, OnChange: s.auth.Forget}))(t),
			Tenants: need(tenant.NewService(tenant.ServiceDeps{
				Admin: s.store, Directory: s.store, Audit: ledger, Clock: s.Now, Logger: log, OnChange: s.auth.Forget,
			}))(t),
		},
	}
	if change != nil {
		change(s, &deps)
	}
	s.Server = need(New(deps, DefaultConfig()))(t)
	s.mountMemory(t)
	s.operator = need(s.auth.Keys.CreateOperator(t.Context(), grant.Operator("test"), "platform", 0))(t).Text
	return s
}

// mountMemory serves enough of collections and notes to test who reaches what.
func (s *site) mountMemory(t *testing.T) {
	t.Helper()
	embedders := need(llm.NewRegistry(llm.Deps{Log: slog.New(slog.DiscardHandler), Clock: s.Now}, llm.Config{EmbedProvider: llm.EmbedHash}))(t)
	h := &core{Server: s.Server, waiting: newGate(1), following: newGate(1), Core: Core{
		Collections: need(notes.NewCollections(notes.CollectionsDeps{
			Store: s.store, Agents: s.store, Embedders: embedders, Policies: memory.NewPolicySet(policy.NewNone()), Clock: s.Now,
		}))(t),
		Notes:  need(notes.New(notes.Deps{Store: s.store, Embedders: embedders, Clock: s.Now}, notes.Config{}))(t),
		Recall: need(recall.New(recall.Deps{Store: s.store, Embedders: embedders, Clock: s.Now}, recall.Config{}))(t),
		Jobs:   s.store,
	}}
	must.Do(t, s.mountAll(map[string]handler{
		"createCollection": withBody(h.createCollection), "listCollections": h.listCollections, "getCollection": onCollection(h.getCollection),
		"deleteCollection": onCollection(h.deleteCollection), "createNote": onCollectionBody(h.createNote), "getNote": onNote(h.getNote), "listNotes": h.listNotes,
		"search": h.search, "listJobs": h.listJobs,
	}))
}

// answer is a response.
type answer struct {
	*httptest.ResponseRecorder
}

// read decodes the body.
func read[T any](t *testing.T, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(a.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return v
}

// send sends a request, with a body unless it is "", and validates the answer against the contract.
func (s *site) send(t *testing.T, credential, method, target, body string, header ...string) answer {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, target, reader)
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	if body != "" {
		r.Header.Set("Content-Type", mediaJSON)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	contracttest.Conforms(t, method, r.URL.Path, w)
	return answer{w}
}

// want sends a request that must be answered with the status, and decodes the answer.
func want[T any](t *testing.T, s *site, status int, credential, method, target, body string, header ...string) T {
	t.Helper()
	a := s.send(t, credential, method, target, body, header...)
	if a.Code != status {
		t.Fatalf("%s %s: %d, want %d: %s", method, target, a.Code, status, a.Body)
	}
	if a.Body.Len() == 0 {
		var zero T
		return zero
	}
	return read[T](t, a)
}

// refused sends a request that must be refused with the code, and returns the problem.
func (s *site) refused(t *testing.T, code fault.Code, credential, method, target, body string, header ...string) wire.Problem {
	t.Helper()
	a := s.send(t, credential, method, target, body, header...)
	p := read[wire.Problem](t, a)
	if p.Code != string(code) || a.Code != statuses[code] {
		t.Errorf("%s %s: %d %s, want %s: %s", method, target, a.Code, p.Code, code, a.Body)
	}
	return p
}

// tenant creates a tenant over HTTP and an admin key for it.
func (s *site) tenant(t *testing.T, name string) (wire.Tenant, string) {
	t.Helper()
	x := want[wire.Tenant](t, s, http.StatusCreated, s.operator, http.MethodPost, "/v1/tenants", `{"name":"`+name+`"}`)
	return x, s.key(t, x.ID, auth.NewKey{})
}

// key creates a key without HTTP, as the command line does.
func (s *site) key(t *testing.T, tenantID uuid.UUID, n auth.NewKey) string {
	t.Helper()
	sc := grant.Scope(tenantID, uuid.Nil, "operator:test", tenant.AllPermissions()...)
	return need(s.auth.Keys.Create(t.Context(), sc, n))(t).Text
}

// same checks that two refusals are equal in status, headers and body, except for what names the
// request.
func same(t *testing.T, a, b answer) {
	t.Helper()
	for _, x := range []answer{a, b} {
		x.Header().Del(headerRequestID)
	}
	if a.Code != b.Code || mustJSON(t, a.Header()) != mustJSON(t, b.Header()) {
		t.Errorf("%d %v and %d %v", a.Code, a.Header(), b.Code, b.Header())
	}
	pa, pb := read[map[string]any](t, a), read[map[string]any](t, b)
	delete(pa, "request_id")
	delete(pb, "request_id")
	if x, y := mustJSON(t, pa), mustJSON(t, pb); x != y {
		t.Errorf("%s and %s", x, y)
	}
}

func TestAccessNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := New(Deps{Log: slog.New(slog.DiscardHandler), Auth: keys{}, Access: &Access{}}, DefaultConfig())
	for _, part := range []string{"tokens", "keys", "agents", "tenants", "usage", "audit"} {
		if err == nil || !strings.Contains(err.Error(), part+" is required") {
			t.Errorf("%s: %v", part, err)
		}
	}
	if _, err := New(Deps{Log: slog.New(slog.DiscardHandler), Auth: keys{}, Limits: tenant.Limits{RequestsPerMinute: -1}}, DefaultConfig()); err == nil {
		t.Error("a negative limit is taken")
	}
}

func TestAbsentHidesWhichLayerFoundItOut(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	if err := uniformNotFound(own, "agent"); !errors.Is(err, own) {
		t.Error(err)
	}
	if err := uniformNotFound(nil, "agent"); err != nil {
		t.Error(err)
	}
	if f := normalize(uniformNotFound(fault.Missing("key"), "API key")); f.Message != "API key not found" {
		t.Error(f)
	}
}
