package auth

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Tokens exchanges API keys for short-lived JWTs and verifies the JWTs.
type Tokens struct {
	deps   Deps
	cfg    Config
	ring   *keyring
	parser *jwt.Parser
}

func newTokens(deps Deps, cfg Config, ring *keyring) *Tokens {
	t := &Tokens{deps: deps, cfg: cfg, ring: ring}
	t.parser = t.newParser(cfg.Issuer, cfg.Audience)
	return t
}

func (t *Tokens) newParser(issuer, audience string) *jwt.Parser {
	return jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(),
		jwt.WithNotBeforeRequired(),
		jwt.WithIssuedAt(),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(audience),
		jwt.WithLeeway(t.cfg.Leeway),
		jwt.WithTimeFunc(t.deps.Clock),
	)
}

// TokenRequest describes a token to issue; every field is optional.
type TokenRequest struct {
	Agent  string        // id or name; created when the name is new and the key is bound to no agent
	Scopes []string      // nil: all scopes of the key
	TTL    time.Duration // 0: Config.TokenTTL
	Limit  tenant.Limit  // whose memory it is for; zero: that of the key
}

// Token is a signed token.
type Token struct {
	AccessToken string
	ExpiresIn   time.Duration // in whole seconds
	Agent       uuid.UUID     // zero: bound to none
	AgentName   string
	Scopes      []tenant.Permission
	Limit       tenant.Limit
}

// Exchange issues a token for the key that authenticated p. The token has no more
// rights than the key and does not outlive it. Exchange returns Forbidden when p
// was authenticated by a token, for scopes that the key lacks, and for an agent
// or a user other than the key's. It returns Invalid for a TTL outside 1 s to 1 h, an
// unknown scope, an empty list of scopes, or a bad agent.
func (t *Tokens) Exchange(ctx context.Context, p Principal, r TokenRequest) (Token, error) {
	if p.KeyID == uuid.Nil {
		return Token{}, fault.New(fault.Unauthenticated, "an API key is required")
	}
	if p.ByToken {
		return Token{}, fault.New(fault.Forbidden, "a token cannot be exchanged for another; send the API key")
	}
	r.TTL = cmp.Or(r.TTL, t.cfg.TokenTTL)
	if r.TTL < time.Second || r.TTL > MaxTokenTTL {
		return Token{}, fault.InvalidField("ttl_seconds", "must be between 1 and %d", int64(MaxTokenTTL/time.Second))
	}
	limit, err := narrower(p.Scope.Limit(), r.Limit)
	if err != nil {
		return Token{}, err
	}
	perms, err := limitedScopes(p.Permissions(), r.Scopes, limit)
	if err != nil {
		return Token{}, err
	}
	var agent tenant.Agent
	switch {
	case !p.IsOperator:
		if agent, err = credentialAgent(ctx, t.deps.Agents, p.Scope, r.Agent); err != nil {
			return Token{}, err
		}
	case r.Agent != "":
		return Token{}, fault.InvalidField("agent", "a platform key has no agents")
	case !limit.IsZero():
		return Token{}, fault.InvalidField("external", "a platform key reaches no memory")
	}
	out, err := t.issue(ctx, claims{
		issuer: t.cfg.Issuer, audience: t.cfg.Audience, key: p.KeyID, tenant: p.Tenant.ID, agent: agent.ID, limit: limit, scopes: perms,
	}, p.KeyEnds, r.TTL)
	out.AgentName = agent.Name
	return out, err
}

// narrower returns the ids of a credential and those that are asked for. It is Forbidden when they are those of another.
func narrower(held, asked tenant.Limit) (tenant.Limit, error) {
	if err := checkLimit(asked); err != nil {
		return held, err
	}
	both, ok := held.And(asked)
	if !ok {
		return held, fault.New(fault.Forbidden, "the API key is for the memory of another user, agent, app or run")
	}
	return both, nil
}

// issue signs a token with these claims, which does not outlive its key.
func (t *Tokens) issue(ctx context.Context, c claims, keyEnds time.Time, ttl time.Duration) (Token, error) {
	now := t.deps.Clock().UTC().Truncate(time.Second)
	expires := now.Add(ttl.Truncate(time.Second))
	if !keyEnds.IsZero() && expires.After(keyEnds) {
		expires = keyEnds.UTC().Truncate(time.Second)
	}
	if !expires.After(now) {
		return Token{}, fault.New(fault.Unauthenticated, "the API key has expired")
	}
	jti, err := uuid.NewRandom()
	if err != nil {
		return Token{}, fault.Wrap(err, fault.Internal, "cannot generate the id of the token")
	}
	s, err := t.ring.signingKey(ctx)
	if err != nil {
		return Token{}, err
	}
	c.issuedAt, c.notBefore, c.expires, c.id = now, now, expires, jti
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, &c)
	token.Header["kid"] = s.kid
	if c.grant != uuid.Nil {
		token.Header["typ"] = typGranted
	}
	signed, err := token.SignedString(s.private)
	if err != nil {
		return Token{}, fault.Wrap(err, fault.Internal, "the token could not be signed")
	}
	return Token{AccessToken: signed, ExpiresIn: expires.Sub(now), Agent: c.agent, Scopes: c.scopes, Limit: c.limit}, nil
}

// verify checks a token: its form, signature, issuer, audience and times. A token of a grant must be for the resource at; for the
// zero Resource there is none. The caller checks the state of its key and grant. Every refusal is Unauthenticated; its
// message says only whether the token has expired.
func (t *Tokens) verify(ctx context.Context, text string, at Resource) (claims, error) {
	if strings.ContainsFunc(text, isNotTokenChar) {
		// The base64 decoder skips line breaks, so a token would have many spellings.
		return claims{}, errBadToken(errors.New("not the text of a token"))
	}
	head, _, _ := strings.Cut(text, ".")
	header, err := base64.RawURLEncoding.Strict().DecodeString(head)
	if err != nil {
		return claims{}, errBadToken(err)
	}
	granted, err := checkHeader(header)
	if err != nil {
		return claims{}, errBadToken(err)
	}
	parser := t.parser
	if granted {
		if at.IsZero() {
			return claims{}, errBadToken(errors.New("a token of a grant is for one resource"))
		}
		parser = t.newParser(at.Issuer, at.URL)
	}
	var c claims
	var storeErr error
	_, err = parser.ParseWithClaims(text, &c, func(token *jwt.Token) (any, error) {
		kid, _ := token.Header["kid"].(string) // checkHeader verified that it is a string; "" is unknown
		key, err := t.ring.verificationKey(ctx, kid)
		if err != nil && !errors.Is(err, errUnknownKID) {
			storeErr = err
		}
		return key, err
	})
	switch {
	case storeErr != nil:
		// The store failed, so the token could not be checked.
		return claims{}, storeErr
	case errors.Is(err, jwt.ErrTokenExpired):
		return claims{}, errExpired(err)
	case err != nil:
		return claims{}, errBadToken(err)
	}
	if !t.deps.Clock().Before(c.expires) {
		return claims{}, errExpired(nil) // leeway is for clocks that lag, not for a longer lifetime
	}
	if granted != (c.grant != uuid.Nil) {
		return claims{}, errBadToken(errors.New("the type and the claims do not fit"))
	}
	if c.expires.Sub(c.issuedAt) > MaxTokenTTL || c.notBefore.Before(c.issuedAt) {
		return claims{}, errBadToken(errors.New("no issued token has such times"))
	}
	return c, nil
}

// isNotTokenChar reports whether a token cannot contain r.
func isNotTokenChar(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

func errBadToken(cause error) error {
	return fault.Wrap(cause, fault.Unauthenticated, "the token is not accepted")
}

func errExpired(cause error) error {
	e := fault.New(fault.Unauthenticated, "the token has expired")
	e.Err = cause
	return e
}

// JWK is a public key in a key set (RFC 7517, RFC 8037).
type JWK struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	KeyID     string `json:"kid"`
	Algorithm string `json:"alg"`
	Use       string `json:"use"`
	X         string `json:"x"`
}

// JWKS is the document at /.well-known/jwks.json.
type JWKS struct {
	Keys []JWK `json:"keys"`
}

// JWKS returns the public keys that verify tokens now, newest first. It creates
// no key: before the first token, and before EnsureSigningKey, it is empty.
func (t *Tokens) JWKS(ctx context.Context) (JWKS, error) {
	keys, err := t.ring.verificationKeys(ctx)
	if err != nil {
		return JWKS{}, err
	}
	set := JWKS{Keys: make([]JWK, 0, len(keys))}
	for _, k := range keys {
		set.Keys = append(set.Keys, JWK{
			KeyType: "OKP", Curve: "Ed25519", KeyID: k.KID, Algorithm: jwt.SigningMethodEdDSA.Alg(), Use: "sig",
			X: base64.RawURLEncoding.EncodeToString(k.Public),
		})
	}
	return set, nil
}

// EnsureSigningKey creates a signing key when there is none that can sign, so
// that a new gateway publishes its key before the first token.
func (t *Tokens) EnsureSigningKey(ctx context.Context) error {
	_, err := t.ring.signingKey(ctx)
	return err
}

// CheckSigningKey returns Conflict when the secret of this process cannot decrypt
// the current signing key. It returns nil when there is no signing key, and
// changes nothing.
func (t *Tokens) CheckSigningKey(ctx context.Context) error {
	t.ring.mu.Lock()
	defer t.ring.mu.Unlock()
	now := t.ring.clock()
	if err := t.ring.load(ctx, now, 0); err != nil {
		return err
	}
	newest, ok := t.ring.newest()
	if !ok || !newest.signsAt(now) {
		return nil
	}
	_, err := t.ring.decrypt(newest)
	return fault.Wrap(err, fault.Conflict, "the signing key cannot be decrypted")
}

// exceeds reports whether requested contains a permission that is not in held.
func exceeds(held, requested []tenant.Permission) bool {
	return slices.ContainsFunc(requested, func(p tenant.Permission) bool { return !slices.Contains(held, p) })
}
