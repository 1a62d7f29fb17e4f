package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// NewKey is the input for a new key.
type NewKey = auth.NewKey

// Limit is whose memory a key is for.
type Limit = tenant.Limit

// CreatedKey is a new key with its text, which is returned only once.
type CreatedKey = auth.CreatedKey

// Key is a stored key.
type Key = auth.Key

// DefaultTenant is the tenant that the first start creates.
const DefaultTenant = "default"

// operatorCLI is the actor of audit rows written by commands.
const operatorCLI = "operator:cli"

// Admin manages tenants and keys for the administrative commands. It works while a server runs
// and without one.
type Admin struct {
	store   store.Store
	tenants *tenant.Service
	auth    *auth.Service
	op      tenant.Operator
	cfg     Settings
	log     *slog.Logger
}

// tenantError adds to a NotFound how to list the tenants.
func tenantError(err error, ref string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "there is no tenant %q; `gateway tenant list` lists the tenants", ref)
	}
	return err
}

// OpenAdmin opens the store for administration.
func OpenAdmin(ctx context.Context, cfg Settings, log *slog.Logger) (*Admin, error) {
	st, err := openToolStore(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	creds, tenants, _, err := newAccess(st, cfg, time.Now, log, nil)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &Admin{store: st, tenants: tenants, auth: creds, op: grant.Operator(operatorCLI), cfg: cfg, log: log}, nil
}

// newAccess builds credentials and tenants over a store. forget is called when a tenant has
// changed; when it is nil, only cached credentials are dropped.
func newAccess(st store.Store, cfg Settings, clock memory.Clock, log *slog.Logger, forget func(uuid.UUID)) (*auth.Service, *tenant.Service, *auth.TenantLedger, error) {
	secret, err := wrappingSecret(cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	creds, err := auth.New(
		auth.Deps{Keys: st, SigningKeys: st, Grants: st, Directory: st, Agents: st, Clock: clock, Logger: log},
		auth.Config{
			Env: cfg.Auth.Env, Issuer: cfg.Auth.Issuer, Audience: cfg.Auth.Audience, Secret: secret,
			TokenTTL: cfg.Auth.TokenTTL, SigningKeyAge: cfg.Auth.SigningKeyAge,
		})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("set up credentials: %w", err)
	}
	ledger, err := auth.NewTenantLedger(st, clock)
	if err != nil {
		return nil, nil, nil, err
	}
	if forget == nil {
		forget = creds.Forget
	}
	tenants, err := tenant.NewService(tenant.ServiceDeps{
		Admin: st, Directory: st, Audit: ledger, Clock: clock, Logger: log, OnChange: forget,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return creds, tenants, ledger, nil
}

// Close releases the store.
func (a *Admin) Close() error { return a.store.Close() }

// CreateTenant creates a tenant.
func (a *Admin) CreateTenant(ctx context.Context, name string) (tenant.Tenant, error) {
	return a.tenants.Create(ctx, a.op, tenant.NewTenant{Name: name})
}

// Tenants lists every tenant, by name.
func (a *Admin) Tenants(ctx context.Context) ([]tenant.Tenant, error) {
	return allPages(func(after string, limit int) ([]tenant.Tenant, error) { return a.tenants.List(ctx, a.op, after, limit) },
		func(t *tenant.Tenant) string { return t.Name })
}

// SuspendTenant disables every key and token of a tenant until ResumeTenant.
func (a *Admin) SuspendTenant(ctx context.Context, ref string) error {
	_, err := a.tenants.Suspend(ctx, a.op, ref)
	return tenantError(err, ref)
}

// ResumeTenant ends a suspension.
func (a *Admin) ResumeTenant(ctx context.Context, ref string) error {
	_, err := a.tenants.Resume(ctx, a.op, ref)
	return tenantError(err, ref)
}

// DeleteTenant deletes a tenant with all its data. Serving processes drop what they hold of it within a minute, and soon if a Redis
// tells them.
func (a *Admin) DeleteTenant(ctx context.Context, ref string) error {
	t, err := a.tenants.Get(ctx, a.op, ref)
	if err == nil {
		err = a.tenants.Delete(ctx, a.op, t.ID.String())
	}
	if err != nil {
		return tenantError(err, ref)
	}
	// A smaller file is vacuumed when the command ends.
	if traces, err := a.store.Traces(ctx); err == nil && traces == memory.TracesVacuumNeeded {
		a.log.WarnContext(ctx, "gaps of the database's file may keep pieces of what was deleted", "fix", "run `gateway vacuum`")
	}
	if err := forgetEverywhere(ctx, a.cfg, a.log, t.ID); err != nil {
		a.log.WarnContext(ctx, "the tenant is deleted; caches and index files could not all be removed: serving processes do it within a minute", "error", err)
	}
	return nil
}

// wholeTenant returns a scope for every agent of a tenant with all permissions.
func wholeTenant(id uuid.UUID, actor string) tenant.Scope {
	return grant.Scope(id, uuid.Nil, actor, tenant.AllPermissions()...)
}

// scope returns a scope for a whole tenant, for use on the command line.
func (a *Admin) scope(ctx context.Context, tenantRef string) (tenant.Scope, error) {
	t, err := a.tenants.Get(ctx, a.op, tenantRef)
	if err != nil {
		return tenant.Scope{}, tenantError(err, tenantRef)
	}
	return wholeTenant(t.ID, operatorCLI), nil
}

// CreateKey creates a key of a tenant.
func (a *Admin) CreateKey(ctx context.Context, tenantRef string, n auth.NewKey) (auth.CreatedKey, error) {
	s, err := a.scope(ctx, tenantRef)
	if err != nil {
		return auth.CreatedKey{}, err
	}
	return a.auth.Keys.Create(ctx, s, n)
}

// CreateOperatorKey creates a platform key.
func (a *Admin) CreateOperatorKey(ctx context.Context, name string, ttl time.Duration) (auth.CreatedKey, error) {
	return a.auth.Keys.CreateOperator(ctx, a.op, name, ttl)
}

// TenantKey is a key with the name of its tenant. The name is "" for a platform key.
type TenantKey struct {
	auth.Key
	TenantName string
}

// Keys lists the keys of a tenant. When tenantRef is "", it lists the keys of all tenants and of
// the platform.
func (a *Admin) Keys(ctx context.Context, tenantRef string) ([]TenantKey, error) {
	var tenants []tenant.Tenant
	var out []TenantKey
	if tenantRef != "" {
		t, err := a.tenants.Get(ctx, a.op, tenantRef)
		if err != nil {
			return nil, tenantError(err, tenantRef)
		}
		tenants = []tenant.Tenant{t}
	} else {
		all, err := a.Tenants(ctx)
		if err != nil {
			return nil, err
		}
		tenants = all
		platform, err := allPages(func(after uuid.UUID, limit int) ([]auth.Key, error) {
			return a.auth.Keys.ListOperator(ctx, a.op, after, limit)
		}, keyID)
		if err != nil {
			return nil, err
		}
		for _, k := range platform {
			out = append(out, TenantKey{Key: k})
		}
	}
	for _, t := range tenants {
		s := wholeTenant(t.ID, operatorCLI)
		keys, err := allPages(func(after uuid.UUID, limit int) ([]auth.Key, error) {
			return a.auth.Keys.List(ctx, s, auth.KeyQuery{After: after, Limit: limit})
		}, keyID)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			out = append(out, TenantKey{Key: k, TenantName: t.Name})
		}
	}
	return out, nil
}

func keyID(k *auth.Key) uuid.UUID { return k.ID }

// allPages reads all pages of a list. Each begins after the cursor of the last item before.
func allPages[T, C any](read func(after C, limit int) ([]T, error), cursor func(*T) C) (out []T, err error) {
	const page = 200
	var after C
	for {
		part, err := read(after, page)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
		if len(part) < page {
			return out, nil
		}
		after = cursor(&part[len(part)-1])
	}
}

// findKey returns the key with an id or prefix.
func (a *Admin) findKey(ctx context.Context, ref string) (TenantKey, error) {
	keys, err := a.Keys(ctx, "")
	if err != nil {
		return TenantKey{}, err
	}
	for _, k := range keys {
		if k.ID.String() == ref || k.Prefix == ref {
			return k, nil
		}
	}
	return TenantKey{}, fault.New(fault.NotFound, "there is no key %q; `gateway key list` shows ids and prefixes", ref)
}

// RotateKey creates a key that replaces another one. The old key works for the overlap.
func (a *Admin) RotateKey(ctx context.Context, ref string, overlap *time.Duration) (auth.CreatedKey, error) {
	k, err := a.findKey(ctx, ref)
	if err != nil {
		return auth.CreatedKey{}, err
	}
	if k.TenantName == "" {
		return a.auth.Keys.RotateOperator(ctx, a.op, k.ID, overlap)
	}
	return a.auth.Keys.Rotate(ctx, wholeTenant(k.Tenant, operatorCLI), k.ID, overlap)
}

// RevokeKey revokes a key and every token made from it.
func (a *Admin) RevokeKey(ctx context.Context, ref string) error {
	k, err := a.findKey(ctx, ref)
	if err != nil {
		return err
	}
	if k.TenantName == "" {
		_, err = a.auth.Keys.RevokeOperator(ctx, a.op, k.ID)
		return err
	}
	_, err = a.auth.Keys.Revoke(ctx, wholeTenant(k.Tenant, operatorCLI), k.ID)
	return err
}
