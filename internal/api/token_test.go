package api

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const (
	tokenPath = "/v1/auth/token"
	probe     = "/v1/collections" // any credential of a tenant may list
)

func TestTokenShape(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, key := s.tenant(t, "acme")
	full := want[map[string]any](t, s, http.StatusOK, key, http.MethodPost, tokenPath, "")
	if full["token_type"] != "Bearer" || full["expires_in"] != 900.0 || len(full) != 4 || len(full["scopes"].([]any)) != len(tenant.AllPermissions()) {
		t.Errorf("a token without wishes is %v", full)
	}
	got := want[wire.Token](t, s, http.StatusOK, key, http.MethodPost, tokenPath, `{"agent":"ada","scopes":["notes:read"],"ttl_seconds":3600}`)
	if valueOr(got.Agent, "") != "ada" || got.ExpiresIn != 3600 || len(got.Scopes) != 1 || got.Scopes[0] != "notes:read" {
		t.Errorf("the token is %+v", got)
	}
	// The token works in both headers, within its scopes and agent.
	want[wire.CollectionList](t, s, http.StatusOK, got.AccessToken, http.MethodGet, probe, "")
	want[wire.CollectionList](t, s, http.StatusOK, "", http.MethodGet, probe, "", "X-Api-Key", got.AccessToken)
	s.refused(t, fault.Forbidden, got.AccessToken, http.MethodGet, "/v1/agents", "")
	s.refused(t, fault.Forbidden, got.AccessToken, http.MethodPost, probe, `{"name":"c"}`)
	// An agent is created when a token first names it.
	if a := want[wire.Agent](t, s, http.StatusOK, key, http.MethodGet, "/v1/agents/ada", ""); a.Name != "ada" {
		t.Errorf("the agent is %+v", a)
	}
}

func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, key := s.tenant(t, "acme")
	bound := s.key(t, x.ID, auth.NewKey{Agent: "ada", Scopes: []string{"notes:read", "clone"}})
	token := want[wire.Token](t, s, http.StatusOK, key, http.MethodPost, tokenPath, "").AccessToken
	for name, tt := range map[string]struct {
		credential, body string
		code             fault.Code
		field            string
	}{
		"no credential":         {"", "", fault.Unauthenticated, ""},
		"a token":               {token, "", fault.Forbidden, ""},
		"wider scopes":          {bound, `{"scopes":["notes:read","notes:write"]}`, fault.Forbidden, ""},
		"admin":                 {bound, `{"scopes":["admin"]}`, fault.Forbidden, ""},
		"operator":              {key, `{"scopes":["operator"]}`, fault.Forbidden, ""},
		"another agent":         {bound, `{"agent":"bob"}`, fault.Forbidden, ""},
		"unknown agent id":      {key, `{"agent":"` + uuid.NewString() + `"}`, fault.Invalid, "agent"},
		"no scopes":             {key, `{"scopes":[]}`, fault.Invalid, "scopes"},
		"null scopes":           {key, `{"scopes":null}`, fault.Invalid, "scopes"},
		"unknown scope":         {key, `{"scopes":["everything"]}`, fault.Invalid, "scopes.0"},
		"more than an hour":     {key, `{"ttl_seconds":3601}`, fault.Invalid, "ttl_seconds"},
		"no time at all":        {key, `{"ttl_seconds":0}`, fault.Invalid, "ttl_seconds"},
		"a negative time":       {key, `{"ttl_seconds":-3600}`, fault.Invalid, "ttl_seconds"},
		"another agent's id":    {bound, `{"agent":"` + uuid.NewString() + `"}`, fault.Forbidden, ""},
		"unknown field":         {key, `{"tenant":"other"}`, fault.Invalid, "tenant"},
		"malformed":             {key, `{`, fault.Malformed, ""},
		"agent that is a path":  {key, `{"agent":"../x"}`, fault.Invalid, "agent"},
		"platform with agent":   {s.operator, `{"agent":"ada"}`, fault.Invalid, "agent"},
		"platform for a tenant": {s.operator, `{"scopes":["notes:read"]}`, fault.Forbidden, ""},
	} {
		p := s.refused(t, tt.code, tt.credential, http.MethodPost, tokenPath, tt.body)
		if tt.field != "" && (len(p.Errors) == 0 || p.Errors[0].Field != tt.field) {
			t.Errorf("%s: names %v", name, p.Errors)
		}
	}
	p := s.refused(t, fault.Malformed, key, http.MethodPost, tokenPath, "", "Idempotency-Key", "k")
	if len(p.Errors) == 0 || p.Errors[0].Field != "Idempotency-Key" {
		t.Errorf("names %v", p.Errors)
	}
}

func TestCredentialHeadersOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, key := s.tenant(t, "acme")
	for name, header := range map[string][]string{
		"missing":        {},
		"empty":          {"Authorization", ""},
		"bearer alone":   {"Authorization", "Bearer"},
		"basic":          {"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(key))},
		"no scheme":      {"Authorization", key},
		"empty key":      {"X-Api-Key", ""},
		"two of them":    {"Authorization", "Bearer " + key, "X-Api-Key", key + "x"},
		"garbage":        {"Authorization", "Bearer garbage"},
		"three dots":     {"Authorization", "Bearer ..."},
		"empty token":    {"Authorization", "Bearer .."},
		"shape of a key": {"Authorization", "Bearer sb_live_a_b_c"},
		"long":           {"Authorization", "Bearer " + strings.Repeat("a", 5000)},
	} {
		a := s.send(t, "", http.MethodGet, probe, "", header...)
		if a.Code != http.StatusUnauthorized || a.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %v", name, a.Code, a.Header())
		}
	}
	want[wire.CollectionList](t, s, http.StatusOK, "", http.MethodGet, probe, "", "Authorization", "bearer "+key)
	want[wire.CollectionList](t, s, http.StatusOK, "", http.MethodGet, probe, "", "X-Api-Key", key)
}

func TestJWKSIsPublicAndVerifies(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, key := s.tenant(t, "acme")
	token := want[wire.Token](t, s, http.StatusOK, key, http.MethodPost, tokenPath, "").AccessToken
	a := s.send(t, "", http.MethodGet, "/.well-known/jwks.json", "")
	set := read[wire.JWKS](t, a)
	if a.Code != http.StatusOK || len(set.Keys) != 1 || a.Header().Get("Cache-Control") != jwksMaxAge {
		t.Fatalf("%d %v %s", a.Code, a.Header(), a.Body)
	}
	if strings.Contains(a.Body.String(), `"d"`) {
		t.Error("the private half is shown")
	}
	public := need(base64.RawURLEncoding.DecodeString(set.Keys[0].X))(t)
	_, err := jwt.Parse(token, func(tok *jwt.Token) (any, error) {
		if tok.Header["kid"] != set.Keys[0].Kid {
			t.Errorf("kid %v", tok.Header["kid"])
		}
		return ed25519.PublicKey(public), nil
	}, jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithTimeFunc(s.Now))
	if err != nil {
		t.Error(err)
	}
}

func TestPlatformToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	token := want[wire.Token](t, s, http.StatusOK, s.operator, http.MethodPost, tokenPath, `{"ttl_seconds":60}`)
	want[wire.TenantList](t, s, http.StatusOK, token.AccessToken, http.MethodGet, "/v1/tenants", "")
	s.refused(t, fault.Forbidden, token.AccessToken, http.MethodGet, probe, "")
}
