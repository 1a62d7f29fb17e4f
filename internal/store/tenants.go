package store

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// TenantRows are the rows of tenants. Those that are being removed are found only by
// MarkTenantDeleted and TenantsDeleting.
type TenantRows interface {
	TenantByID(ctx context.Context, id uuid.UUID) (t tenant.Tenant, ok bool, err error)
	TenantByName(ctx context.Context, name string) (t tenant.Tenant, ok bool, err error)
	// TenantsAfter lists tenants by name, after a name. Limit 0: all.
	TenantsAfter(ctx context.Context, name string, limit int) ([]tenant.Tenant, error)
	// InsertTenant returns Exists when the id or the name is taken.
	InsertTenant(ctx context.Context, t tenant.Tenant) error
	// UpdateTenant writes state, limits and allowed hosts.
	UpdateTenant(ctx context.Context, t tenant.Tenant) error
	TenantRemoval
}

// TenantRemoval removes a tenant.
type TenantRemoval interface {
	// CheckTenant returns NotFound when the tenant is absent or being removed. Until the
	// transaction ends it cannot be removed.
	CheckTenant(ctx context.Context, id uuid.UUID) error
	// MarkTenantDeleted waits for all who write to the tenant, marks the tenant and its
	// collections as deleting, and deletes its jobs. ok is false when there is no such tenant.
	MarkTenantDeleted(ctx context.Context, id uuid.UUID) (ok bool, err error)
	// TenantsDeleting returns some tenants that are being removed.
	TenantsDeleting(ctx context.Context) ([]tenant.Tenant, error)
	// DeleteTenantRows deletes up to limit rows of a tenant, and the tenant after its last row;
	// then gone is true. Those who remove one tenant concurrently take turns.
	DeleteTenantRows(ctx context.Context, id uuid.UUID, limit int) (gone bool, err error)
}

// removalBatch is how many rows one transaction of a removal deletes.
const removalBatch = 2000

// ScanTenant reads the columns id, name, state, limits, allowed_hosts and created_at.
func ScanTenant(row Scanner) (t tenant.Tenant, err error) {
	err = row.Scan(&t.ID, &t.Name, &t.State, JSON(&t.Limits), &t.AllowedHosts, Time(&t.CreatedAt))
	return t, err
}

// newTenant checks a tenant and sets the id and the state that it lacks.
func newTenant(t *tenant.Tenant, now time.Time) (err error) {
	if err := checkName("name", t.Name); err != nil {
		return err
	}
	if err := Text("allowed_hosts", t.AllowedHosts); err != nil {
		return err
	}
	if t.State == tenant.Deleting {
		return fault.InvalidField("state", "a tenant is not made to be deleted")
	}
	t.State, t.CreatedAt = cmp.Or(t.State, tenant.Active), now
	if t.ID == uuid.Nil {
		t.ID, err = uuid.NewV7()
	}
	return err
}

func tenantByID(ctx context.Context, q TenantRows, id uuid.UUID) (tenant.Tenant, error) {
	t, ok, err := q.TenantByID(ctx, id)
	if err == nil && !ok {
		err = fault.Missing("tenant")
	}
	return t, err
}

// TenantByID implements tenant.Directory.
func (b *Base) TenantByID(ctx context.Context, id uuid.UUID) (tenant.Tenant, error) {
	return readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) (tenant.Tenant, error) { return tenantByID(ctx, q, id) })
}

// TenantByName implements tenant.AdminStore.
func (b *Base) TenantByName(ctx context.Context, op tenant.Operator, name string) (t tenant.Tenant, err error) {
	if err := op.Check(); err != nil {
		return t, err
	}
	return readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) (tenant.Tenant, error) {
		t, ok, err := q.TenantByName(ctx, name)
		if err == nil && !ok {
			err = fault.Missing("tenant")
		}
		return t, err
	})
}

// ListTenants implements tenant.AdminStore.
func (b *Base) ListTenants(ctx context.Context, op tenant.Operator, after string, limit int) ([]tenant.Tenant, error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	return readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) ([]tenant.Tenant, error) {
		return q.TenantsAfter(ctx, after, limit)
	})
}

// CreateTenant implements tenant.AdminStore. A zero ID makes a new one.
func (b *Base) CreateTenant(ctx context.Context, op tenant.Operator, t tenant.Tenant) (tenant.Tenant, error) {
	if err := op.Check(); err != nil {
		return tenant.Tenant{}, err
	}
	if err := newTenant(&t, b.now()); err != nil {
		return tenant.Tenant{}, err
	}
	err := b.transactions.Writing(ctx, uuid.Nil, func(ctx context.Context, q Session) error { return q.InsertTenant(ctx, t) })
	if err != nil {
		return tenant.Tenant{}, err
	}
	return t, nil
}

// UpdateTenant implements tenant.AdminStore.
func (b *Base) UpdateTenant(ctx context.Context, op tenant.Operator, t tenant.Tenant) (out tenant.Tenant, err error) {
	if err := op.Check(); err != nil {
		return out, err
	}
	if t.State != tenant.Active && t.State != tenant.Suspended {
		return out, fault.InvalidField("state", "must be %q or %q", tenant.Active, tenant.Suspended)
	}
	if err := Text("allowed_hosts", t.AllowedHosts); err != nil {
		return out, err
	}
	err = b.transactions.Writing(ctx, uuid.Nil, func(ctx context.Context, q Session) error {
		if err := q.UpdateTenant(ctx, t); err != nil {
			return err
		}
		out, err = tenantByID(ctx, q, t.ID)
		return err
	})
	return out, err
}

// DeleteTenant implements tenant.AdminStore. It may be called again after an interruption.
func (b *Base) DeleteTenant(ctx context.Context, op tenant.Operator, id uuid.UUID) error {
	if err := op.Check(); err != nil {
		return err
	}
	if id == uuid.Nil {
		return fault.Missing("tenant") // the platform's keys have the zero tenant
	}
	err := b.transactions.Freeing(ctx, id, func(ctx context.Context, q Session) error {
		ok, err := q.MarkTenantDeleted(ctx, id)
		if err == nil && !ok {
			err = fault.Missing("tenant")
		}
		return err
	})
	if err != nil {
		return err
	}
	return b.removeTenant(ctx, id)
}

// EndTenantDeletions implements tenant.AdminStore.
func (b *Base) EndTenantDeletions(ctx context.Context, op tenant.Operator) error {
	if err := op.Check(); err != nil {
		return err
	}
	left, err := readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) ([]tenant.Tenant, error) { return q.TenantsDeleting(ctx) })
	for i := 0; i < len(left) && err == nil; i++ {
		err = b.removeTenant(ctx, left[i].ID)
	}
	return err
}

// removeTenant removes the rows of a tenant that is marked.
func (b *Base) removeTenant(ctx context.Context, id uuid.UUID) error {
	for gone := false; !gone; {
		err := b.transactions.Freeing(ctx, id, func(ctx context.Context, q Session) (err error) {
			gone, err = q.DeleteTenantRows(ctx, id, removalBatch)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
