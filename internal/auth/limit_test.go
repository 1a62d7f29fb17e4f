package auth

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

var idas = tenant.Limit{User: "ida@example.com"}

// A key of a user has a scope of that user, and so have its tokens and what replaces it. It manages nothing.
func TestKeyOfAUser(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{Limit: idas, Agent: "alice", TTL: time.Hour})
	if p := b.principal(t, k.Text); p.Scope.Limit() != idas || p.AgentName != "alice" || p.Scope.Allows(tenant.Admin) || !p.Scope.Allows(tenant.NotesWrite) {
		t.Errorf("principal is %+v", p)
	}
	tok := b.token(t, k.Text, TokenRequest{})
	if p := b.principal(t, tok.AccessToken); p.Scope.Limit() != idas || tok.Limit != idas || payload(t, tok.AccessToken)["external"] == nil {
		t.Errorf("its token: %+v, %v", p, payload(t, tok.AccessToken))
	}
	next, err := b.Keys.Rotate(t.Context(), b.admin, k.ID, nil)
	if err != nil || next.Limit != idas || b.principal(t, next.Text).Scope.Limit() != idas {
		t.Errorf("rotated: %+v, %v", next.Key, err)
	}
	for _, a := range b.store.audits {
		if strings.Contains(strings.Join(slices.Collect(maps.Keys(a.Detail)), ","), "user") {
			t.Errorf("the audit log says whose memory it is: %v", a)
		}
	}
	for name, n := range map[string]NewKey{
		"admin": {Limit: idas, Scopes: []string{"notes:read", "admin"}}, "too long": {Limit: tenant.Limit{App: strings.Repeat("x", 257)}},
		"control characters": {Limit: tenant.Limit{Run: "a\nb"}}, "not UTF-8": {Limit: tenant.Limit{User: "\xff"}},
	} {
		if _, err := b.Keys.Create(t.Context(), b.admin, n); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	only := grant.Scope(b.tenant, b.admin.Agent(), "test", tenant.Admin)
	_, err = b.Keys.Create(t.Context(), only, NewKey{Limit: idas})
	wantCode(t, err, fault.Forbidden)
}

// A row that has lost whose memory its key is for, or says another's, opens nothing.
func TestKeyWithAnotherLimitIsRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k, whole := b.key(t, NewKey{Limit: idas}), b.key(t, NewKey{})
	for _, changed := range []struct {
		key   CreatedKey
		limit tenant.Limit
	}{{k, tenant.Limit{}}, {k, tenant.Limit{User: "tom@example.com"}}, {k, tenant.Limit{Agent: idas.User}}, {whole, idas}} {
		b.tamper(changed.key.ID, func(stored *Key) { stored.Limit = changed.limit })
		b.Forget(b.tenant)
		b.wantRefused(t, changed.key.Text)
	}
}

// A token is for no other user than its key.
func TestTokenOfAUser(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	whole, k := b.key(t, NewKey{}), b.key(t, NewKey{Limit: idas})
	tok := b.token(t, whole.Text, TokenRequest{Limit: idas})
	if p := b.principal(t, tok.AccessToken); p.Scope.Limit() != idas || p.Scope.Allows(tenant.Admin) {
		t.Errorf("of a whole key: %+v", p)
	}
	chat := tenant.Limit{User: idas.User, Agent: "chat"}
	for _, asked := range []tenant.Limit{chat, {Agent: "chat"}} {
		if p := b.principal(t, b.token(t, k.Text, TokenRequest{Limit: asked}).AccessToken); p.Scope.Limit() != chat {
			t.Errorf("narrower: %+v", p)
		}
	}
	long := tenant.Limit{User: strings.Repeat("<", 256), Agent: strings.Repeat("&", 256), App: strings.Repeat("\"", 256), Run: strings.Repeat("\u2028", 85)}
	if p := b.principal(t, b.token(t, whole.Text, TokenRequest{Limit: long}).AccessToken); p.Scope.Limit() != long {
		t.Errorf("long ids: %+v", p)
	}
	for _, c := range map[string]struct {
		key  CreatedKey
		r    TokenRequest
		code fault.Code
	}{
		"another user": {k, TokenRequest{Limit: tenant.Limit{User: "tom@example.com"}}, fault.Forbidden},
		"admin":        {whole, TokenRequest{Limit: idas, Scopes: []string{"admin"}}, fault.Invalid},
		"no id":        {whole, TokenRequest{Limit: tenant.Limit{User: "a\x00b"}}, fault.Invalid},
	} {
		_, err := b.Tokens.Exchange(t.Context(), b.principal(t, c.key.Text), c.r)
		wantCode(t, err, c.code)
	}
	good := payload(t, b.token(t, k.Text, TokenRequest{}).AccessToken)
	b.principal(t, b.forge(t, nil, good))
	for _, external := range map[string]any{
		"another user": map[string]any{"user": "tom@example.com"}, "empty": map[string]any{}, "null": nil, "text": idas.User, "unknown": map[string]any{"user": idas.User, "x": "y"},
		"number": map[string]any{"user": 1}, "empty id": map[string]any{"user": ""}, "case": map[string]any{"User": idas.User}, "list": []string{idas.User},
	} {
		m := maps.Clone(good)
		m["external"] = external
		b.wantRefused(t, b.forge(t, nil, m))
	}
	without := maps.Clone(good)
	delete(without, "external")
	if p := b.principal(t, b.forge(t, nil, without)); p.Scope.Limit() != idas {
		t.Errorf("without the claim it is limited as its key: %+v", p)
	}
}
