package auth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/clock"
	"github.com/slipboxhq/slipbox/test/must"
)

// platform has the services of auth and tenant over the embedded store.
type platform struct {
	*clock.Clock

	path    string
	store   *sqlite.Store
	auth    *auth.Service
	tenants *tenant.Service
	agents  *tenant.Agents
	quotas  *tenant.Quotas
	op      tenant.Operator
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	p := &platform{
		path:  enginetest.File(t),
		Clock: clock.New(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)),
		op:    grant.Operator("test"),
	}
	p.open(t)
	t.Cleanup(func() { p.close(t) })
	return p
}

func (p *platform) open(t *testing.T) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	p.store = must.Get(sqlite.Open(t.Context(), sqlite.Config{Path: p.path}, sqlite.Deps{Clock: p.Now, Logger: log}))(t)
	p.auth = must.Get(auth.New(auth.Deps{
		Keys: p.store, SigningKeys: p.store, Grants: p.store, Directory: p.store, Agents: p.store, Clock: p.Now, Logger: log,
	}, auth.Config{Secret: []byte("a secret of thirty-two bytes, or more")}))(t)
	ledger := must.Get(auth.NewTenantLedger(p.store, p.Now))(t)
	p.tenants = must.Get(tenant.NewService(tenant.ServiceDeps{
		Admin: p.store, Directory: p.store, Audit: ledger, Clock: p.Now, Logger: log, OnChange: p.auth.Forget,
	}))(t)
	p.agents = must.Get(tenant.NewAgents(tenant.AgentsDeps{Store: p.store, Keys: p.auth.Keys, Audit: ledger, OnChange: p.auth.Forget}))(t)
	p.quotas = must.Get(tenant.NewQuotas(p.store, ledger, p.Now, tenant.QuotaConfig{}))(t)
}

func (p *platform) close(t *testing.T) {
	t.Helper()
	if err := p.store.Close(); err != nil {
		t.Error(err)
	}
}

func (p *platform) tenant(t *testing.T, name string) (tenant.Tenant, tenant.Scope) {
	t.Helper()
	x := must.Get(p.tenants.Create(t.Context(), p.op, tenant.NewTenant{Name: name}))(t)
	return x, grant.Scope(x.ID, uuid.Nil, "test", tenant.AllPermissions()...)
}

func (p *platform) authenticate(credential string) (auth.Principal, error) {
	return p.auth.Authenticator.Authenticate(context.Background(), credential)
}

func (p *platform) accepted(t *testing.T, credentials ...string) {
	t.Helper()
	for _, c := range credentials {
		must.Get(p.authenticate(c))(t)
	}
}

func (p *platform) refused(t *testing.T, credentials ...string) {
	t.Helper()
	for _, c := range credentials {
		if _, err := p.authenticate(c); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("error is %v", err)
		}
	}
}

func TestStoreKeysAndTokensSurviveRestart(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	x, scope := p.tenant(t, "acme")
	key := must.Get(p.auth.Keys.Create(t.Context(), scope, auth.NewKey{Name: "李", Agent: "alice", Scopes: []string{"notes:read", "admin"}, TTL: time.Hour}))(t)
	before := must.Get(p.authenticate(key.Text))(t)
	token := must.Get(p.auth.Tokens.Exchange(t.Context(), before, auth.TokenRequest{}))(t)

	p.close(t)
	p.open(t)
	for _, c := range []string{key.Text, token.AccessToken} {
		got := must.Get(p.authenticate(c))(t)
		if got.Scope.Tenant() != x.ID || got.Scope.Agent() != key.Agent || got.AgentName != "alice" || got.KeyID != key.ID ||
			!slices.Equal(got.Permissions(), []tenant.Permission{tenant.Admin, tenant.NotesRead}) || got.Tenant.Name != "acme" {
			t.Errorf("principal is %+v", got)
		}
	}
	must.Get(p.auth.Tokens.Exchange(t.Context(), must.Get(p.authenticate(key.Text))(t), auth.TokenRequest{}))(t)
	if set := must.Get(p.auth.Tokens.JWKS(t.Context()))(t); len(set.Keys) != 1 {
		t.Errorf("a restart created another signing key: %+v", set)
	}
	stored := must.Get(p.auth.Keys.Get(t.Context(), scope, key.ID))(t)
	if stored.Name != "李" || stored.Prefix != key.Prefix || stored.Hash != key.Hash || !stored.ExpiresAt.Equal(key.ExpiresAt) || !stored.CreatedAt.Equal(key.CreatedAt) {
		t.Errorf("stored %+v, created %+v", stored, key.Key)
	}
	p.Pass(time.Hour)
	p.refused(t, key.Text, token.AccessToken)
}

// A code of a grant is good for a minute, and its refresh token for ninety days after it was used last.
func TestStoreGrantsExpire(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	_, scope := p.tenant(t, "acme")
	key := must.Get(p.auth.Keys.Create(t.Context(), scope, auth.NewKey{}))(t)
	at := auth.Resource{Issuer: "https://memory.example", URL: "https://memory.example/mcp"}
	const verifier = "a verifier of at least forty-three characters, as it must be"
	sum := sha256.Sum256([]byte(verifier))
	allow := func() auth.CodeExchange {
		code := must.Get(p.auth.Grants.Allow(t.Context(), must.Get(p.authenticate(key.Text))(t), auth.NewGrant{
			Client: "a program", ClientID: "c", Redirect: "http://127.0.0.1/", At: at,
			Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), Permissions: []tenant.Permission{tenant.NotesRead},
		}))(t)
		return auth.CodeExchange{Code: code, ClientID: "c", Redirect: "http://127.0.0.1/", Verifier: verifier, At: at}
	}

	late, inTime := allow(), allow()
	p.Pass(59 * time.Second)
	granted := must.Get(p.auth.Grants.Exchange(t.Context(), inTime))(t)
	p.Pass(time.Second)
	if _, err := p.auth.Grants.Exchange(t.Context(), late); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a code after a minute: %v", err)
	}

	refresh := func() error {
		next, err := p.auth.Grants.Refresh(t.Context(), auth.RefreshExchange{RefreshToken: granted.RefreshToken, ClientID: "c", At: at})
		if err == nil {
			granted = next
		}
		return err
	}
	const days = 24 * time.Hour
	p.Pass(89 * days)
	if err := refresh(); err != nil {
		t.Errorf("a refresh token after 89 days: %v", err)
	}
	p.Pass(90 * days)
	if err := refresh(); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a refresh token after 90 days: %v", err)
	}
}

func TestStoreSuspendResumeDelete(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	x, scope := p.tenant(t, "acme")
	_, others := p.tenant(t, "other")
	key := must.Get(p.auth.Keys.Create(t.Context(), scope, auth.NewKey{}))(t)
	other := must.Get(p.auth.Keys.Create(t.Context(), others, auth.NewKey{}))(t)
	token := must.Get(p.auth.Tokens.Exchange(t.Context(), must.Get(p.authenticate(key.Text))(t), auth.TokenRequest{}))(t)
	p.accepted(t, key.Text, token.AccessToken)

	if got := must.Get(p.tenants.Suspend(t.Context(), p.op, "acme"))(t); got.State != tenant.Suspended {
		t.Errorf("state is %s", got.State)
	}
	p.refused(t, key.Text, token.AccessToken)
	if _, err := p.authenticate(token.AccessToken); err == nil || err.Error() != "unauthenticated: the tenant is suspended" {
		t.Errorf("error is %v", err)
	}
	p.accepted(t, other.Text)
	must.Get(p.tenants.Resume(t.Context(), p.op, x.ID.String()))(t)
	p.accepted(t, key.Text, token.AccessToken)

	entries := must.Get(p.store.ListAudit(t.Context(), scope, memory.AuditQuery{Limit: 50}))(t)
	actions := make([]string, 0, len(entries))
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	if want := []string{"tenant.resume", "tenant.suspend", "key.create", "tenant.create"}; !slices.Equal(actions, want) {
		t.Errorf("the audit log contains %v, want %v", actions, want)
	}

	must.Do(t, p.tenants.Delete(t.Context(), p.op, "acme"))
	p.refused(t, key.Text, token.AccessToken)
	p.accepted(t, other.Text)
	_, err := p.tenants.Get(t.Context(), p.op, "acme")
	_, byID := p.tenants.Get(t.Context(), p.op, x.ID.String())
	if !fault.Is(err, fault.NotFound) || !fault.Is(byID, fault.NotFound) {
		t.Errorf("errors are %v and %v", err, byID)
	}
}

// TestStoreConcurrentTenantChanges: concurrent changes lose neither a suspension
// nor a limit.
func TestStoreConcurrentTenantChanges(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.tenant(t, "acme")
	var wg sync.WaitGroup
	n := int64(5)
	for _, patch := range []tenant.LimitsPatch{{Notes: &n}, {Forks: &n}, {Collections: &n}, {StoredBytes: &n}} {
		wg.Go(func() {
			if _, err := p.tenants.Patch(t.Context(), p.op, "acme", tenant.Patch{Limits: patch}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if _, err := p.tenants.Suspend(t.Context(), p.op, "acme"); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	got := must.Get(p.tenants.Get(t.Context(), p.op, "acme"))(t)
	if got.State != tenant.Suspended || got.Limits != (tenant.Limits{Notes: 5, Forks: 5, Collections: 5, StoredBytes: 5}) {
		t.Errorf("tenant is %+v", got)
	}
}

func TestStoreQuotaCountsModelTokens(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	ctx := t.Context()
	_, scope := p.tenant(t, "acme")
	limit := int64(100)
	must.Get(p.tenants.Patch(ctx, p.op, "acme", tenant.Patch{Limits: tenant.LimitsPatch{ModelTokensPerDay: &limit}}))(t)
	use := func(day string, n int64) {
		t.Helper()
		must.Do(t, p.store.AddModelUse(ctx, scope, []memory.ModelUse{{Purpose: "analyze", Day: day, Calls: 1, PromptTokens: n, CompletionTokens: n}}))
	}
	use("2026-11-20", 1000) // yesterday's do not count
	use("2026-11-21", 30)
	// A credential bound to an agent is limited by the usage of the whole tenant.
	agent := must.Get(p.agents.Create(ctx, scope, tenant.NewAgent{Name: "alice"}))(t)
	narrow := grant.Scope(scope.Tenant(), agent.ID, "test", tenant.NotesWrite)
	must.Do(t, p.quotas.Check(ctx, narrow, tenant.Usage{ModelTokens: 40}))
	use("2026-11-21", 20)
	if err := p.quotas.Check(ctx, narrow, tenant.Usage{ModelTokens: 1}); !fault.Is(err, fault.QuotaExceeded) {
		t.Fatalf("error is %v", err)
	}
	p.Pass(24 * time.Hour)
	must.Do(t, p.quotas.Check(ctx, narrow, tenant.Usage{ModelTokens: 100}))
}
