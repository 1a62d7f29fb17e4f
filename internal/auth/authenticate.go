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

// Principal is who a request comes from, after its credential held.
type Principal struct {
	// Scope is what store methods take; zero for an operator.
	Scope tenant.Scope
	// Operator is what the platform's methods take; zero for a tenant's key.
	Operator   tenant.Operator
	IsOperator bool

	KeyID   uuid.UUID
	KeyEnds time.Time // when the key expires or its revocation begins; zero: neither is known
	ByToken bool      // a token was sent, not the key itself
	Expires time.Time // of the credential that was sent; zero: never

	// Tenant is the tenant as it is now (with its limits), zero for an operator.
	Tenant tenant.Tenant
	// Agent and AgentName are what the credential is bound to; zero: none.
	Agent     uuid.UUID
	AgentName string

	permissions []tenant.Permission
}

// Permissions lists what the credential may do, sorted.
func (p Principal) Permissions() []tenant.Permission { return slices.Clone(p.permissions) }

// Check refuses a permission that the credential lacks: Unauthenticated for
// the zero Principal, else Forbidden.
func (p Principal) Check(need tenant.Permission) error {
	if p.KeyID == uuid.Nil {
		return fault.New(fault.Unauthenticated, "a credential is needed")
	}
	if !slices.Contains(p.permissions, need) {
		return fault.New(fault.Forbidden, "the credential lacks the scope %q", need)
	}
	return nil
}

// maxCredential is the longest credential that is looked at, in bytes. The
// longest token is below 1 KiB.
const maxCredential = 4096

// Authenticator turns a credential into a Principal.
type Authenticator struct {
	cfg    Config
	clock  memory.Clock
	status *status
	tokens *Tokens
}

// Authenticate accepts an API key or a token. The state of key, tenant and
// agent is at most Config.StatusTTL old, so what was revoked, suspended or
// deleted ends every credential made from it. Every refusal is
// Unauthenticated; an unknown key and a wrong secret are told by the same
// sentence, both after a look-up and a comparison in constant time, and only
// who holds the secret learns why a key is refused. (That a key's id is known
// may show in the time of a second try, which finds it remembered; ids are no
// secret.) When the store fails its own fault comes back.
func (a *Authenticator) Authenticate(ctx context.Context, credential string) (Principal, error) {
	switch {
	case credential == "":
		return Principal{}, fault.New(fault.Unauthenticated, "a credential is needed")
	case len(credential) > maxCredential:
		return Principal{}, fault.New(fault.Unauthenticated, "the credential is too long")
	case strings.HasPrefix(credential, keyStart+"_"):
		return a.byKey(ctx, credential)
	case strings.Count(credential, ".") == 2:
		return a.byToken(ctx, credential)
	default:
		return Principal{}, fault.New(fault.Unauthenticated, "the credential is neither a token nor an API key")
	}
}

func errBadKey(cause error) error {
	e := fault.New(fault.Unauthenticated, "the API key is not accepted; check that all of it was sent, or make another with `gateway key create`")
	e.Err = cause
	return e
}

func (a *Authenticator) byKey(ctx context.Context, credential string) (Principal, error) {
	sent, err := parseKeyText(credential)
	if err != nil {
		return Principal{}, errBadKey(err)
	}
	key, err := a.status.key(ctx, sent.tenant, sent.id)
	known := err == nil
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Principal{}, err
	}
	// For an unknown id the comparison is with the zero hash, to the same end.
	hash := sent.hash()
	same := subtle.ConstantTimeCompare(hash[:], key.Hash[:]) == 1
	if !known || !same || key.Prefix != sent.prefix() || sent.env != a.cfg.Env {
		return Principal{}, errBadKey(nil)
	}
	return a.principal(ctx, key, nil)
}

func (a *Authenticator) byToken(ctx context.Context, credential string) (Principal, error) {
	c, err := a.tokens.verify(ctx, credential)
	if err != nil {
		return Principal{}, err
	}
	key, err := a.status.key(ctx, c.tenant, c.key)
	if fault.Is(err, fault.NotFound) {
		return Principal{}, fault.Wrap(err, fault.Unauthenticated, "the API key of the token is gone")
	}
	if err != nil {
		return Principal{}, err
	}
	return a.principal(ctx, key, &c)
}

// principal checks what a key, or a token of it, rests on, and makes the scope.
func (a *Authenticator) principal(ctx context.Context, key Key, token *claims) (Principal, error) {
	if err := key.Check(a.clock()); err != nil {
		return Principal{}, err
	}
	actor := subjectKind + key.ID.String()
	p := Principal{
		KeyID: key.ID, KeyEnds: key.ends(), Expires: key.ends(),
		Agent: key.Agent, AgentName: key.AgentName, permissions: slices.Sorted(slices.Values(key.Permissions)),
	}
	if token != nil {
		if wider(key.Permissions, token.scopes) || key.Agent != uuid.Nil && key.Agent != token.agent {
			return Principal{}, fault.New(fault.Unauthenticated, "the token is wider than its API key")
		}
		p.ByToken, p.Expires, p.Agent = true, token.expires, token.agent
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
	p.Scope = grant.Scope(key.Tenant, p.Agent, actor, p.permissions...)
	return p, nil
}

func (a *Authenticator) checkTenant(ctx context.Context, id uuid.UUID, p *Principal) error {
	t, err := a.status.tenant(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.Wrap(err, fault.Unauthenticated, "the tenant is gone")
	case err != nil:
		return err
	case t.State == tenant.Suspended:
		return fault.New(fault.Unauthenticated, "the tenant is suspended")
	case t.State != tenant.Active:
		return fault.New(fault.Unauthenticated, "the tenant is gone")
	}
	p.Tenant = t
	return nil
}

// checkAgent makes sure that the agent is still there: a credential for a
// deleted one must not reach the shared bases in its name.
func (a *Authenticator) checkAgent(ctx context.Context, tenantID uuid.UUID, actor string, p *Principal) error {
	agent, err := a.status.agent(ctx, tenantID, p.Agent, actor)
	if fault.Is(err, fault.NotFound) {
		return fault.Wrap(err, fault.Unauthenticated, "the agent of the credential is gone")
	}
	p.AgentName = agent.Name
	return err
}

// ends is when the key stops working, as far as is known; zero: never.
func (k *Key) ends() time.Time {
	if k.ExpiresAt.IsZero() || !k.RevokedAt.IsZero() && k.RevokedAt.Before(k.ExpiresAt) {
		return k.RevokedAt
	}
	return k.ExpiresAt
}
