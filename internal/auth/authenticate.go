package auth

import (
	"context"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// Principal is the authenticated caller of a request.
type Principal struct {
	// Scope is passed to store methods; zero for an operator.
	Scope tenant.Scope
	// Operator is passed to the methods of the platform; zero for a tenant's key.
	Operator   tenant.Operator
	IsOperator bool

	KeyID   uuid.UUID
	KeyEnds time.Time // when the key expires or is revoked, if that is known; else zero
	ByToken bool      // a token was sent, not the key itself
	Grant   uuid.UUID // that the token is of; zero: none

	// Tenant is the tenant in its current state (with its limits); zero for an
	// operator.
	Tenant tenant.Tenant
	// Agent and AgentName identify the agent that the credential is bound to;
	// zero: none.
	Agent     uuid.UUID
	AgentName string

	permissions []tenant.Permission
}

// Permissions returns the permissions of the credential, sorted.
func (p Principal) Permissions() []tenant.Permission { return slices.Clone(p.permissions) }

// Check returns nil when the credential has the permission, Unauthenticated for
// the zero Principal, and else Forbidden.
func (p Principal) Check(need tenant.Permission) error {
	if p.KeyID == uuid.Nil {
		return fault.New(fault.Unauthenticated, "a credential is required")
	}
	if !slices.Contains(p.permissions, need) {
		return fault.New(fault.Forbidden, "the credential lacks the scope %q", need)
	}
	return nil
}

// maxCredential is the maximum length of a credential in bytes. The longest token has four
// ids of 256 characters, each of which JSON writes as "\u003c": below 10 KiB.
const maxCredential = 10 << 10

// Authenticator verifies credentials and returns their principals.
type Authenticator struct {
	cfg    Config
	clock  memory.Clock
	status *statusCache
	tokens *Tokens
}

// Authenticate verifies an API key or a token. The state of key, tenant and
// agent that it uses is at most Config.StatusTTL old, so a key, tenant or agent
// that was revoked, suspended or deleted invalidates every credential derived
// from it.
//
// A refusal is Unauthenticated. An unknown key and a wrong secret get the same
// message, both after a lookup and a constant-time comparison; only a caller
// with the right secret learns why a key is refused. The timing of a second
// attempt may reveal that an id exists, because existing keys are cached; ids
// are not secret. When the store fails, its error is returned.
func (a *Authenticator) Authenticate(ctx context.Context, credential string) (Principal, error) {
	return a.AuthenticateAt(ctx, credential, Resource{})
}

// AuthenticateAt is Authenticate for a resource, where the tokens of its grants are accepted, too.
func (a *Authenticator) AuthenticateAt(ctx context.Context, credential string, at Resource) (Principal, error) {
	switch {
	case credential == "":
		return Principal{}, fault.New(fault.Unauthenticated, "a credential is required")
	case len(credential) > maxCredential:
		return Principal{}, fault.New(fault.Unauthenticated, "the credential is too long")
	case strings.HasPrefix(credential, keyPrefix+"_"):
		return a.byKey(ctx, credential)
	case strings.Count(credential, ".") == 2:
		return a.byToken(ctx, credential, at)
	default:
		return Principal{}, fault.New(fault.Unauthenticated, "the credential is neither a token nor an API key")
	}
}

func errBadKey(cause error) error {
	e := fault.New(fault.Unauthenticated, "the API key is not accepted; check that all of it was sent, or create another with `gateway key create`")
	e.Err = cause
	return e
}

func (a *Authenticator) byKey(ctx context.Context, credential string) (Principal, error) {
	sent, err := parseKeyText(credential)
	if err != nil {
		return Principal{}, errBadKey(err)
	}
	key, err := a.status.key(ctx, sent.tenant, sent.id)
	found := err == nil
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Principal{}, err
	}
	// For an unknown id the secret is compared with the zero hash, which takes the same time.
	hash := sent.hash(key.Limit)
	match := subtle.ConstantTimeCompare(hash[:], key.Hash[:]) == 1
	if !found || !match || key.Prefix != sent.prefix() || sent.env != a.cfg.Env {
		return Principal{}, errBadKey(nil)
	}
	return a.principal(ctx, key, nil, tenant.Limit{})
}

func (a *Authenticator) byToken(ctx context.Context, credential string, at Resource) (Principal, error) {
	c, err := a.tokens.verify(ctx, credential, at)
	if err != nil {
		return Principal{}, err
	}
	key, err := a.status.key(ctx, c.tenant, c.key)
	if fault.Is(err, fault.NotFound) {
		return Principal{}, fault.Wrap(err, fault.Unauthenticated, "the API key of the token no longer exists")
	}
	if err != nil {
		return Principal{}, err
	}
	if c.grant == uuid.Nil {
		return a.principal(ctx, key, &c, c.limit)
	}
	g, err := a.status.grant(ctx, GrantID{c.tenant, c.grant})
	if fault.Is(err, fault.NotFound) {
		return Principal{}, fault.Wrap(err, fault.Unauthenticated, "the access was withdrawn, or has expired")
	}
	if err != nil {
		return Principal{}, err
	}
	if g.Key != c.key || g.Resource != at.URL || exceeds(g.Permissions, c.scopes) {
		return Principal{}, fault.New(fault.Unauthenticated, "the token has more rights than its grant")
	}
	return a.principal(ctx, key, &c, g.Limit)
}

// principal checks the state of the key, its tenant and its agent, and returns
// the principal. token holds the claims when the credential is a token of the
// key, else nil; limit is that of the token or its grant, beside that of the key.
func (a *Authenticator) principal(ctx context.Context, key Key, token *claims, limit tenant.Limit) (Principal, error) {
	if err := key.Check(a.clock()); err != nil {
		return Principal{}, err
	}
	actor := subjectKind + key.ID.String()
	p := Principal{
		KeyID: key.ID, KeyEnds: key.endsAt(),
		Agent: key.Agent, AgentName: key.AgentName, permissions: slices.Sorted(slices.Values(key.Permissions)),
	}
	if token != nil {
		if exceeds(key.Permissions, token.scopes) || key.Agent != uuid.Nil && key.Agent != token.agent {
			return Principal{}, fault.New(fault.Unauthenticated, "the token has more rights than its API key")
		}
		p.ByToken, p.Agent, p.Grant = true, token.agent, token.grant
		p.permissions = slices.Sorted(slices.Values(token.scopes))
	}
	if key.Tenant == uuid.Nil {
		if !slices.Equal(p.permissions, []tenant.Permission{tenant.OperatorPerm}) || p.Agent != uuid.Nil {
			return Principal{}, fault.New(fault.Unauthenticated, "not a platform credential")
		}
		p.IsOperator, p.Operator = true, grant.Operator("operator:"+key.ID.String())
		return p, nil
	}
	if slices.Contains(p.permissions, tenant.OperatorPerm) {
		return Principal{}, fault.New(fault.Unauthenticated, "a tenant's credential cannot hold the scope %q", tenant.OperatorPerm)
	}
	if err := a.checkTenant(ctx, key.Tenant, &p); err != nil {
		return Principal{}, err
	}
	if p.Agent != uuid.Nil {
		if err := a.checkAgent(ctx, key.Tenant, actor, &p); err != nil {
			return Principal{}, err
		}
	}
	limit, ok := key.Limit.And(limit)
	if !ok || !limit.IsZero() && slices.Contains(p.permissions, tenant.Admin) {
		return Principal{}, fault.New(fault.Unauthenticated, "the token has more rights than its API key")
	}
	p.Scope = grant.Limited(key.Tenant, p.Agent, limit, actor, p.permissions...)
	return p, nil
}

func (a *Authenticator) checkTenant(ctx context.Context, id uuid.UUID, p *Principal) error {
	t, err := a.status.tenant(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.Wrap(err, fault.Unauthenticated, "the tenant no longer exists")
	case err != nil:
		return err
	case t.State == tenant.Suspended:
		return fault.New(fault.Unauthenticated, "the tenant is suspended")
	case t.State != tenant.Active:
		return fault.New(fault.Unauthenticated, "the tenant no longer exists")
	}
	p.Tenant = t
	return nil
}

// checkAgent verifies that the agent still exists: a credential of a deleted
// agent must not access the shared bases in the agent's name.
func (a *Authenticator) checkAgent(ctx context.Context, tenantID uuid.UUID, actor string, p *Principal) error {
	agent, err := a.status.agent(ctx, tenantID, p.Agent, actor)
	if fault.Is(err, fault.NotFound) {
		return fault.Wrap(err, fault.Unauthenticated, "the agent of the credential no longer exists")
	}
	p.AgentName = agent.Name
	return err
}

// endsAt returns when the key becomes invalid, as far as is known; zero: never.
func (k *Key) endsAt() time.Time {
	if k.ExpiresAt.IsZero() || !k.RevokedAt.IsZero() && k.RevokedAt.Before(k.ExpiresAt) {
		return k.RevokedAt
	}
	return k.ExpiresAt
}
