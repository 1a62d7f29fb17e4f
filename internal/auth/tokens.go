package auth

import (
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

// Tokens exchanges API keys for short-lived JWTs and verifies these.
type Tokens struct {
	deps   Deps
	cfg    Config
	ring   *keyring
	parser *jwt.Parser
}

func newTokens(deps Deps, cfg Config, ring *keyring) *Tokens {
	return &Tokens{deps: deps, cfg: cfg, ring: ring, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(),
		jwt.WithNotBeforeRequired(),
		jwt.WithIssuedAt(),
		jwt.WithIssuer(cfg.Issuer),
		jwt.WithAudience(cfg.Audience),
		jwt.WithLeeway(cfg.Leeway),
		jwt.WithTimeFunc(deps.Clock),
	)}
}

// TokenRequest asks for a token; every field may be left out.
type TokenRequest struct {
	Agent  string        // id or name; made when the name is new and the key is bound to none
	Scopes []string      // nil: all of the key's
	TTL    time.Duration // 0: Config.TokenTTL
}

// Token is a signed token.
type Token struct {
	AccessToken string
	ExpiresIn   time.Duration // in whole seconds
	ExpiresAt   time.Time
	Agent       uuid.UUID // zero: bound to none
	AgentName   string
	Scopes      []tenant.Permission
}

// Exchange makes a token that is never wider than the key p was authenticated
// by, and never outlives it. Forbidden when p came by a token, for scopes the
// key lacks, and for another agent than the key's; Invalid for a TTL outside
// 1 s to 1 h, an unknown or empty list of scopes, or a bad agent.
func (t *Tokens) Exchange(ctx context.Context, p Principal, r TokenRequest) (Token, error) {
	if p.KeyID == uuid.Nil {
		return Token{}, fault.New(fault.Unauthenticated, "an API key is needed")
	}
	if p.ByToken {
		return Token{}, fault.New(fault.Forbidden, "a token cannot be exchanged for another; send the API key")
	}
	if r.TTL == 0 {
		r.TTL = t.cfg.TokenTTL
	}
	if r.TTL < time.Second || r.TTL > MaxTokenTTL {
		return Token{}, fault.InvalidField("ttl_seconds", "must be between 1 and %d", int64(MaxTokenTTL/time.Second))
	}
	perms, err := narrow(p.Permissions(), r.Scopes)
	if err != nil {
		return Token{}, err
	}
	var agent tenant.Agent
	switch {
	case !p.IsOperator:
		if agent, err = narrowAgent(ctx, t.deps.Agents, p.Scope, r.Agent); err != nil {
			return Token{}, err
		}
	case r.Agent != "":
		return Token{}, fault.InvalidField("agent", "a platform key has no agents")
	}
	return t.issue(ctx, p, agent, perms, r.TTL)
}

func (t *Tokens) issue(ctx context.Context, p Principal, agent tenant.Agent, perms []tenant.Permission, ttl time.Duration) (Token, error) {
	now := t.deps.Clock().UTC().Truncate(time.Second)
	expires := now.Add(ttl.Truncate(time.Second))
	if !p.KeyEnds.IsZero() && expires.After(p.KeyEnds) {
		expires = p.KeyEnds.UTC().Truncate(time.Second)
	}
	if !expires.After(now) {
		return Token{}, fault.New(fault.Unauthenticated, "the API key has expired")
	}
	jti, err := uuid.NewRandom()
	if err != nil {
		return Token{}, fault.Wrap(err, fault.Internal, "no id for the token")
	}
	s, err := t.ring.signing(ctx)
	if err != nil {
		return Token{}, err
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, &claims{
		issuer: t.cfg.Issuer, audience: t.cfg.Audience,
		key: p.KeyID, tenant: p.Tenant.ID, agent: agent.ID, scopes: perms,
		issuedAt: now, notBefore: now, expires: expires, id: jti,
	})
	token.Header["kid"] = s.kid
	signed, err := token.SignedString(s.private)
	if err != nil {
		return Token{}, fault.Wrap(err, fault.Internal, "the token could not be signed")
	}
	return Token{
		AccessToken: signed, ExpiresIn: expires.Sub(now), ExpiresAt: expires,
		Agent: agent.ID, AgentName: agent.Name, Scopes: perms,
	}, nil
}

// verify reads a token: its form, signature, issuer, audience and times.
// Whether its key still holds is for the caller. Every refusal is
// Unauthenticated and says no more than that the token has expired.
func (t *Tokens) verify(ctx context.Context, text string) (claims, error) {
	if strings.ContainsFunc(text, notTokenText) {
		// Decoding base64 passes over line breaks: a token would have many spellings.
		return claims{}, badToken(errors.New("not the text of a token"))
	}
	head, _, _ := strings.Cut(text, ".")
	header, err := base64.RawURLEncoding.Strict().DecodeString(head)
	if err != nil {
		return claims{}, badToken(err)
	}
	if err := checkHeader(header); err != nil {
		return claims{}, badToken(err)
	}
	var c claims
	var trouble error
	_, err = t.parser.ParseWithClaims(text, &c, func(token *jwt.Token) (any, error) {
		kid, _ := token.Header["kid"].(string) // checkHeader saw that it is a text; "" is unknown
		key, err := t.ring.verifying(ctx, kid)
		if err != nil && !errors.Is(err, errUnknownKID) {
			trouble = err
		}
		return key, err
	})
	switch {
	case trouble != nil:
		// The store failed, which says nothing of the token.
		return claims{}, trouble
	case errors.Is(err, jwt.ErrTokenExpired):
		return claims{}, errExpired(err)
	case err != nil:
		return claims{}, badToken(err)
	}
	if !t.deps.Clock().Before(c.expires) {
		return claims{}, errExpired(nil) // leeway is for clocks that lag, not for a longer life
	}
	if c.expires.Sub(c.issuedAt) > MaxTokenTTL || c.notBefore.Before(c.issuedAt) {
		return claims{}, badToken(errors.New("times that are never issued"))
	}
	return c, nil
}

func notTokenText(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

func badToken(cause error) error {
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

// JWKS gives the public keys that verify tokens now, newest first. It makes
// none: before the first token, and before EnsureSigningKey, it is empty.
func (t *Tokens) JWKS(ctx context.Context) (JWKS, error) {
	keys, err := t.ring.public(ctx)
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

// EnsureSigningKey makes a signing key when there is none that can sign, so
// that a fresh gateway publishes its key before the first token.
func (t *Tokens) EnsureSigningKey(ctx context.Context) error {
	_, err := t.ring.signing(ctx)
	return err
}

// CheckSigningKey tells whether this process' secret opens the key that signs
// now, and changes nothing; none is no error. Conflict when it does not.
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
	_, err := t.ring.open(newest)
	return fault.Wrap(err, fault.Conflict, "the signing key cannot be opened")
}

// RotateSigningKey makes a new signing key now. The old one verifies on until
// no token of it can be alive.
func (t *Tokens) RotateSigningKey(ctx context.Context) error {
	t.ring.mu.Lock()
	defer t.ring.mu.Unlock()
	now := t.ring.clock()
	if err := t.ring.load(ctx, now, 0); err != nil {
		return err
	}
	_, err := t.ring.rotate(ctx, now)
	return err
}

// wider tells whether any of asked is not held.
func wider(held, asked []tenant.Permission) bool {
	return slices.ContainsFunc(asked, func(p tenant.Permission) bool { return !slices.Contains(held, p) })
}
