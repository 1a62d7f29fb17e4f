package auth

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

func segment(t *testing.T, v any) string {
	t.Helper()
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func payload(t *testing.T, token string) map[string]any {
	t.Helper()
	b := must.Get(base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1]))(t)
	var m map[string]any
	must.Do(t, json.Unmarshal(b, &m))
	return m
}

// forge signs an arbitrary header and payload with the real signing key.
func (b *fixture) forge(t *testing.T, header, claims any) string {
	t.Helper()
	s := must.Get(b.Tokens.ring.signingKey(t.Context()))(t)
	if header == nil {
		header = map[string]any{"alg": "EdDSA", "typ": "JWT", "kid": s.kid}
	}
	text := segment(t, header) + "." + segment(t, claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.private, []byte(text)))
}

func TestExchange(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{Agent: "alice", Scopes: []string{"notes:read", "notes:write"}})
	tok := b.token(t, k.Text, TokenRequest{Scopes: []string{"notes:read"}, TTL: 10 * time.Minute})
	if tok.ExpiresIn != 10*time.Minute || tok.AgentName != "alice" || tok.Agent != k.Agent {
		t.Errorf("token is %+v", tok)
	}
	p := b.principal(t, tok.AccessToken)
	if !p.ByToken || p.KeyID != k.ID || p.Scope.Tenant() != b.tenant || p.Scope.Agent() != k.Agent || p.AgentName != "alice" {
		t.Errorf("principal is %+v", p)
	}
	if !slices.Equal(p.Scope.Permissions(), []tenant.Permission{tenant.NotesRead}) {
		t.Errorf("permissions are %v", p.Scope.Permissions())
	}
	got := slices.Sorted(maps.Keys(payload(t, tok.AccessToken)))
	if want := []string{"agent", "aud", "exp", "iat", "iss", "jti", "nbf", "scopes", "sub", "tenant"}; !slices.Equal(got, want) {
		t.Errorf("claims are %v, want %v", got, want)
	}
	if a, c := b.token(t, k.Text, TokenRequest{}), b.token(t, k.Text, TokenRequest{}); a.AccessToken == c.AccessToken {
		t.Error("two tokens are the same")
	} else if a.ExpiresIn != 15*time.Minute {
		t.Errorf("default life is %s", a.ExpiresIn)
	}
}

func TestExchangeNarrowsAgent(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{})
	if tok := b.token(t, k.Text, TokenRequest{}); tok.Agent != uuid.Nil || payload(t, tok.AccessToken)["agent"] != nil {
		t.Error("a token without an agent has one")
	}
	tok := b.token(t, k.Text, TokenRequest{Agent: "alice"})
	p := b.principal(t, tok.AccessToken)
	if p.AgentName != "alice" || p.Scope.Agent() != tok.Agent || !p.Scope.HasAgent() {
		t.Errorf("principal is %+v", p)
	}
	if again := b.token(t, k.Text, TokenRequest{Agent: tok.Agent.String()}); again.Agent != tok.Agent || again.AgentName != "alice" {
		t.Errorf("by id: %+v", again)
	}
	// When the agent is deleted, its tokens become invalid.
	clear(b.store.agents)
	b.Forget(b.tenant)
	b.wantRefused(t, tok.AccessToken)
}

func TestRefuseExpiredToken(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	tok := b.token(t, b.key(t, NewKey{}).Text, TokenRequest{TTL: time.Minute})
	b.Pass(time.Minute - time.Nanosecond)
	b.principal(t, tok.AccessToken)
	b.Pass(time.Nanosecond)
	if m := b.wantRefused(t, tok.AccessToken).Message; m != "the token has expired" {
		t.Errorf("message is %q", m)
	}
	b.Pass(time.Hour)
	b.wantRefused(t, tok.AccessToken)
}

// TestRefuseClaims changes one claim of a valid token at a time and signs with
// the real key, so only the changed claim can cause the refusal.
func TestRefuseClaims(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{Agent: "alice", Scopes: []string{"notes:read"}})
	other := b.key(t, NewKey{Agent: "bob"})
	good := payload(t, b.token(t, k.Text, TokenRequest{}).AccessToken)
	now := b.Now().Unix()
	b.principal(t, b.forge(t, nil, good)) // unchanged claims are accepted

	cases := map[string]func(m map[string]any){
		"wrong audience":             func(m map[string]any) { m["aud"] = "else" },
		"several audiences":          func(m map[string]any) { m["aud"] = []string{"slipbox", "else"} },
		"wrong issuer":               func(m map[string]any) { m["iss"] = "else" },
		"not yet valid":              func(m map[string]any) { m["nbf"] = now + 6; m["exp"] = now + 60 },
		"issued in the future":       func(m map[string]any) { m["iat"], m["nbf"], m["exp"] = now+6, now+6, now+60 },
		"valid before it was issued": func(m map[string]any) { m["nbf"] = now - 60 },
		"expired":                    func(m map[string]any) { m["iat"], m["nbf"], m["exp"] = now-60, now-60, now-1 },
		"expires now":                func(m map[string]any) { m["exp"] = now },
		"lifetime too long":          func(m map[string]any) { m["exp"] = now + 3601 },
		"endless lifetime":           func(m map[string]any) { m["exp"] = int64(1) << 62 },
		"more rights than the key":   func(m map[string]any) { m["scopes"] = []string{"notes:read", "admin"} },
		"operator":                   func(m map[string]any) { m["scopes"] = []string{"operator"} },
		"unknown scope":              func(m map[string]any) { m["scopes"] = []string{"notes:read", "root"} },
		"no scopes":                  func(m map[string]any) { m["scopes"] = []string{} },
		"a scope twice":              func(m map[string]any) { m["scopes"] = []string{"notes:read", "notes:read"} },
		"scopes as text":             func(m map[string]any) { m["scopes"] = "notes:read" },
		"scopes null":                func(m map[string]any) { m["scopes"] = nil },
		"agent missing":              func(m map[string]any) { delete(m, "agent") },
		"agent null":                 func(m map[string]any) { m["agent"] = nil },
		"agent empty":                func(m map[string]any) { m["agent"] = "" },
		"agent zero":                 func(m map[string]any) { m["agent"] = uuid.Nil.String() },
		"agent by name":              func(m map[string]any) { m["agent"] = "alice" },
		"another agent":              func(m map[string]any) { m["agent"] = other.Agent.String() },
		"another key":                func(m map[string]any) { m["sub"] = "key:" + other.ID.String() },
		"unknown key":                func(m map[string]any) { m["sub"] = "key:" + uuid.NewString() },
		"sub of no kind":             func(m map[string]any) { m["sub"] = k.ID.String() },
		"sub of another kind":        func(m map[string]any) { m["sub"] = "job:" + k.ID.String() },
		"upper-case id":              func(m map[string]any) { m["sub"] = "key:" + strings.ToUpper(k.ID.String()) },
		"another tenant":             func(m map[string]any) { m["tenant"] = uuid.NewString() },
		"platform":                   func(m map[string]any) { m["tenant"] = "platform" },
		"tenant zero":                func(m map[string]any) { m["tenant"] = uuid.Nil.String() },
		"tenant number":              func(m map[string]any) { m["tenant"] = 1 },
		"unknown claim":              func(m map[string]any) { m["admin"] = true },
		"claim in another case":      func(m map[string]any) { m["Tenant"] = m["tenant"]; delete(m, "tenant") },
		"claim twice by case":        func(m map[string]any) { m["SCOPES"] = []string{"admin"} },
		"exp as text":                func(m map[string]any) { m["exp"] = fmt.Sprint(now + 60) },
		"exp with fraction":          func(m map[string]any) { m["exp"] = float64(now) + 60.5 },
		"exp negative":               func(m map[string]any) { m["exp"] = -1 },
		"jti empty":                  func(m map[string]any) { m["jti"] = "" },
		"jti no id":                  func(m map[string]any) { m["jti"] = "x" },
	}
	for name := range good {
		if name != "agent" { // above
			cases["missing "+name] = func(m map[string]any) { delete(m, name) }
			cases["null "+name] = func(m map[string]any) { m[name] = nil }
			cases["garbage "+name] = func(m map[string]any) { m[name] = map[string]any{"x": 1} }
		}
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := maps.Clone(good)
			change(m)
			b.wantRefused(t, b.forge(t, nil, m))
		})
	}
}

func TestLeewayOfIssuedAtAndNotBefore(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	good := payload(t, b.token(t, b.key(t, NewKey{}).Text, TokenRequest{}).AccessToken)
	now := b.Now().Unix()
	good["iat"], good["nbf"] = now+5, now+5
	b.principal(t, b.forge(t, nil, good))
}

func TestRefuseDuplicateAndTrailingClaims(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	good := must.Get(json.Marshal(payload(t, b.token(t, b.key(t, NewKey{Scopes: []string{"notes:read"}}).Text, TokenRequest{}).AccessToken)))(t)
	b.principal(t, b.forge(t, nil, good))
	for name, bad := range map[string][]byte{
		"twice, the same":  bytes.Replace(good, []byte("{"), []byte(`{"aud":"slipbox",`), 1),
		"twice, different": bytes.Replace(good, []byte("{"), []byte(`{"scopes":["admin"],`), 1),
		"twice, escaped":   bytes.Replace(good, []byte("{"), []byte(`{"\u0061ud":"slipbox",`), 1),
		"second object":    append(slices.Clone(good), "{}"...),
		"text behind":      append(slices.Clone(good), 'x'),
		"array":            []byte("[" + string(good) + "]"),
		"null":             []byte("null"),
		"empty":            {},
		"empty object":     []byte("{}"),
		"not JSON":         []byte("claims"),
		"cut off":          good[:len(good)-1],
		"invalid UTF-8":    bytes.Replace(good, []byte("{"), []byte("{\"\xff\":1,"), 1),
	} {
		if p, err := b.Authenticator.Authenticate(t.Context(), b.forge(t, nil, bad)); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestRefuseAlgNone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	tok := b.token(t, b.key(t, NewKey{}).Text, TokenRequest{}).AccessToken
	kid := b.store.signing[0].KID
	parts := strings.Split(tok, ".")
	for _, alg := range []string{"none", "None", "NONE", "nOnE", ""} {
		head := segment(t, map[string]any{"alg": alg, "typ": "JWT", "kid": kid})
		b.wantRefused(t, head+"."+parts[1]+".")
		b.wantRefused(t, head+"."+parts[1]+"."+parts[2])
	}
	b.wantRefused(t, parts[0]+"."+parts[1]+".")
}

func TestRefuseHS256SignedWithPublicKey(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	parts := strings.Split(b.token(t, b.key(t, NewKey{}).Text, TokenRequest{}).AccessToken, ".")
	key := b.store.signing[0]
	der := must.Get(x509.MarshalPKIXPublicKey(ed25519.PublicKey(key.Public)))(t)
	jwks := must.Get(b.Tokens.JWKS(t.Context()))(t)
	for name, secret := range map[string][]byte{
		"raw": key.Public, "der": der, "pem": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "base64": []byte(jwks.Keys[0].X), "none": nil,
	} {
		for _, alg := range []string{"HS256", "EdDSA"} {
			text := segment(t, map[string]any{"alg": alg, "typ": "JWT", "kid": key.KID}) + "." + parts[1]
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(text))
			if _, err := b.Authenticator.Authenticate(t.Context(), text+"."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil))); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%s as %s: %v", name, alg, err)
			}
		}
	}
}

func TestRefuseHeader(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	good := payload(t, b.token(t, b.key(t, NewKey{}).Text, TokenRequest{}).AccessToken)
	kid := b.store.signing[0].KID
	plain := fmt.Sprintf(`{"alg":"EdDSA","kid":%q}`, kid)
	b.principal(t, b.forge(t, []byte(plain), good)) // typ may be absent
	for name, h := range map[string]string{
		"unknown kid":  `{"alg":"EdDSA","kid":"other"}`,
		"missing kid":  `{"alg":"EdDSA"}`,
		"empty kid":    `{"alg":"EdDSA","kid":""}`,
		"number kid":   `{"alg":"EdDSA","kid":1}`,
		"null kid":     `{"alg":"EdDSA","kid":null}`,
		"path kid":     fmt.Sprintf(`{"alg":"EdDSA","kid":%q}`, "../"+kid),
		"another type": fmt.Sprintf(`{"alg":"EdDSA","typ":"JWE","kid":%q}`, kid),
		"own key":      fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"jwk":{"kty":"OKP"}}`, kid),
		"key address":  fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"jku":"https://example.com"}`, kid),
		"critical":     fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"crit":["x"]}`, kid),
		"alg twice":    fmt.Sprintf(`{"alg":"none","alg":"EdDSA","kid":%q}`, kid),
		"kid twice":    fmt.Sprintf(`{"alg":"EdDSA","kid":"x","kid":%q}`, kid),
		"upper ALG":    fmt.Sprintf(`{"ALG":"EdDSA","kid":%q}`, kid),
		"behind":       plain + "{}",
		"no object":    `"EdDSA"`,
		"empty":        ``,
	} {
		if _, err := b.Authenticator.Authenticate(t.Context(), b.forge(t, []byte(h), good)); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefuseTamperedToken(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	tok := b.token(t, b.key(t, NewKey{Scopes: []string{"notes:read"}}).Text, TokenRequest{}).AccessToken
	b.principal(t, tok)
	// Any changed character is refused, even the last one, whose low bits are not
	// part of the signature.
	for i := range len(tok) {
		if tok[i] == '.' {
			continue
		}
		for _, c := range []byte("Aw_") {
			if tok[i] != c {
				bad := tok[:i] + string(c) + tok[i+1:]
				if _, err := b.Authenticator.Authenticate(t.Context(), bad); !fault.Is(err, fault.Unauthenticated) {
					t.Fatalf("changed at %d: %v", i, err)
				}
			}
		}
	}
	b.wantRefused(t, tok+"=")
	b.wantRefused(t, tok+"\n")
	b.wantRefused(t, " "+tok)

	_, stranger, _ := ed25519.GenerateKey(nil)
	text := strings.Join(strings.Split(tok, ".")[:2], ".")
	b.wantRefused(t, text+"."+base64.RawURLEncoding.EncodeToString(ed25519.Sign(stranger, []byte(text))))
}

func TestTokenWithMoreRightsThanItsKeyIsRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{Scopes: []string{"notes:read", "notes:write"}})
	tok := b.token(t, k.Text, TokenRequest{})
	b.tamper(k.ID, func(stored *Key) { stored.Permissions = []tenant.Permission{tenant.NotesRead} })
	b.Pass(MaxStatusTTL)
	b.wantRefused(t, tok.AccessToken)
}

func TestJWKS(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	if set, err := b.Tokens.JWKS(t.Context()); err != nil || set.Keys == nil || len(set.Keys) != 0 {
		t.Errorf("before the first key: %+v, %v", set, err)
	}
	must.Do(t, b.Tokens.EnsureSigningKey(t.Context()))
	set, err := b.Tokens.JWKS(t.Context())
	if err != nil || len(set.Keys) != 1 {
		t.Fatal(set, err)
	}
	if k := set.Keys[0]; k.KeyType != "OKP" || k.Curve != "Ed25519" || k.Algorithm != "EdDSA" || k.Use != "sig" {
		t.Errorf("key is %+v", k)
	}
}

func TestThumbprint(t *testing.T) {
	t.Parallel()
	// The example of RFC 8037, appendix A.3.
	x, _ := base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	if got := thumbprint(x); got != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Errorf("got %s", got)
	}
}

func TestSigningKeyRotation(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{})
	other := b.newService(t, b.cfg)
	before := b.token(t, k.Text, TokenRequest{TTL: time.Hour})
	must.Get(other.Authenticator.Authenticate(t.Context(), before.AccessToken))(t)
	b.Pass(reloadAfter)
	must.Get(b.Tokens.ring.rotate(t.Context(), b.Now()))(t)
	after := b.token(t, k.Text, TokenRequest{TTL: time.Hour})
	if set, err := b.Tokens.JWKS(t.Context()); err != nil || len(set.Keys) != 2 {
		t.Errorf("key set is %+v, %v", set, err)
	}
	for _, tok := range []Token{before, after} {
		b.principal(t, tok.AccessToken)
		// The other process has not loaded the new key yet and loads it now.
		if _, err := other.Authenticator.Authenticate(t.Context(), tok.AccessToken); err != nil {
			t.Error(err)
		}
	}
	b.Pass(verifyFor)
	if set, err := b.Tokens.JWKS(t.Context()); err != nil || len(set.Keys) != 1 {
		t.Errorf("the old key is still published: %+v, %v", set, err)
	}
	// An old key is rotated automatically.
	b.Pass(30 * 24 * time.Hour)
	b.token(t, k.Text, TokenRequest{})
	if len(b.store.signing) != 3 {
		t.Errorf("%d signing keys", len(b.store.signing))
	}
}

func TestTokenOfRetiredSigningKeyIsRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{})
	old := must.Get(b.Tokens.ring.signingKey(t.Context()))(t)
	must.Get(b.Tokens.ring.rotate(t.Context(), b.Now()))(t)
	b.Pass(verifyFor)
	text := segment(t, map[string]any{"alg": "EdDSA", "kid": old.kid}) + "." + segment(t, payload(t, b.token(t, k.Text, TokenRequest{}).AccessToken))
	b.wantRefused(t, text+"."+base64.RawURLEncoding.EncodeToString(ed25519.Sign(old.private, []byte(text))))
}

func TestConcurrentStartsShareOneSigningKey(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var wg sync.WaitGroup
	for range 8 {
		s := b.newService(t, b.cfg)
		wg.Go(func() {
			if err := s.Tokens.EnsureSigningKey(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(b.store.signing) != 1 {
		t.Errorf("%d signing keys", len(b.store.signing))
	}
}

func TestChangedSecretReplacesSigningKey(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	k := b.key(t, NewKey{})
	before := b.token(t, k.Text, TokenRequest{})
	cfg := b.cfg
	cfg.Secret = []byte("another secret of thirty-two bytes or more")
	other := b.newService(t, cfg)
	p := must.Get(other.Authenticator.Authenticate(t.Context(), k.Text))(t)
	if err := b.Tokens.CheckSigningKey(t.Context()); err != nil {
		t.Error(err)
	}
	wantCode(t, other.Tokens.CheckSigningKey(t.Context()), fault.Conflict)
	// Not within the first minute: otherwise two processes would replace each other's key.
	_, err := other.Tokens.Exchange(t.Context(), p, TokenRequest{})
	wantCode(t, err, fault.Unavailable)
	b.Pass(replaceAfter)
	tok := must.Get(other.Tokens.Exchange(t.Context(), p, TokenRequest{}))(t)
	b.principal(t, tok.AccessToken)
	if _, err := other.Authenticator.Authenticate(t.Context(), before.AccessToken); err != nil {
		t.Error(err)
	}
}

func TestInvalidSigningKeyRowsAreIgnored(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.store.signing = []SigningKey{{KID: "short", Public: []byte("x"), CreatedAt: b.Now()}}
	k := b.key(t, NewKey{})
	tok := b.token(t, k.Text, TokenRequest{}).AccessToken
	b.principal(t, tok)
	b.wantRefused(t, b.forge(t, map[string]any{"alg": "EdDSA", "kid": "short"}, payload(t, tok)))
}
