package auth

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestKeyAuthenticates(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{Name: "Büro", Scopes: []string{"notes:read", "clone"}, Agent: "alice", TTL: time.Hour})
	p := b.principal(t, k.Text)
	if p.Scope.Tenant() != b.tenant || p.Tenant.Name != "acme" || p.KeyID != k.ID || p.ByToken || p.IsOperator {
		t.Errorf("principal is %+v", p)
	}
	if p.AgentName != "alice" || p.Scope.Agent() != k.Agent || k.Agent == uuid.Nil {
		t.Errorf("agent is %q %s", p.AgentName, p.Scope.Agent())
	}
	if !slices.Equal(p.Permissions(), []tenant.Permission{tenant.Clone, tenant.NotesRead}) || !slices.Equal(p.Scope.Permissions(), p.Permissions()) {
		t.Errorf("permissions are %v and %v", p.Permissions(), p.Scope.Permissions())
	}
	if p.Scope.Actor() != "key:"+k.ID.String() {
		t.Errorf("actor is %q", p.Scope.Actor())
	}
	wantCode(t, p.Check(tenant.Admin), fault.Forbidden)
	if err := p.Check(tenant.Clone); err != nil {
		t.Error(err)
	}
}

func TestKeySecretIsNotStored(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{})
	stored := b.store.keys[keyID{b.tenant, k.ID}]
	secret := k.Text[strings.LastIndexByte(k.Text, '_')+1:]
	raw, _ := parseKeyText(k.Text)
	if strings.Contains(stored.Prefix, secret) || stored.Hash == raw.secret || stored.Hash == [32]byte{} {
		t.Errorf("stored %+v", stored)
	}
}

func TestUnknownKeyAndWrongSecretGetSameMessage(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{})
	parsed, _ := parseKeyText(k.Text)

	wrong := parsed
	wrong.secret[0] ^= 1
	unknown := parsed
	unknown.id = uuid.Must(uuid.NewV7())
	foreign := parsed
	foreign.tenant = uuid.Must(uuid.NewV7())
	platform := parsed
	platform.tenant = uuid.Nil
	env := parsed
	env.env = "test"
	want := b.wantRefused(t, wrong.text()).Message
	for name, x := range map[string]keyText{"unknown id": unknown, "other tenant": foreign, "platform": platform, "environment": env} {
		if got := b.wantRefused(t, x.text()).Message; got != want {
			t.Errorf("%s has another message: %q, want %q", name, got, want)
		}
	}
	if got := b.wantRefused(t, "sb_live_x").Message; got != want {
		t.Errorf("a bad text has another message: %q", got)
	}
}

func TestRefuseZeroHash(t *testing.T) {
	t.Parallel()
	// An unknown id is compared with the zero hash. A match with the zero hash
	// must not count, even for a row that contains it.
	b := newFixture(t)
	k := b.key(t, NewKey{})
	b.tamper(k.ID, func(stored *Key) { stored.Hash = [32]byte{} })
	b.wantRefused(t, k.Text)
}

func TestRefuseGarbage(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, s := range []string{"", "x", "a.b", "a.b.c", "..", "a.b.c.d", "sb_", "\x00", strings.Repeat("a", 5000), "sb_" + strings.Repeat("a", 5000), ".eyJ.x", "é.é.é"} {
		b.wantRefused(t, s)
	}
}

func TestRefuseExpiredKey(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{TTL: time.Minute})
	b.Pass(time.Minute - time.Microsecond)
	b.principal(t, k.Text)
	b.Pass(time.Microsecond)
	if m := b.wantRefused(t, k.Text).Message; !strings.Contains(m, "expired") {
		t.Errorf("message is %q", m)
	}
}

func TestRevokedKeyIsRefusedByAllProcesses(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	other := b.newService(t, b.cfg)
	k := b.key(t, NewKey{})
	tok := b.token(t, k.Text, TokenRequest{})
	for _, c := range []string{k.Text, tok.AccessToken} {
		must.Get(other.Authenticator.Authenticate(t.Context(), c))(t)
	}
	must.Get(b.Keys.Revoke(t.Context(), b.admin, k.ID))(t)
	b.wantRefused(t, k.Text)
	b.wantRefused(t, tok.AccessToken)
	b.Pass(MaxStatusTTL)
	for _, c := range []string{k.Text, tok.AccessToken} {
		p, err := other.Authenticator.Authenticate(t.Context(), c)
		checkRefusal(t, p, err)
	}
	again, err := b.Keys.Revoke(t.Context(), b.admin, k.ID)
	if err != nil || again.RevokedAt.IsZero() {
		t.Errorf("revoking twice returned %+v, %v", again, err)
	}
}

func TestStatusCacheIsBounded(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	cfg := b.cfg
	cfg.StatusSize = 8
	small := b.newService(t, cfg)
	keys := make([]CreatedKey, 0, 20)
	for range 20 {
		keys = append(keys, b.key(t, NewKey{}))
	}
	for range 5 {
		b.principal(t, keys[0].Text)
	}
	if b.store.reads != 1 {
		t.Errorf("the key was read %d times for 5 requests", b.store.reads)
	}
	for _, k := range keys {
		must.Get(small.Authenticator.Authenticate(t.Context(), k.Text))(t)
	}
	if n := len(small.status.keys.entries); n == 0 || n > 8 {
		t.Errorf("%d keys are cached, want at most 8", n)
	}
}

func TestReadDuringForgetIsNotCached(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	r := newTTLCache[int, string](b.Now, Config{StatusTTL: time.Second, StatusSize: 10})
	old, err := r.get(1, func() (string, error) {
		r.forget(func(int) bool { return true }) // a revocation during the read
		return "before", nil
	})
	if err != nil || old != "before" {
		t.Fatal(old, err)
	}
	if got, _ := r.get(1, func() (string, error) { return "after", nil }); got != "after" {
		t.Errorf("got %q", got)
	}
}

func TestStoreFailureIsReturned(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{})
	b.store.fail = fault.New(fault.Unavailable, "busy")
	_, err := b.Authenticator.Authenticate(t.Context(), k.Text)
	wantCode(t, err, fault.Unavailable)
}

func TestCreateKeyGrantsNoMoreThanCaller(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	ctx := t.Context()
	alice := b.key(t, NewKey{Agent: "alice"})
	narrow := grant.Scope(b.tenant, alice.Agent, "test", tenant.Admin, tenant.NotesRead)

	k, err := b.Keys.Create(ctx, narrow, NewKey{})
	if err != nil || k.Agent != alice.Agent || !slices.Equal(k.Permissions, narrow.Permissions()) {
		t.Errorf("got %+v, %v", k.Key, err)
	}
	for name, c := range map[string]struct {
		scope tenant.Scope
		n     NewKey
		code  fault.Code
	}{
		"no admin":         {grant.Scope(b.tenant, uuid.Nil, "test", tenant.NotesRead), NewKey{}, fault.Forbidden},
		"zero scope":       {tenant.Scope{}, NewKey{}, fault.Unauthenticated},
		"more rights":      {narrow, NewKey{Scopes: []string{"notes:write"}}, fault.Forbidden},
		"operator":         {b.admin, NewKey{Scopes: []string{"operator"}}, fault.Forbidden},
		"other agent":      {narrow, NewKey{Agent: "bob"}, fault.Forbidden},
		"other agent's id": {narrow, NewKey{Agent: uuid.NewString()}, fault.Forbidden},
		"unknown scope":    {b.admin, NewKey{Scopes: []string{"notes:delete"}}, fault.Invalid},
		"no scopes":        {b.admin, NewKey{Scopes: []string{}}, fault.Invalid},
		"bad agent":        {b.admin, NewKey{Agent: "Alice!"}, fault.Invalid},
		"unknown agent id": {b.admin, NewKey{Agent: uuid.NewString()}, fault.Invalid},
		"negative ttl":     {b.admin, NewKey{TTL: -1}, fault.Invalid},
		"too long ttl":     {b.admin, NewKey{TTL: MaxKeyTTL + 1}, fault.Invalid},
		"bad name":         {b.admin, NewKey{Name: "a\x00b"}, fault.Invalid},
	} {
		before := len(b.store.keys)
		_, err := b.Keys.Create(ctx, c.scope, c.n)
		if !fault.Is(err, c.code) || len(b.store.keys) != before {
			t.Errorf("%s: error %v, want %s; %d keys written", name, err, c.code, len(b.store.keys)-before)
		}
	}
	for _, ref := range []string{"alice", alice.Agent.String()} {
		if k, err := b.Keys.Create(ctx, narrow, NewKey{Agent: ref}); err != nil || k.Agent != alice.Agent {
			t.Errorf("own agent %s: %v", ref, err)
		}
	}
}

func TestRotateWithOverlap(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	old := b.key(t, NewKey{Name: "ci", Agent: "alice", Scopes: []string{"notes:read"}, TTL: 48 * time.Hour})
	next := must.Get(b.Keys.Rotate(t.Context(), b.admin, old.ID, nil))(t)
	if next.ID == old.ID || next.Agent != old.Agent || !slices.Equal(next.Permissions, old.Permissions) || !next.ExpiresAt.Equal(old.ExpiresAt) || next.Name != "ci" {
		t.Errorf("new key is %+v", next.Key)
	}
	stored, err := b.Keys.Get(t.Context(), b.admin, old.ID)
	if err != nil || stored.RotatedTo != next.ID || !stored.RevokedAt.Equal(b.Now().Add(24*time.Hour)) {
		t.Errorf("old key is %+v, %v", stored, err)
	}
	b.principal(t, next.Text)
	b.Pass(24*time.Hour - time.Second)
	b.principal(t, old.Text)
	tok := b.token(t, old.Text, TokenRequest{})
	if tok.ExpiresIn != time.Second {
		t.Errorf("a token outlives its key: its lifetime is %s", tok.ExpiresIn)
	}
	b.Pass(time.Second)
	b.wantRefused(t, old.Text)
	b.wantRefused(t, tok.AccessToken)
	b.principal(t, next.Text)
}

func TestRotateRefusesAnExpiredKey(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	expired := b.key(t, NewKey{TTL: time.Second})
	b.Pass(time.Second)
	_, err := b.Keys.Rotate(t.Context(), b.admin, expired.ID, nil)
	wantCode(t, err, fault.Conflict)
	if len(b.store.keys) != 1 {
		t.Error("a refused rotation left a key")
	}
}

func TestFailedRotationLeavesNoValidKey(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	old := b.key(t, NewKey{})
	b.store.before = func(id uuid.UUID) error {
		if id == old.ID {
			return fault.New(fault.Unavailable, "busy")
		}
		return nil
	}
	_, err := b.Keys.Rotate(t.Context(), b.admin, old.ID, nil)
	wantCode(t, err, fault.Unavailable)
	b.principal(t, old.Text)
	for at, k := range b.store.keys {
		if at.id != old.ID && k.Check(b.Now()) == nil {
			t.Errorf("key %s is left over and valid", at.id)
		}
	}
}

func TestListKeysPages(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var alice []uuid.UUID
	for i := range 9 {
		if i%3 == 0 {
			alice = append(alice, b.key(t, NewKey{Agent: "alice"}).ID)
		} else {
			b.key(t, NewKey{})
		}
	}
	var got []uuid.UUID
	q := KeyQuery{Agent: "alice", Limit: 2}
	for {
		page := must.Get(b.Keys.List(t.Context(), b.admin, q))(t)
		for _, k := range page {
			got = append(got, k.ID)
		}
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1].ID
	}
	if !slices.Equal(got, alice) {
		t.Errorf("got %v, want %v", got, alice)
	}
	_, err := b.Keys.List(t.Context(), b.admin, KeyQuery{Agent: "nobody", Limit: 2})
	wantCode(t, err, fault.NotFound)
}

func TestOperatorKeys(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	ctx := t.Context()
	op := grant.Operator("test")
	k := must.Get(b.Keys.CreateOperator(ctx, op, "root", 0))(t)
	if !strings.HasPrefix(k.Text, "sb_live_platform_") {
		t.Errorf("key is %q", k.Text)
	}
	p := b.principal(t, k.Text)
	if !p.IsOperator || p.Operator.IsZero() || !p.Scope.IsZero() || p.Check(tenant.OperatorPerm) != nil || p.Check(tenant.NotesRead) == nil {
		t.Errorf("principal is %+v", p)
	}
	tok := b.token(t, k.Text, TokenRequest{})
	if p := b.principal(t, tok.AccessToken); !p.IsOperator || !p.ByToken || !p.Scope.IsZero() {
		t.Errorf("principal is %+v", p)
	}
	_, err := b.Tokens.Exchange(ctx, p, TokenRequest{Agent: "alice"})
	wantCode(t, err, fault.Invalid)

	next := must.Get(b.Keys.RotateOperator(ctx, op, k.ID, nil))(t)
	b.principal(t, next.Text)
	must.Get(b.Keys.RevokeOperator(ctx, op, k.ID))(t)
	b.wantRefused(t, k.Text)
	b.wantRefused(t, tok.AccessToken)
	if list, err := b.Keys.ListOperator(ctx, op, uuid.Nil, 10); err != nil || len(list) != 2 {
		t.Errorf("list is %v, %v", list, err)
	}
	// A tenant's administrator cannot access it, and an operator none of a tenant.
	_, err = b.Keys.Revoke(ctx, b.admin, next.ID)
	wantCode(t, err, fault.NotFound)
	_, err = b.Keys.RevokeOperator(ctx, op, b.key(t, NewKey{}).ID)
	wantCode(t, err, fault.NotFound)
	_, err = b.Keys.CreateOperator(ctx, tenant.Operator{}, "", 0)
	wantCode(t, err, fault.Unauthenticated)
}

func TestTenantKeyWithOperatorScopeIsRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{})
	b.tamper(k.ID, func(stored *Key) { stored.Permissions = append(stored.Permissions, tenant.OperatorPerm) })
	b.wantRefused(t, k.Text)
}
