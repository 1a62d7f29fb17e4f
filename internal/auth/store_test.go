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
	"github.com/slipboxhq/slipbox/test/must"
)

// platform has the services of auth and tenant over the embedded store.
type platform struct {
	path    string
	store   *sqlite.Store
	auth    *auth.Service
	tenants *tenant.Service
	agents  *tenant.Agents
	quotas  *tenant.Quotas
	op      tenant.Operator

	mu  sync.Mutex
	now time.Time
}

func (p *platform) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *platform) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	p := &platform{
		path: enginetest.File(t),
		now:  time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		op:   grant.Operator("test"),
	}
	p.open(t)
	t.Cleanup(func() { p.close(t) })
	return p
}

func (p *platform) open(t *testing.T) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	p.store = must.Get(sqlite.Open(t.Context(), sqlite.Config{Path: p.path}, sqlite.Deps{Clock: p.clock, Logger: log}))(t)
	p.auth = must.Get(auth.New(auth.Deps{
		Keys: p.store, SigningKeys: p.store, Grants: p.store, Directory: p.store, Agents: p.store, Clock: p.clock, Logger: log,
	}, auth.Config{Secret: []byte("a secret of thirty-two bytes, or more")}))(t)
	ledger := must.Get(auth.NewTenantLedger(p.store, p.clock))(t)
	p.tenants = must.Get(tenant.NewService(tenant.ServiceDeps{
		Admin: p.store, Directory: p.store, Audit: ledger, Clock: p.clock, Logger: log, OnChange: p.auth.Forget,
	}))(t)
	p.agents = must.Get(tenant.NewAgents(tenant.AgentsDeps{Store: p.store, Keys: p.auth.Keys, Audit: ledger, OnChange: p.auth.Forget}))(t)
	p.quotas = must.Get(tenant.NewQuotas(p.store, ledger, p.clock, tenant.QuotaConfig{}))(t)
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
	p.pass(time.Hour)
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
	p.pass(59 * time.Second)
	granted := must.Get(p.auth.Grants.Exchange(t.Context(), inTime))(t)
	p.pass(time.Second)
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
	p.pass(89 * days)
	if err := refresh(); err != nil {
		t.Errorf("a refresh token after 89 days: %v", err)
	}
	p.pass(90 * days)
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

func TestStoreTenants(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	ctx := t.Context()
	for _, name := range []string{"b", "a", "c"} {
		p.tenant(t, name)
	}
	var names []string
	for after := ""; ; {
		page := must.Get(p.tenants.List(ctx, p.op, after, 2))(t)
		for _, x := range page {
			names = append(names, x.Name)
		}
		if len(page) < 2 {
			break
		}
		after = page[len(page)-1].Name
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("names are %v", names)
	}
	_, taken := p.tenants.Create(ctx, p.op, tenant.NewTenant{Name: "a"})
	_, badName := p.tenants.Create(ctx, p.op, tenant.NewTenant{Name: "A"})
	_, badLimit := p.tenants.Create(ctx, p.op, tenant.NewTenant{Name: "d", Limits: tenant.Limits{Notes: -1}})
	_, zero := p.tenants.Create(ctx, tenant.Operator{}, tenant.NewTenant{Name: "e"})
	_, listZero := p.tenants.List(ctx, tenant.Operator{}, "", 10)
	_, absent := p.tenants.Suspend(ctx, p.op, "zzz")
	for _, c := range []struct {
		err  error
		code fault.Code
	}{
		{taken, fault.Exists}, {badName, fault.Invalid}, {badLimit, fault.Invalid},
		{zero, fault.Unauthenticated}, {listZero, fault.Unauthenticated}, {absent, fault.NotFound},
	} {
		if !fault.Is(c.err, c.code) {
			t.Errorf("error is %v, want %s", c.err, c.code)
		}
	}
	seven, minus := int64(7), int64(-7)
	must.Get(p.tenants.Patch(ctx, p.op, "a", tenant.Patch{Limits: tenant.LimitsPatch{Notes: &seven}}))(t)
	got := must.Get(p.tenants.Patch(ctx, p.op, "a", tenant.Patch{Limits: tenant.LimitsPatch{Forks: &seven}}))(t)
	if got.Limits != (tenant.Limits{Notes: 7, Forks: 7}) {
		t.Errorf("limits are %+v", got.Limits)
	}
	if _, err := p.tenants.Patch(ctx, p.op, "a", tenant.Patch{Limits: tenant.LimitsPatch{Notes: &minus}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("error is %v", err)
	}
	if got := must.Get(p.tenants.Get(ctx, p.op, "a"))(t); got.Limits.Notes != 7 {
		t.Errorf("a refused patch changed the limits: %+v", got.Limits)
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

func TestStoreAgents(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	ctx := t.Context()
	_, scope := p.tenant(t, "acme")
	_, others := p.tenant(t, "other")
	alice := must.Get(p.agents.Create(ctx, scope, tenant.NewAgent{Name: "alice", DisplayName: "爱丽丝"}))(t)
	key := must.Get(p.auth.Keys.Create(ctx, scope, auth.NewKey{Agent: "alice"}))(t)
	bob := must.Get(p.auth.Keys.Create(ctx, scope, auth.NewKey{Agent: "bob"}))(t) // creates the agent
	whole := must.Get(p.auth.Keys.Create(ctx, scope, auth.NewKey{}))(t)
	token := must.Get(p.auth.Tokens.Exchange(ctx, must.Get(p.authenticate(whole.Text))(t), auth.TokenRequest{Agent: "alice"}))(t)
	if key.Agent != alice.ID || token.Agent != alice.ID {
		t.Errorf("key of %s, token of %s, agent %s", key.Agent, token.Agent, alice.ID)
	}
	p.accepted(t, key.Text, bob.Text, token.AccessToken)

	for _, ref := range []string{"alice", alice.ID.String()} {
		if got := must.Get(p.agents.Get(ctx, scope, ref))(t); got.DisplayName != "爱丽丝" {
			t.Errorf("agent is %+v", got)
		}
	}
	asBob := must.Get(p.authenticate(bob.Text))(t).Scope
	asAlice := must.Get(p.authenticate(key.Text))(t).Scope
	if list := must.Get(p.agents.List(ctx, scope, "", 10))(t); len(list) != 2 || list[0].Name != "alice" || list[1].Name != "bob" {
		t.Errorf("list is %+v", list)
	}
	if list := must.Get(p.agents.List(ctx, asBob, "", 10))(t); len(list) != 1 || list[0].Name != "bob" {
		t.Errorf("bob's list is %+v", list)
	}
	if list := must.Get(p.agents.List(ctx, asBob, "bob", 10))(t); len(list) != 0 {
		t.Errorf("bob's next page is %+v", list)
	}

	_, absent := p.agents.Get(ctx, scope, "nobody")
	_, fromBob := p.agents.Get(ctx, asBob, "alice")
	_, fromOther := p.agents.Get(ctx, others, alice.ID.String())
	deleted := p.agents.Delete(ctx, asBob, "alice")
	foreign := p.agents.Delete(ctx, others, alice.ID.String())
	for i, err := range []error{fromBob, fromOther, deleted, foreign} {
		if err == nil || err.Error() != absent.Error() {
			t.Errorf("%d: error %v, want that of an absent agent: %v", i, err, absent)
		}
	}
	_, taken := p.agents.Create(ctx, scope, tenant.NewAgent{Name: "alice"})
	_, byAgent := p.agents.Create(ctx, asAlice, tenant.NewAgent{Name: "carol"})
	_, noAdmin := p.agents.Create(ctx, grant.Scope(scope.Tenant(), uuid.Nil, "test", tenant.NotesRead), tenant.NewAgent{Name: "carol"})
	_, badName := p.agents.Create(ctx, scope, tenant.NewAgent{Name: "Carol"})
	_, badDisplay := p.agents.Create(ctx, scope, tenant.NewAgent{Name: "carol", DisplayName: "a\nb"})
	_, zero := p.agents.Get(ctx, tenant.Scope{}, "alice")
	for _, c := range []struct {
		err  error
		code fault.Code
	}{
		{taken, fault.Exists}, {byAgent, fault.Forbidden}, {noAdmin, fault.Forbidden},
		{badName, fault.Invalid}, {badDisplay, fault.Invalid}, {zero, fault.Unauthenticated},
	} {
		if !fault.Is(c.err, c.code) {
			t.Errorf("error is %v, want %s", c.err, c.code)
		}
	}

	must.Do(t, p.agents.Delete(ctx, scope, "alice"))
	p.refused(t, key.Text, token.AccessToken)
	p.accepted(t, bob.Text, whole.Text)
}

func TestStoreRotateRevokeAndForeignKeys(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	ctx := t.Context()
	_, scope := p.tenant(t, "acme")
	_, others := p.tenant(t, "other")
	old := must.Get(p.auth.Keys.Create(ctx, scope, auth.NewKey{}))(t)
	overlap := time.Hour
	next := must.Get(p.auth.Keys.Rotate(ctx, scope, old.ID, &overlap))(t)
	p.accepted(t, old.Text, next.Text)
	p.pass(time.Hour)
	p.refused(t, old.Text)
	p.accepted(t, next.Text)

	_, absent := p.auth.Keys.Get(ctx, scope, uuid.Must(uuid.NewV7()))
	_, get := p.auth.Keys.Get(ctx, others, next.ID)
	_, rotate := p.auth.Keys.Rotate(ctx, others, next.ID, nil)
	_, revoke := p.auth.Keys.Revoke(ctx, others, next.ID)
	for _, err := range []error{get, rotate, revoke} {
		if err == nil || err.Error() != absent.Error() {
			t.Errorf("error %v, want that of an absent key: %v", err, absent)
		}
	}
	p.accepted(t, next.Text)
	must.Get(p.auth.Keys.Revoke(ctx, scope, next.ID))(t)
	p.refused(t, next.Text)
	if list := must.Get(p.auth.Keys.List(ctx, scope, auth.KeyQuery{Limit: 10}))(t); len(list) != 2 || list[0].RotatedTo != next.ID {
		t.Errorf("list is %+v", list)
	}
	if list := must.Get(p.auth.Keys.List(ctx, others, auth.KeyQuery{Limit: 10}))(t); len(list) != 0 {
		t.Errorf("the other tenant's list is %+v", list)
	}
}

func TestStoreOperatorKeys(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	ctx := t.Context()
	_, scope := p.tenant(t, "acme")
	key := must.Get(p.auth.Keys.CreateOperator(ctx, p.op, "root", 0))(t)
	who := must.Get(p.authenticate(key.Text))(t)
	if !who.IsOperator || !who.Scope.IsZero() {
		t.Errorf("principal is %+v", who)
	}
	must.Get(p.tenants.Create(ctx, who.Operator, tenant.NewTenant{Name: "beta"}))(t)
	var none time.Duration
	next := must.Get(p.auth.Keys.RotateOperator(ctx, p.op, key.ID, &none))(t)
	p.refused(t, key.Text)
	p.accepted(t, next.Text)
	if _, err := p.auth.Keys.Revoke(ctx, scope, next.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("a tenant can access a platform key: %v", err)
	}
	tenants := must.Get(p.auth.Keys.Create(ctx, scope, auth.NewKey{}))(t)
	if _, err := p.auth.Keys.RevokeOperator(ctx, p.op, tenants.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("an operator can access a tenant's key: %v", err)
	}
	if list := must.Get(p.auth.Keys.ListOperator(ctx, p.op, uuid.Nil, 10))(t); len(list) != 2 {
		t.Errorf("list is %+v", list)
	}
	must.Get(p.auth.Keys.RevokeOperator(ctx, p.op, next.ID))(t)
	p.refused(t, next.Text)
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
	p.pass(24 * time.Hour)
	must.Do(t, p.quotas.Check(ctx, narrow, tenant.Usage{ModelTokens: 100}))
}
