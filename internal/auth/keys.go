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

// AgentStore is what credentials need of agents.
type AgentStore interface {
	EnsureAgent(ctx context.Context, s tenant.Scope, name string) (tenant.Agent, error)
	AgentByRef(ctx context.Context, s tenant.Scope, ref string) (tenant.Agent, error)
}

// Keys manages API keys. Every method needs the permission Admin; a scope that
// is bound to an agent sees and makes keys of that agent only.
type Keys struct {
	deps   Deps
	cfg    Config
	status *status
}

// NewKey asks for a key.
type NewKey struct {
	Name   string        // a display name; may be ""
	Scopes []string      // nil: all of the caller's
	Agent  string        // id or name, made when the name is new; "": the caller's, else none
	TTL    time.Duration // 0: does not expire
}

// CreatedKey is a key with its text, which is known only now.
type CreatedKey struct {
	Key
	Text string
}

// Create makes a key that is never wider than the scope. Invalid for unknown
// scopes, a bad name or TTL, an unknown agent id; Forbidden for scopes that
// the caller lacks and for another agent than the caller's.
func (k *Keys) Create(ctx context.Context, s tenant.Scope, n NewKey) (CreatedKey, error) {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return CreatedKey{}, err
	}
	perms, err := narrow(s.Permissions(), n.Scopes)
	if err != nil {
		return CreatedKey{}, err
	}
	key, text, err := k.draw(s.Tenant(), n.Name, n.TTL)
	if err != nil {
		return CreatedKey{}, err
	}
	key.Permissions = perms
	agent, err := narrowAgent(ctx, k.deps.Agents, s, n.Agent)
	if err != nil {
		return CreatedKey{}, err
	}
	key.Agent, key.AgentName = agent.ID, agent.Name
	if err := k.deps.Keys.CreateKey(ctx, s, key, audit("key.create", key, map[string]any{"scopes": perms, "agent": agent.Name})); err != nil {
		return CreatedKey{}, err
	}
	return CreatedKey{Key: key, Text: text.text()}, nil
}

// draw makes a key without permissions and its text.
func (k *Keys) draw(tenantID uuid.UUID, name string, ttl time.Duration) (Key, keyText, error) {
	if err := tenant.CheckDisplayName("display_name", name); err != nil {
		return Key{}, keyText{}, err
	}
	if ttl < 0 || ttl > MaxKeyTTL {
		return Key{}, keyText{}, fault.InvalidField("ttl_seconds", "must be positive and at most 100 years")
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Key{}, keyText{}, fault.Wrap(err, fault.Internal, "no id for the key")
	}
	text, err := newKeyText(k.cfg.Env, tenantID, id)
	if err != nil {
		return Key{}, keyText{}, fault.Wrap(err, fault.Internal, "no secret for the key")
	}
	key := Key{ID: id, Tenant: tenantID, Name: name, Prefix: text.prefix(), Hash: text.hash(), CreatedAt: k.now()}
	if ttl > 0 {
		key.ExpiresAt = key.CreatedAt.Add(ttl)
	}
	return key, text, nil
}

// KeyQuery pages through keys.
type KeyQuery struct {
	Agent string    // only keys of this agent, id or name; "": all
	After uuid.UUID // the last id seen; zero: from the start
	Limit int
}

// listPage is how many keys are read at once.
const listPage = 200

// List gives keys by id, revoked and expired ones included. An unknown agent
// is NotFound.
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

// Get finds a key by id.
func (k *Keys) Get(ctx context.Context, s tenant.Scope, id uuid.UUID) (Key, error) {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return Key{}, err
	}
	key, err := k.deps.Keys.KeyByID(ctx, s.Tenant(), id)
	if err == nil {
		err = reaches(s, key)
	}
	if err != nil {
		return Key{}, absent(err)
	}
	return key, nil
}

// Rotate makes a new key with the name, scopes, agent and expiry of an old
// one, which works on for the overlap: nil is the configured one, zero ends it
// at once. Conflict when the old key is expired, revoked or already rotated;
// Forbidden when it holds a scope that the caller lacks.
func (k *Keys) Rotate(ctx context.Context, s tenant.Scope, id uuid.UUID, overlap *time.Duration) (CreatedKey, error) {
	old, err := k.Get(ctx, s, id)
	if err != nil {
		return CreatedKey{}, err
	}
	for _, p := range old.Permissions {
		if !s.Allows(p) {
			// Or an administrator's key could be turned into a wider one.
			return CreatedKey{}, fault.New(fault.Forbidden, "the key to rotate holds the scope %q, which the credential lacks", p)
		}
	}
	span, err := k.overlap(overlap)
	if err != nil {
		return CreatedKey{}, err
	}
	if err := rotatable(&old, k.now()); err != nil {
		return CreatedKey{}, err
	}
	key, text, err := k.draw(old.Tenant, old.Name, 0)
	if err != nil {
		return CreatedKey{}, err
	}
	key.Permissions, key.Agent, key.AgentName, key.ExpiresAt = old.Permissions, old.Agent, old.AgentName, old.ExpiresAt
	// The new key first: should the second step fail, nothing was lost and
	// nobody has seen the new key's secret.
	if err := k.deps.Keys.CreateKey(ctx, s, key, audit("key.create", key, map[string]any{"rotates": old.ID})); err != nil {
		return CreatedKey{}, err
	}
	_, err = k.deps.Keys.UpdateKey(ctx, s, old.ID, audit("key.rotate", old, map[string]any{"to": key.ID, "overlap_seconds": int64(span / time.Second)}),
		func(o *Key) error { return retire(o, key.ID, k.now(), span) })
	k.status.forgetKey(old.Tenant, old.ID)
	if err != nil {
		if _, undo := k.revoke(context.WithoutCancel(ctx), s, key.ID); undo != nil {
			k.deps.Logger.WarnContext(ctx, "a key made by a failed rotation is left over", "key", key.ID, "error", undo)
		}
		return CreatedKey{}, err
	}
	return CreatedKey{Key: key, Text: text.text()}, nil
}

// Revoke ends a key at once, in this process now and in others within
// StatusTTL, and with it every token made from it. Revoking a revoked key
// changes nothing.
func (k *Keys) Revoke(ctx context.Context, s tenant.Scope, id uuid.UUID) (Key, error) {
	old, err := k.Get(ctx, s, id)
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
		if err := reaches(s, *o); err != nil {
			return err
		}
		end(o, k.now())
		return nil
	})
	k.status.forgetKey(s.Tenant(), id)
	return key, absent(err)
}

func (k *Keys) overlap(asked *time.Duration) (time.Duration, error) {
	switch {
	case asked == nil:
		return k.cfg.KeyOverlap, nil
	case *asked < 0 || *asked > MaxKeyOverlap:
		return 0, fault.InvalidField("overlap_seconds", "must be between 0 and %d", int64(MaxKeyOverlap/time.Second))
	default:
		return *asked, nil
	}
}

func (k *Keys) now() time.Time { return k.deps.Clock().UTC().Truncate(time.Microsecond) }

// reaches refuses a key of another agent than the scope's as if it were absent.
func reaches(s tenant.Scope, key Key) error {
	if key.Tenant != s.Tenant() || s.HasAgent() && key.Agent != s.Agent() {
		return fault.Missing("API key")
	}
	return nil
}

// absent tells every key that is not there by one sentence, whoever noticed.
func absent(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Missing("API key")
	}
	return err
}

// rotatable refuses a key that is at its end (Conflict).
func rotatable(key *Key, now time.Time) error {
	switch {
	case key.RotatedTo != uuid.Nil:
		return fault.New(fault.Conflict, "the key was rotated before")
	case !key.RevokedAt.IsZero():
		return fault.New(fault.Conflict, "the key is revoked")
	case key.expiredAt(now):
		return fault.New(fault.Conflict, "the key has expired")
	}
	return nil
}

// retire lets a key end after the overlap, in favor of another.
func retire(key *Key, next uuid.UUID, now time.Time, overlap time.Duration) error {
	if err := rotatable(key, now); err != nil {
		return err
	}
	key.RotatedTo = next
	end(key, now.Add(overlap))
	return nil
}

// end revokes a key at a time, unless it ends earlier already.
func end(key *Key, at time.Time) {
	if key.RevokedAt.IsZero() || key.RevokedAt.After(at) {
		key.RevokedAt = at
	}
}

func (k *Key) expiredAt(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }
func (k *Key) revokedAt(now time.Time) bool { return !k.RevokedAt.IsZero() && !now.Before(k.RevokedAt) }

// Check refuses a key that has expired or is revoked (Unauthenticated).
func (k *Key) Check(now time.Time) error {
	switch {
	case k.revokedAt(now):
		return fault.New(fault.Unauthenticated, "the API key is revoked; `gateway key create` makes another")
	case k.expiredAt(now):
		return fault.New(fault.Unauthenticated, "the API key has expired; `gateway key create` makes another")
	}
	return nil
}

func audit(action string, key Key, detail map[string]any) memory.AuditEntry {
	return memory.AuditEntry{Action: action, Target: key.ID.String(), Detail: detail}
}

// narrow checks asked scopes against those held: nil means all of them, an
// empty or unknown list is Invalid, a wider one Forbidden.
func narrow(held []tenant.Permission, asked []string) ([]tenant.Permission, error) {
	if asked == nil {
		return held, nil
	}
	if len(asked) == 0 {
		return nil, fault.InvalidField("scopes", "must not be empty; leave it out for all")
	}
	perms, err := tenant.ParsePermissions("scopes", asked)
	if err != nil {
		return nil, err
	}
	for _, p := range perms {
		if !slices.Contains(held, p) {
			return nil, fault.New(fault.Forbidden, "the credential lacks the scope %q and cannot hand it on", p)
		}
	}
	slices.Sort(perms)
	return perms, nil
}

// narrowAgent finds the agent that a new credential is bound to: the scope's
// own, else the asked one (made when its name is new), else none.
func narrowAgent(ctx context.Context, agents AgentStore, s tenant.Scope, ref string) (tenant.Agent, error) {
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
