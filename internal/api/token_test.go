package api

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

const (
	tokenPath = "/v1/auth/token"
	probe     = "/v1/collections" // any credential of a tenant may list
)

func TestTokenShape(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, key := s.tenant(t, "acme")
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
	var c struct {
		Tenant string   `json:"tenant"`
		Agent  string   `json:"agent"`
		Scopes []string `json:"scopes"`
	}
	if err := json.Unmarshal(claimsOf(t, got.AccessToken), &c); err != nil || c.Tenant != x.ID.String() || c.Agent == "" || len(c.Scopes) != 1 {
		t.Errorf("claims are %+v, %v", c, err)
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

// An unknown key looks like a known one with another secret.
func TestUnknownKeyOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, key := s.tenant(t, "acme")
	other := s.key(t, x.ID, auth.NewKey{})
	secret := key[strings.LastIndexByte(key, '_')+1:]
	start := other[:strings.LastIndexByte(other, '_')+1]
	parts := strings.Split(other, "_")
	unknown := strings.Join([]string{parts[0], parts[1], parts[2], strings.Split(newSiteKey(t), "_")[3], parts[4]}, "_")
	foreign := newSiteKey(t)
	same(t, s.send(t, start+secret, http.MethodGet, probe, ""), s.send(t, unknown, http.MethodGet, probe, ""))
	same(t, s.send(t, start+secret, http.MethodGet, probe, ""), s.send(t, foreign, http.MethodGet, probe, ""))
	if a := s.send(t, foreign, http.MethodGet, probe, ""); a.Code != http.StatusUnauthorized {
		t.Error(a.Code)
	}
}

// newSiteKey returns a well-formed key of another gateway.
func newSiteKey(t *testing.T) string {
	t.Helper()
	s := newSite(t, nil)
	_, key := s.tenant(t, "acme")
	return key
}

func TestExpiryOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	key := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath, `{"ttl_seconds":600}`)
	if key.ExpiresAt == nil || !key.ExpiresAt.Equal(s.clock().Add(10*time.Minute)) {
		t.Fatalf("the key expires at %v", key.ExpiresAt)
	}
	// A token expires with its key.
	token := want[wire.Token](t, s, http.StatusOK, key.Key, http.MethodPost, tokenPath, `{"ttl_seconds":3600}`)
	if token.ExpiresIn != 600 {
		t.Errorf("the token lives %d s", token.ExpiresIn)
	}
	short := want[wire.Token](t, s, http.StatusOK, s.key(t, x.ID, auth.NewKey{}), http.MethodPost, tokenPath, `{"ttl_seconds":60}`)
	s.pass(60 * time.Second)
	s.refused(t, fault.Unauthenticated, short.AccessToken, http.MethodGet, probe, "")
	want[wire.CollectionList](t, s, http.StatusOK, token.AccessToken, http.MethodGet, probe, "")
	s.pass(9 * time.Minute)
	s.refused(t, fault.Unauthenticated, token.AccessToken, http.MethodGet, probe, "")
	s.refused(t, fault.Unauthenticated, key.Key, http.MethodGet, probe, "")
	s.refused(t, fault.Unauthenticated, key.Key, http.MethodPost, tokenPath, "")
}

func TestRevokedKeyEndsItsTokens(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, admin := s.tenant(t, "acme")
	for _, revoke := range []struct{ method, path string }{{http.MethodDelete, ""}, {http.MethodPost, "/revoke"}} {
		key := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath, "")
		token := want[wire.Token](t, s, http.StatusOK, key.Key, http.MethodPost, tokenPath, "").AccessToken
		other := s.newAuth(t, auth.Config{}, s.clock) // of another process, which has cached the key as valid
		for _, c := range []string{key.Key, token} {
			want[wire.CollectionList](t, s, http.StatusOK, c, http.MethodGet, probe, "")
			need(other.Authenticator.Authenticate(t.Context(), c))(t)
		}
		want[struct{}](t, s, http.StatusNoContent, admin, revoke.method, keysPath+"/"+key.ID+revoke.path, "")
		for _, c := range []string{key.Key, token} {
			s.refused(t, fault.Unauthenticated, c, http.MethodGet, probe, "")
		}
		s.pass(10 * time.Second)
		for _, c := range []string{key.Key, token} {
			if _, err := other.Authenticator.Authenticate(t.Context(), c); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("after 10 s another process says %v", err)
			}
		}
		// Revoking again changes nothing.
		want[struct{}](t, s, http.StatusNoContent, admin, revoke.method, keysPath+"/"+key.ID+revoke.path, "")
	}
}

func TestSuspendedTenantOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, key := s.tenant(t, "acme")
	_, others := s.tenant(t, "other")
	token := want[wire.Token](t, s, http.StatusOK, key, http.MethodPost, tokenPath, "").AccessToken
	if got := want[wire.Tenant](t, s, http.StatusOK, s.operator, http.MethodPost, "/v1/tenants/acme/suspend", ""); got.State != "suspended" {
		t.Errorf("the state is %s", got.State)
	}
	for _, c := range []string{key, token} {
		s.refused(t, fault.Unauthenticated, c, http.MethodGet, probe, "")
		s.refused(t, fault.Unauthenticated, c, http.MethodPost, tokenPath, "")
	}
	want[wire.CollectionList](t, s, http.StatusOK, others, http.MethodGet, probe, "")
	if got := want[wire.Tenant](t, s, http.StatusOK, s.operator, http.MethodPost, "/v1/tenants/"+x.ID.String()+"/resume", ""); got.State != "active" {
		t.Errorf("the state is %s", got.State)
	}
	for _, c := range []string{key, token} {
		want[wire.CollectionList](t, s, http.StatusOK, c, http.MethodGet, probe, "")
	}
}

// forge has a signing key that the site accepts, and signs any claims.
type forge struct {
	kid     string
	private ed25519.PrivateKey
	claims  map[string]any // that are accepted
}

func newForge(t *testing.T, s *site, tenantID uuid.UUID, scopes ...string) *forge {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	x := base64.RawURLEncoding.EncodeToString(public)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	f := &forge{kid: base64.RawURLEncoding.EncodeToString(sum[:]), private: private}
	known := need(s.store.SigningKeys(t.Context()))(t)
	newest := ""
	if len(known) > 0 {
		newest = known[0].KID
	}
	must.Do(t, s.store.AddSigningKey(t.Context(), auth.SigningKey{KID: f.kid, Public: public, Wrapped: []byte("none"), CreatedAt: s.clock()}, newest, 2*time.Hour))
	s.pass(auth.MaxStatusTTL)
	sc := grant.Scope(tenantID, uuid.Nil, "operator:test", tenant.AllPermissions()...)
	key := need(s.auth.Keys.Create(t.Context(), sc, auth.NewKey{Scopes: scopes}))(t)
	now := s.clock().Unix()
	f.claims = map[string]any{
		"iss": "slipbox", "aud": "slipbox", "sub": "key:" + key.ID.String(), "tenant": tenantID.String(), "scopes": scopes,
		"iat": now, "nbf": now, "exp": now + 600, "jti": uuid.NewString(),
	}
	return f
}

// with returns the accepted claims with changes; nil removes a claim.
func (f *forge) with(change map[string]any) map[string]any {
	out := maps.Clone(f.claims)
	for name, v := range change {
		out[name] = v
		if v == nil {
			delete(out, name)
		}
	}
	return out
}

func (f *forge) sign(t *testing.T, header, claims map[string]any) string {
	t.Helper()
	text := segment(t, header) + "." + segment(t, claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(f.private, []byte(text)))
}

func segment(t *testing.T, v any) string {
	t.Helper()
	return base64.RawURLEncoding.EncodeToString([]byte(mustJSON(t, v)))
}

func claimsOf(t *testing.T, token string) []byte {
	t.Helper()
	return need(base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1]))(t)
}

func TestForgedTokensOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, _ := s.tenant(t, "acme")
	foreign, _ := s.tenant(t, "other")
	f := newForge(t, s, x.ID, "notes:read", "notes:write")
	header := map[string]any{"alg": "EdDSA", "typ": "JWT", "kid": f.kid}
	public, _ := f.private.Public().(ed25519.PublicKey)
	der := need(x509.MarshalPKIXPublicKey(public))(t)

	good := f.sign(t, header, f.claims)
	want[wire.CollectionList](t, s, http.StatusOK, good, http.MethodGet, probe, "")

	now := s.clock().Unix()
	tokens := map[string]string{}
	for name, change := range map[string]map[string]any{
		"missing iss":         {"iss": nil},
		"missing aud":         {"aud": nil},
		"missing sub":         {"sub": nil},
		"missing tenant":      {"tenant": nil},
		"missing scopes":      {"scopes": nil},
		"missing iat":         {"iat": nil},
		"missing nbf":         {"nbf": nil},
		"missing exp":         {"exp": nil},
		"missing jti":         {"jti": nil},
		"unknown claim":       {"role": "admin"},
		"wrong issuer":        {"iss": "https://evil.example"},
		"wrong audience":      {"aud": "other"},
		"two audiences":       {"aud": []string{"slipbox", "other"}},
		"another tenant":      {"tenant": foreign.ID.String()},
		"platform":            {"tenant": "platform"},
		"unknown tenant":      {"tenant": uuid.NewString()},
		"unknown key":         {"sub": "key:" + uuid.NewString()},
		"wider than the key":  {"scopes": []string{"notes:read", "admin"}},
		"operator":            {"scopes": []string{"operator"}},
		"unknown scope":       {"scopes": []string{"notes:read", "everything"}},
		"no scopes":           {"scopes": []string{}},
		"unknown agent":       {"agent": uuid.NewString()},
		"empty agent":         {"agent": ""},
		"expired":             {"iat": now - 700, "nbf": now - 700, "exp": now - 1},
		"expires now":         {"exp": now},
		"not yet valid":       {"nbf": now + 60, "exp": now + 120},
		"issued in future":    {"iat": now + 60, "nbf": now + 60, "exp": now + 120},
		"longer than an hour": {"exp": now + 3601},
		"exp as text":         {"exp": "9999999999"},
	} {
		tokens[name] = f.sign(t, header, f.with(change))
	}
	for name, h := range map[string]map[string]any{
		"wrong kid":   {"alg": "EdDSA", "typ": "JWT", "kid": "other"},
		"missing kid": {"alg": "EdDSA", "typ": "JWT"},
		"own jwk":     {"alg": "EdDSA", "typ": "JWT", "kid": f.kid, "jwk": map[string]any{"kty": "OKP"}},
		"crit":        {"alg": "EdDSA", "typ": "JWT", "kid": f.kid, "crit": []string{"x"}},
	} {
		tokens[name] = f.sign(t, h, f.claims)
	}
	for _, alg := range []string{"none", "None", "NONE", ""} {
		tokens["alg "+alg] = segment(t, map[string]any{"alg": alg, "typ": "JWT", "kid": f.kid}) + "." + segment(t, f.claims) + "."
		tokens["signed alg "+alg] = f.sign(t, map[string]any{"alg": alg, "typ": "JWT", "kid": f.kid}, f.claims)
	}
	tokens["alg none by library"] = need(jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims(f.claims)).SignedString(jwt.UnsafeAllowNoneSignatureType))(t)
	for name, secret := range map[string][]byte{
		"raw": public, "der": der, "pem": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		"x": []byte(base64.RawURLEncoding.EncodeToString(public)),
	} {
		for _, alg := range []string{"HS256", "EdDSA"} {
			text := segment(t, map[string]any{"alg": alg, "typ": "JWT", "kid": f.kid}) + "." + segment(t, f.claims)
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(text))
			tokens["HMAC by "+name+" as "+alg] = text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
		}
	}
	stranger := *f
	_, stranger.private, _ = ed25519.GenerateKey(nil)
	tokens["another key, our kid"] = stranger.sign(t, header, f.claims)
	parts := strings.Split(good, ".")
	tokens["no signature"] = parts[0] + "." + parts[1] + "."
	tokens["changed payload"] = parts[0] + "." + segment(t, f.with(map[string]any{"scopes": []string{"notes:read"}})) + "." + parts[2]
	tokens["trailing data"] = good + "=="

	for name, token := range tokens {
		a := s.send(t, token, http.MethodGet, probe, "")
		if a.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, a.Code, a.Body)
		}
		if strings.Contains(a.Body.String(), x.ID.String()) || strings.Contains(a.Body.String(), foreign.ID.String()) {
			t.Errorf("%s: the refusal names a tenant: %s", name, a.Body)
		}
	}
	want[wire.CollectionList](t, s, http.StatusOK, good, http.MethodGet, probe, "")
}

// Tokens of a gateway with another audience, issuer or clock are refused, even when signed with the
// same key.
func TestTokenOfAnotherAudienceOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, key := s.tenant(t, "acme")
	want[wire.Token](t, s, http.StatusOK, key, http.MethodPost, tokenPath, "")
	for name, other := range map[string]*auth.Service{
		"audience": s.newAuth(t, auth.Config{Audience: "elsewhere"}, s.clock),
		"issuer":   s.newAuth(t, auth.Config{Issuer: "elsewhere"}, s.clock),
		"clock":    s.newAuth(t, auth.Config{}, func() time.Time { return s.clock().Add(time.Minute) }),
	} {
		p := need(other.Authenticator.Authenticate(t.Context(), key))(t)
		token := need(other.Tokens.Exchange(t.Context(), p, auth.TokenRequest{}))(t).AccessToken
		need(other.Authenticator.Authenticate(t.Context(), token))(t)
		if a := s.send(t, token, http.MethodGet, probe, ""); a.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, a.Code)
		}
	}
}

func TestTokenWiderThanItsKeyBecame(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	key := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath, "")
	token := want[wire.Token](t, s, http.StatusOK, key.Key, http.MethodPost, tokenPath, "").AccessToken
	want[wire.AgentList](t, s, http.StatusOK, token, http.MethodGet, "/v1/agents", "")
	sc := grant.Scope(x.ID, uuid.Nil, "operator:test", tenant.AllPermissions()...)
	need(s.store.UpdateKey(t.Context(), sc, uuid.MustParse(key.ID), memory.AuditEntry{Action: "key.narrow"}, func(k *auth.Key) error {
		k.Permissions = []tenant.Permission{tenant.NotesRead}
		return nil
	}))(t)
	s.pass(auth.MaxStatusTTL)
	s.refused(t, fault.Unauthenticated, token, http.MethodGet, probe, "")
	want[wire.CollectionList](t, s, http.StatusOK, key.Key, http.MethodGet, probe, "")
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
	}, jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithTimeFunc(s.clock))
	if err != nil {
		t.Error(err)
	}
	// The key is replaced when it is old. It is still published, and its tokens are valid.
	s.pass(30*24*time.Hour - time.Minute)
	token = want[wire.Token](t, s, http.StatusOK, key, http.MethodPost, tokenPath, "").AccessToken
	s.pass(2 * time.Minute)
	want[wire.Token](t, s, http.StatusOK, key, http.MethodPost, tokenPath, "")
	if set := want[wire.JWKS](t, s, http.StatusOK, "", http.MethodGet, "/.well-known/jwks.json", ""); len(set.Keys) != 2 {
		t.Errorf("%d keys", len(set.Keys))
	}
	want[wire.CollectionList](t, s, http.StatusOK, token, http.MethodGet, probe, "")
}

func TestPlatformToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	token := want[wire.Token](t, s, http.StatusOK, s.operator, http.MethodPost, tokenPath, `{"ttl_seconds":60}`)
	want[wire.TenantList](t, s, http.StatusOK, token.AccessToken, http.MethodGet, "/v1/tenants", "")
	s.refused(t, fault.Forbidden, token.AccessToken, http.MethodGet, probe, "")
}
