package auth

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AgentStore finds and creates the agents that credentials are bound to.
type AgentStore interface {
	EnsureAgent(ctx context.Context, s tenant.Scope, name string) (tenant.Agent, error)
	AgentByRef(ctx context.Context, s tenant.Scope, ref string) (tenant.Agent, error)
}

// Keys manages API keys. Every method requires the permission Admin. A scope
// bound to an agent sees and creates only keys of that agent.
type Keys struct {
	deps   Deps
	cfg    Config
	status *statusCache
}

// NewKey describes a key to create.
type NewKey struct {
	Name   string        // a display name; may be ""
	Scopes []string      // nil: all scopes of the caller
	Agent  string        // id or name, created when the name is new; "": the caller's agent, if any
	TTL    time.Duration // 0: does not expire
	Limit  tenant.Limit  // whose memory it is for; zero: all that the scope reaches
}

// CreatedKey is a new key with its text, which is not stored and cannot be
// returned again.
type CreatedKey struct {
	Key
	Text string
}

// Create creates a key that has no more rights than the scope. It returns
// Invalid for unknown scopes, a bad name or TTL, or an unknown agent id, and
// Forbidden for scopes that the caller lacks or an agent other than the caller's.
// A key with a limit has no scope Admin: what it manages belongs to all users.
func (k *Keys) Create(ctx context.Context, s tenant.Scope, n NewKey) (CreatedKey, error) {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return CreatedKey{}, err
	}
	perms, err := limitedScopes(s.Permissions(), n.Scopes, n.Limit)
	if err != nil {
		return CreatedKey{}, err
	}
	key, text, err := k.generate(s.Tenant(), n.Name, n.TTL, n.Limit)
	if err != nil {
		return CreatedKey{}, err
	}
	key.Permissions = perms
	agent, err := credentialAgent(ctx, k.deps.Agents, s, n.Agent)
	if err != nil {
		return CreatedKey{}, err
	}
	key.Agent, key.AgentName = agent.ID, agent.Name
	if err := k.deps.Keys.CreateKey(ctx, s, key, keyAudit("key.create", key, map[string]any{
		"scopes": perms, "agent": agent.Name, "limited": !n.Limit.IsZero(), // whose memory it is stays out of the audit log, as everywhere
	})); err != nil {
		return CreatedKey{}, err
	}
	return CreatedKey{Key: key, Text: text.text()}, nil
}

// generate generates a key without permissions, and its text.
func (k *Keys) generate(tenantID uuid.UUID, name string, ttl time.Duration, limit tenant.Limit) (Key, keyText, error) {
	if err := tenant.CheckDisplayName("display_name", name); err != nil {
		return Key{}, keyText{}, err
	}
	if ttl < 0 || ttl > MaxKeyTTL {
		return Key{}, keyText{}, fault.InvalidField("ttl_seconds", "must be positive and at most 100 years")
	}
	if err := checkLimit(limit); err != nil {
		return Key{}, keyText{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Key{}, keyText{}, fault.Wrap(err, fault.Internal, "cannot generate the id of the key")
	}
	text := newKeyText(k.cfg.Env, tenantID, id)
	key := Key{ID: id, Tenant: tenantID, Name: name, Prefix: text.prefix(), Hash: text.hash(limit), CreatedAt: k.now(), Limit: limit}
	if ttl > 0 {
		key.ExpiresAt = key.CreatedAt.Add(ttl)
	}
	return key, text, nil
}

// KeyQuery selects a page of keys.
type KeyQuery struct {
	Agent string    // only keys of this agent, id or name; "": all
	After uuid.UUID // the last id of the previous page; zero for the first page
	Limit int
}

// listPage is how many keys List reads from the store in one call.
const listPage = 200

// List returns keys ordered by id, revoked and expired ones included. It returns
// NotFound for an unknown agent.
func (k *Keys) List(ctx context.Context, s tenant.Scope, q KeyQuery) ([]Key, error) {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return nil, err
	}
	only := s.Agent()
	if q.Agent != "" {
		agent, err := k.deps.Agents.AgentByRef(ctx, s, q.Agent)
		if err != nil {
			return nil, err
		}
		if s.HasAgent() && agent.ID != s.Agent() {
			return nil, fault.Missing("agent")
		}
		only = agent.ID
	}
	var out []Key
	size := min(q.Limit, listPage)
	for len(out) < q.Limit {
		page, err := k.deps.Keys.ListKeys(ctx, s, q.After, size)
		if err != nil {
			return nil, err
		}
		for _, key := range page {
			if (only == uuid.Nil || key.Agent == only) && len(out) < q.Limit {
				out = append(out, key)
			}
		}
		if len(page) < size {
			break
		}
		q.After = page[len(page)-1].ID
	}
	return out, nil
}

// Get returns a key by id.
func (k *Keys) Get(ctx context.Context, s tenant.Scope, id uuid.UUID) (Key, error) {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return Key{}, err
	}
	key, err := k.deps.Keys.KeyByID(ctx, s.Tenant(), id)
	if err == nil {
		err = checkReach(s, key)
	}
	if err != nil {
		return Key{}, sameNotFound(err)
	}
	return key, nil
}

// Rotate creates a new key with the name, scopes, agent, limit and expiry of an old
// one. The old key stays valid for overlap: nil means Config.KeyOverlap, zero
// revokes it immediately. Rotate returns Conflict when the old key is expired,
// revoked or already rotated, and Forbidden when it has a scope that the caller
// lacks.
func (k *Keys) Rotate(ctx context.Context, s tenant.Scope, id uuid.UUID, overlap *time.Duration) (CreatedKey, error) {
	old, err := k.Get(ctx, s, id)
	if err != nil {
		return CreatedKey{}, err
	}
	if err := checkCovers(s, &old); err != nil {
		return CreatedKey{}, err
	}
	key, keep, err := k.successor(&old, overlap)
	if err != nil {
		return CreatedKey{}, err
	}
	// The new key is created first: if the second step fails, the old key still
	// works, and the secret of the new one was not returned to anyone.
	if err := k.deps.Keys.CreateKey(ctx, s, key.Key, keyAudit("key.create", key.Key, map[string]any{"rotates": old.ID})); err != nil {
		return CreatedKey{}, err
	}
	_, err = k.deps.Keys.UpdateKey(ctx, s, old.ID, keyAudit("key.rotate", old, map[string]any{"to": key.ID, "overlap_seconds": int64(keep / time.Second)}),
		func(o *Key) error { return markRotated(o, key.ID, k.now(), keep) })
	k.status.forgetKey(old.Tenant, old.ID)
	if err != nil {
		if _, undo := k.revoke(context.WithoutCancel(ctx), s, key.ID); undo != nil {
			k.deps.Logger.WarnContext(ctx, "the new key of a failed rotation could not be revoked", "key", key.ID, "error", undo)
		}
		return CreatedKey{}, err
	}
	return key, nil
}

// successor generates the key that replaces an old one, and returns how long the old one stays valid.
func (k *Keys) successor(old *Key, overlap *time.Duration) (CreatedKey, time.Duration, error) {
	keep, err := k.overlapOrDefault(overlap)
	if err != nil {
		return CreatedKey{}, 0, err
	}
	if err := checkRotatable(old, k.now()); err != nil {
		return CreatedKey{}, 0, err
	}
	key, text, err := k.generate(old.Tenant, old.Name, 0, old.Limit)
	key.Permissions, key.Agent, key.AgentName, key.ExpiresAt = old.Permissions, old.Agent, old.AgentName, old.ExpiresAt
	return CreatedKey{Key: key, Text: text.text()}, keep, err
}

// Revoke revokes a key and every token made from it. This process refuses them
// immediately, others within StatusTTL. Revoking a revoked key is a no-op. It returns
// Forbidden when the key has a scope that the caller lacks.
func (k *Keys) Revoke(ctx context.Context, s tenant.Scope, id uuid.UUID) (Key, error) {
	old, err := k.Get(ctx, s, id)
	if err == nil {
		err = checkCovers(s, &old)
	}
	if err != nil {
		return Key{}, err
	}
	if old.revokedAt(k.now()) {
		return old, nil
	}
	return k.revoke(ctx, s, id)
}

func (k *Keys) revoke(ctx context.Context, s tenant.Scope, id uuid.UUID) (Key, error) {
	key, err := k.deps.Keys.UpdateKey(ctx, s, id, memory.AuditEntry{Action: "key.revoke", Target: id.String()}, func(o *Key) error {
		if err := checkReach(s, *o); err != nil {
			return err
		}
		revokeAt(o, k.now())
		return nil
	})
	k.status.forgetKey(s.Tenant(), id)
	return key, sameNotFound(err)
}

// overlapOrDefault returns the requested overlap, or the configured one when it is nil.
func (k *Keys) overlapOrDefault(requested *time.Duration) (time.Duration, error) {
	switch {
	case requested == nil:
		return k.cfg.KeyOverlap, nil
	case *requested < 0 || *requested > MaxKeyOverlap:
		return 0, fault.InvalidField("overlap_seconds", "must be between 0 and %d", int64(MaxKeyOverlap/time.Second))
	default:
		return *requested, nil
	}
}

func (k *Keys) now() time.Time { return k.deps.Clock().UTC().Truncate(time.Microsecond) }

// checkReach returns NotFound for a key of another tenant, and for a key of another
// agent when the scope is bound to an agent.
func checkReach(s tenant.Scope, key Key) error {
	if key.Tenant != s.Tenant() || s.HasAgent() && key.Agent != s.Agent() {
		return fault.Missing("API key")
	}
	return nil
}

// checkCovers returns Forbidden, with the scope that is missing, unless the caller has
// every scope of the key. Nobody changes a key that is wider than his own, so that a key
// with few scopes can neither obtain more by a rotation, nor lock out those who have more.
func checkCovers(s tenant.Scope, key *Key) error {
	for _, p := range key.Permissions {
		if !s.Allows(p) {
			return fault.New(fault.Forbidden, "the API key %s has the scope %q, which the credential lacks", key.ID, p)
		}
	}
	return nil
}

// CheckCoversAgent returns Forbidden when an agent has a key that works and has a scope
// that the caller lacks.
func (k *Keys) CheckCoversAgent(ctx context.Context, s tenant.Scope, agent uuid.UUID) error {
	for q := (KeyQuery{Agent: agent.String(), Limit: listPage}); ; {
		page, err := k.List(ctx, s, q)
		if err != nil {
			return err
		}
		for i := range page {
			if page[i].Check(k.now()) != nil {
				continue
			}
			if err := checkCovers(s, &page[i]); err != nil {
				return err
			}
		}
		if len(page) < q.Limit {
			return nil
		}
		q.After = page[len(page)-1].ID
	}
}

// sameNotFound replaces any NotFound by the same error, so that a caller cannot
// distinguish a missing key from a key that it may not see.
func sameNotFound(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Missing("API key")
	}
	return err
}

// checkRotatable returns Conflict for a key that is rotated, revoked or expired.
func checkRotatable(key *Key, now time.Time) error {
	switch {
	case key.RotatedTo != uuid.Nil:
		return fault.New(fault.Conflict, "the key is already rotated")
	case !key.RevokedAt.IsZero():
		return fault.New(fault.Conflict, "the key is revoked")
	case key.expiredAt(now):
		return fault.New(fault.Conflict, "the key has expired")
	}
	return nil
}

// markRotated marks a key as rotated to next and revokes it after the overlap.
func markRotated(key *Key, next uuid.UUID, now time.Time, overlap time.Duration) error {
	if err := checkRotatable(key, now); err != nil {
		return err
	}
	key.RotatedTo = next
	revokeAt(key, now.Add(overlap))
	return nil
}

// revokeAt revokes a key at the given time, unless it is revoked earlier.
func revokeAt(key *Key, at time.Time) {
	if key.RevokedAt.IsZero() || key.RevokedAt.After(at) {
		key.RevokedAt = at
	}
}

func (k *Key) expiredAt(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }
func (k *Key) revokedAt(now time.Time) bool { return !k.RevokedAt.IsZero() && !now.Before(k.RevokedAt) }

// Check returns Unauthenticated for a key that has expired or is revoked.
func (k *Key) Check(now time.Time) error {
	switch {
	case k.revokedAt(now):
		return fault.New(fault.Unauthenticated, "the API key is revoked; create another with `gateway key create`")
	case k.expiredAt(now):
		return fault.New(fault.Unauthenticated, "the API key has expired; create another with `gateway key create`")
	}
	return nil
}

func keyAudit(action string, key Key, detail map[string]any) memory.AuditEntry {
	return memory.AuditEntry{Action: action, Target: key.ID.String(), Detail: detail}
}

// grantableScopes returns the requested permissions, or all of held when requested is
// nil. It returns Invalid for an empty list or an unknown scope, and Forbidden
// for a scope that is not held.
func grantableScopes(held []tenant.Permission, requested []string) ([]tenant.Permission, error) {
	if requested == nil {
		return held, nil
	}
	if len(requested) == 0 {
		return nil, fault.InvalidField("scopes", "must not be empty; leave it out for all")
	}
	perms, err := tenant.ParsePermissions("scopes", requested)
	if err != nil {
		return nil, err
	}
	for _, p := range perms {
		if !slices.Contains(held, p) {
			return nil, fault.New(fault.Forbidden, "the credential lacks the scope %q and cannot grant it", p)
		}
	}
	slices.Sort(perms)
	return perms, nil
}

// limitedScopes is grantableScopes for a credential with a limit, which has no scope Admin.
func limitedScopes(held []tenant.Permission, requested []string, limit tenant.Limit) ([]tenant.Permission, error) {
	perms, err := grantableScopes(held, requested)
	if err != nil || limit.IsZero() || !slices.Contains(perms, tenant.Admin) {
		return perms, err
	}
	if requested != nil {
		return nil, fault.InvalidField("scopes", "what is limited to the memory of one user cannot have the scope %q", tenant.Admin)
	}
	if perms = slices.DeleteFunc(slices.Clone(perms), func(p tenant.Permission) bool { return p == tenant.Admin }); len(perms) == 0 {
		return nil, fault.New(fault.Forbidden, "the credential has no scope but %q, which what is limited to the memory of one user cannot have", tenant.Admin)
	}
	return perms, nil
}

// checkLimit returns Invalid for ids that no collection can have.
func checkLimit(l tenant.Limit) error { return memory.External(l).Check("external.") }

// credentialAgent returns the agent that a new credential is bound to: the agent of
// the scope, else the requested one (created when its name is new), else none.
func credentialAgent(ctx context.Context, agents AgentStore, s tenant.Scope, ref string) (tenant.Agent, error) {
	if s.HasAgent() {
		own, err := agents.AgentByRef(ctx, s, s.Agent().String())
		if err != nil {
			return tenant.Agent{}, err
		}
		if id, notID := uuid.Parse(ref); ref != "" && ref != own.Name && (notID != nil || id != own.ID) {
			return tenant.Agent{}, fault.New(fault.Forbidden, "the credential is bound to another agent")
		}
		return own, nil
	}
	if ref == "" {
		return tenant.Agent{}, nil
	}
	if id, err := uuid.Parse(ref); err == nil {
		agent, err := agents.AgentByRef(ctx, s, id.String())
		if fault.Is(err, fault.NotFound) {
			return tenant.Agent{}, fault.InvalidField("agent", "no agent has this id")
		}
		return agent, err
	}
	if err := tenant.CheckName("agent", ref); err != nil {
		return tenant.Agent{}, err
	}
	return agents.EnsureAgent(ctx, s, ref)
}
