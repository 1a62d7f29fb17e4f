package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// Lifetimes of what a grant issues. A token of an hour is not a risk: it ends with its grant, within seconds.
const (
	codeTTL    = time.Minute
	grantedTTL = MaxTokenTTL
	refreshTTL = 90 * 24 * time.Hour
	// maxGrants is how many grants a tenant has.
	maxGrants = 10_000
)

// Resource is what tokens of grants are for, and who issues them.
type Resource struct{ Issuer, URL string }

// IsZero reports whether it names nothing.
func (r Resource) IsZero() bool { return r == Resource{} }

// Grants makes what programs may do for holders of API keys, and ends it.
type Grants struct {
	deps   Deps
	status *statusCache
	tokens *Tokens
}

// NewGrant is what a holder of a key allows.
type NewGrant struct {
	Client      string // name of the program, as it says
	ClientID    string
	Redirect    string // where the code is sent
	At          Resource
	Challenge   string // of PKCE, S256
	Permissions []tenant.Permission
	Limit       tenant.Limit
}

// Granted is what a program gets for a code or a refresh token.
type Granted struct {
	Token

	RefreshToken string
}

// Allow stores a grant with the rights of the key that are among those asked for, and returns its code. It is Forbidden when there are
// none, and when p is not a tenant's key itself.
func (g *Grants) Allow(ctx context.Context, p Principal, n NewGrant) (code string, err error) {
	if p.ByToken || p.IsOperator || p.Scope.IsZero() {
		return "", fault.New(fault.Forbidden, "sign in with an API key of a tenant")
	}
	limit, err := narrower(p.Scope.Limit(), n.Limit)
	if err != nil {
		return "", err
	}
	perms := slices.DeleteFunc(p.Permissions(), func(held tenant.Permission) bool { return !slices.Contains(n.Permissions, held) })
	if !slices.Contains(perms, tenant.NotesRead) {
		return "", fault.New(fault.Forbidden, "the API key lacks the scope %q", tenant.NotesRead)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return "", fault.Wrap(err, fault.Internal, "cannot generate the id of the grant")
	}
	secret := newGrantSecret(codePrefix, GrantID{p.Tenant.ID, id}, 1)
	now := g.now()
	made := Grant{
		ID: secret.id, Key: p.KeyID, Client: n.Client, ClientHash: sha256.Sum256([]byte(n.ClientID)), Redirect: n.Redirect, Resource: n.At.URL,
		Permissions: perms, Limit: limit, Challenge: n.Challenge, Code: sha256.Sum256(secret.parts[0]), CreatedAt: now, ExpiresAt: now.Add(codeTTL),
	}
	// Whose memory it is stays out of the audit log, as everywhere.
	audit := memory.AuditEntry{Action: "grant.create", Target: id.String(), Detail: map[string]any{
		"client": n.Client, "scopes": perms, "of_one_user": limit.User != "", "key": p.KeyID.String(),
	}}
	// The holder of a limited key reaches no keys, and this one is his own.
	own := grant.Scope(p.Tenant.ID, p.Agent, p.Scope.Actor())
	if err := g.deps.Grants.CreateGrant(ctx, own, made, maxGrants, audit); err != nil {
		return "", err
	}
	return secret.text(), nil
}

// CodeExchange is what a program sends with its code.
type CodeExchange struct {
	Code, ClientID, Redirect, Verifier string
	At                                 Resource
}

// errRefused is the answer to any code or refresh token that is not accepted. It does not say why.
func errRefused(cause error) error {
	return fault.Wrap(cause, fault.Unauthenticated, "the code or refresh token is not accepted: it was used, has expired, or belongs to another client")
}

// Exchange returns the first tokens of a grant for its code. A right code is used up, also with a wrong verifier; when it was used before,
// the grant ends. What is not accepted is Unauthenticated.
func (g *Grants) Exchange(ctx context.Context, r CodeExchange) (Granted, error) {
	sent, err := parseGrantSecret(codePrefix, r.Code, 1)
	if err != nil {
		return Granted{}, errRefused(err)
	}
	found, err := g.find(ctx, sent, func(found *Grant) [32]byte { return found.Code })
	if err != nil {
		return Granted{}, err
	}
	verifier := sha256.Sum256([]byte(r.Verifier))
	fits := found.ClientHash == sha256.Sum256([]byte(r.ClientID)) && found.Redirect == r.Redirect && found.Resource == r.At.URL &&
		subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(verifier[:])), []byte(found.Challenge)) == 1
	if !found.UsedAt.IsZero() || !fits {
		return Granted{}, g.replayed(ctx, &found, "code")
	}
	secret := newGrantSecret(refreshPrefix, found.ID, 2)
	return g.next(ctx, &found, r.At, found.Permissions, secret, func(now *Grant) bool { return now.UsedAt.IsZero() })
}

// RefreshExchange is what a program sends with its refresh token.
type RefreshExchange struct {
	RefreshToken, ClientID string
	// Permissions of the token; nil: those of the grant. Further ones are Forbidden.
	Permissions []tenant.Permission
	At          Resource
}

// Refresh returns the next tokens of a grant. When the refresh token was used before, the grant ends: either its program or
// someone else has used a copy.
func (g *Grants) Refresh(ctx context.Context, r RefreshExchange) (Granted, error) {
	sent, err := parseGrantSecret(refreshPrefix, r.RefreshToken, 2)
	if err != nil {
		return Granted{}, errRefused(err)
	}
	found, err := g.find(ctx, sent, func(found *Grant) [32]byte { return found.Family })
	if err != nil {
		return Granted{}, err
	}
	if found.ClientHash != sha256.Sum256([]byte(r.ClientID)) || found.Resource != r.At.URL {
		return Granted{}, errRefused(errors.New("of another client or resource"))
	}
	perms := found.Permissions
	if r.Permissions != nil {
		perms = slices.DeleteFunc(slices.Clone(r.Permissions), func(p tenant.Permission) bool { return !slices.Contains(found.Permissions, p) })
		if len(perms) == 0 {
			return Granted{}, fault.New(fault.Forbidden, "the grant has no such scope")
		}
	}
	used := sha256.Sum256(sent.parts[1])
	secret := newGrantSecret(refreshPrefix, found.ID, 2)
	secret.parts[0] = sent.parts[0] // so that each earlier token is known as one
	return g.next(ctx, &found, r.At, perms, secret, func(now *Grant) bool { return subtle.ConstantTimeCompare(now.Refresh[:], used[:]) == 1 })
}

// find returns the grant that a secret names, if its first part is the right one. Anybody can know the id, so a wrong secret
// changes nothing.
func (g *Grants) find(ctx context.Context, sent grantSecret, hash func(*Grant) [32]byte) (Grant, error) {
	found, err := g.deps.Grants.GrantByID(ctx, sent.id)
	if fault.Is(err, fault.NotFound) {
		return Grant{}, errRefused(err)
	}
	if err != nil {
		return Grant{}, err
	}
	got, want := sha256.Sum256(sent.parts[0]), hash(&found)
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || !g.now().Before(found.ExpiresAt) {
		return Grant{}, errRefused(errors.New("a wrong or expired secret"))
	}
	return found, nil
}

// errReplay means that a secret was used before.
var errReplay = errors.New("used before")

// next issues tokens, if the grant is still as the caller has found it; secret is the next refresh token.
func (g *Grants) next(ctx context.Context, found *Grant, at Resource, perms []tenant.Permission, secret grantSecret, unused func(*Grant) bool) (Granted, error) {
	key, err := g.holder(ctx, found)
	if err != nil {
		return Granted{}, err
	}
	_, err = g.deps.Grants.UpdateGrant(ctx, g.scope(found), found.ID.Grant, func(now *Grant) error {
		if !unused(now) {
			return errReplay
		}
		now.Family, now.Refresh = sha256.Sum256(secret.parts[0]), sha256.Sum256(secret.parts[1])
		now.UsedAt = g.now()
		now.ExpiresAt = now.UsedAt.Add(refreshTTL)
		return nil
	})
	switch {
	case errors.Is(err, errReplay):
		return Granted{}, g.replayed(ctx, found, "refresh token")
	case fault.Is(err, fault.NotFound):
		return Granted{}, errRefused(err)
	case err != nil:
		return Granted{}, err
	}
	g.status.forgetGrant(found.ID)
	token, err := g.tokens.issue(ctx, claims{
		issuer: at.Issuer, audience: at.URL, key: found.Key, tenant: found.ID.Tenant, agent: found.Agent, grant: found.ID.Grant, scopes: perms,
	}, key.endsAt(), grantedTTL)
	return Granted{Token: token, RefreshToken: secret.text()}, err
}

// holder returns the key of a grant, if it and its tenant are in order. A grant whose key has ended is removed.
func (g *Grants) holder(ctx context.Context, found *Grant) (Key, error) {
	key, err := g.deps.Keys.KeyByID(ctx, found.ID.Tenant, found.Key)
	if err == nil {
		err = key.Check(g.deps.Clock())
	}
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) {
		return Key{}, g.end(ctx, found, memory.AuditEntry{Action: "grant.delete", Detail: map[string]any{"reason": "the key has ended"}}, err)
	}
	if err != nil {
		return Key{}, err
	}
	t, err := g.status.tenant(ctx, found.ID.Tenant)
	if fault.Is(err, fault.NotFound) || err == nil && t.State != tenant.Active {
		return Key{}, errRefused(errors.New("the tenant is not active"))
	}
	return key, err
}

// replayed ends a grant of which something was used twice, and returns the refusal.
func (g *Grants) replayed(ctx context.Context, found *Grant, what string) error {
	g.deps.Logger.WarnContext(ctx, "a grant has ended: what it has issued was used again, or by another program", "what", what, "grant", found.ID.Grant)
	return g.end(ctx, found, memory.AuditEntry{Action: "grant.delete", Detail: map[string]any{"reason": "a " + what + " was used again"}}, errReplay)
}

// end deletes a grant and returns the refusal, with its cause.
func (g *Grants) end(ctx context.Context, found *Grant, audit memory.AuditEntry, cause error) error {
	audit.Target = found.ID.Grant.String()
	err := g.deps.Grants.DeleteGrant(ctx, g.scope(found), found.ID.Grant, audit)
	g.status.forgetGrant(found.ID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return errRefused(cause)
}

// scope is what a grant is changed with: only grants of its key's agent.
func (g *Grants) scope(found *Grant) tenant.Scope {
	return grant.Scope(found.ID.Tenant, found.Agent, subjectKind+found.Key.String())
}

// Revoke ends the grant of a refresh or access token of a client (RFC 7009). It is not an error when there is none.
func (g *Grants) Revoke(ctx context.Context, token, clientID string, at Resource) error {
	id, proves, err := g.named(ctx, token, at)
	if err != nil {
		return err
	}
	if id.Grant == uuid.Nil {
		return nil
	}
	found, err := g.deps.Grants.GrantByID(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && (!proves(&found) || found.ClientHash != sha256.Sum256([]byte(clientID))) {
		return nil
	}
	if err != nil {
		return err
	}
	err = g.end(ctx, &found, memory.AuditEntry{Action: "grant.delete", Detail: map[string]any{"reason": "the program has revoked it"}}, nil)
	if fault.Is(err, fault.Unauthenticated) {
		return nil
	}
	return err
}

// named returns the grant that a token names, and whether the token is really one of it. The zero id: none.
func (g *Grants) named(ctx context.Context, token string, at Resource) (id GrantID, proves func(*Grant) bool, err error) {
	if sent, err := parseGrantSecret(refreshPrefix, token, 2); err == nil {
		family := sha256.Sum256(sent.parts[0])
		return sent.id, func(found *Grant) bool { return subtle.ConstantTimeCompare(found.Family[:], family[:]) == 1 }, nil
	}
	if strings.Count(token, ".") != 2 {
		return GrantID{}, nil, nil
	}
	c, err := g.tokens.verify(ctx, token, at)
	if fault.Is(err, fault.Unauthenticated) {
		return GrantID{}, nil, nil
	}
	return GrantID{c.tenant, c.grant}, func(*Grant) bool { return true }, err
}

// List returns grants that have issued tokens, ordered by id, after an id.
func (g *Grants) List(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]Grant, error) {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return nil, err
	}
	return g.deps.Grants.ListGrants(ctx, s, after, limit)
}

// Delete ends a grant: its tokens are refused from now on, by other processes after Config.StatusTTL. As with keys, it is Forbidden
// for a scope that the grant exceeds.
func (g *Grants) Delete(ctx context.Context, s tenant.Scope, id uuid.UUID) error {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return err
	}
	found, err := g.deps.Grants.GrantByID(ctx, GrantID{s.Tenant(), id})
	if err == nil && !s.IsWhole() && found.Agent != s.Reader() {
		err = fault.Missing("grant")
	}
	if err != nil {
		return err
	}
	for _, p := range found.Permissions {
		if !s.Allows(p) {
			return fault.New(fault.Forbidden, "the grant has the scope %q, which the credential lacks", p)
		}
	}
	err = g.deps.Grants.DeleteGrant(ctx, s, id, memory.AuditEntry{Action: "grant.delete", Target: id.String()})
	g.status.forgetGrant(GrantID{s.Tenant(), id})
	return err
}

func (g *Grants) now() time.Time { return g.deps.Clock().UTC().Truncate(time.Microsecond) }

// The texts of codes and refresh tokens: the prefix, tenant and grant in the encoding of keys, and one or two parts of 32 random
// bytes.
const (
	codePrefix    = "sbc"
	refreshPrefix = "sbr"
)

// grantSecret is a parsed code or refresh token. The first part shows that it was issued, the second of a refresh token that it is
// the last one.
type grantSecret struct {
	prefix string
	id     GrantID
	parts  [][]byte
}

func newGrantSecret(prefix string, id GrantID, parts int) grantSecret {
	s := grantSecret{prefix: prefix, id: id}
	for range parts {
		part := make([]byte, secretBytes)
		_, _ = rand.Read(part) // it never fails
		s.parts = append(s.parts, part)
	}
	return s
}

func (s grantSecret) text() string {
	fields := []string{s.prefix, keyEncoding.EncodeToString(s.id.Tenant[:]), keyEncoding.EncodeToString(s.id.Grant[:])}
	for _, part := range s.parts {
		fields = append(fields, keyEncoding.EncodeToString(part))
	}
	return strings.Join(fields, "_")
}

// errGrantSecret is returned for any text that is neither a code nor a refresh token.
var errGrantSecret = errors.New("not the text of a code or a refresh token")

func parseGrantSecret(prefix, text string, parts int) (grantSecret, error) {
	s := grantSecret{prefix: prefix}
	if len(text) > maxCredential {
		return s, errGrantSecret
	}
	fields := strings.Split(text, "_")
	if len(fields) != 3+parts || fields[0] != prefix || !decodeExactly(s.id.Tenant[:], fields[1]) || !decodeExactly(s.id.Grant[:], fields[2]) ||
		s.id.Tenant == uuid.Nil || s.id.Grant == uuid.Nil {
		return s, errGrantSecret
	}
	for _, field := range fields[3:] {
		part := make([]byte, secretBytes)
		if !decodeExactly(part, field) {
			return s, errGrantSecret
		}
		s.parts = append(s.parts, part)
	}
	return s, nil
}
