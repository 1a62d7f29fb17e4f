package store

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// TenantRemoval removes a tenant.
type TenantRemoval interface {
	// MarkTenantDeleted waits for all who write to the tenant, marks the tenant and its
	// collections as deleting, and deletes its jobs. ok is false when there is no such tenant.
	MarkTenantDeleted(ctx context.Context, id uuid.UUID) (ok bool, err error)
	// DeleteTenantRows deletes up to limit rows of a tenant, and the tenant after its last row;
	// then gone is true. Those who remove one tenant concurrently take turns.
	DeleteTenantRows(ctx context.Context, id uuid.UUID, limit int) (gone bool, err error)
}

// removalBatch is how many rows one transaction of a removal deletes.
const removalBatch = 2000

func tenants(ctx context.Context, q Conn, where string, args ...any) ([]tenant.Tenant, error) {
	return collect(ctx, q, "SELECT id, name, state, limits, allowed_hosts, created_at FROM tenants WHERE "+where, args, func(row Scanner) (t tenant.Tenant, err error) {
		err = row.Scan(&t.ID, &t.Name, &t.State, JSON(&t.Limits), &t.AllowedHosts, Time(&t.CreatedAt))
		return t, err
	})
}

// oneTenant returns the tenant of a condition, unless it is being removed.
func oneTenant(ctx context.Context, q Conn, where string, arg any) (tenant.Tenant, error) {
	t, ok, err := First(tenants(ctx, q, where+" = $1 AND state <> 'deleting'", arg))
	if err == nil && !ok {
		err = fault.Missing("tenant")
	}
	return t, err
}

// CheckTenant returns NotFound when the tenant is absent or being removed. Until the transaction ends it cannot be removed.
func CheckTenant(ctx context.Context, q Session, id uuid.UUID) error {
	q.HoldTenant(id)
	_, err := oneTenant(ctx, q, "id", id)
	return err
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

// TenantByID implements tenant.Directory.
func (b *Base) TenantByID(ctx context.Context, id uuid.UUID) (tenant.Tenant, error) {
	return readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) (tenant.Tenant, error) { return oneTenant(ctx, q, "id", id) })
}

// TenantByName implements tenant.AdminStore.
func (b *Base) TenantByName(ctx context.Context, op tenant.Operator, name string) (t tenant.Tenant, err error) {
	if err := op.Check(); err != nil {
		return t, err
	}
	return readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) (tenant.Tenant, error) {
		return oneTenant(ctx, q, "name", Clean(name))
	})
}

// ListTenants implements tenant.AdminStore.
func (b *Base) ListTenants(ctx context.Context, op tenant.Operator, after string, limit int) ([]tenant.Tenant, error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	return readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) ([]tenant.Tenant, error) {
		return tenants(ctx, q, "state <> 'deleting' AND name > $1 ORDER BY name"+atMost("$2"), Clean(after), Limit(limit))
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
	limits, err := Document("limits", t.Limits)
	if err != nil {
		return tenant.Tenant{}, err
	}
	err = b.transactions.Writing(ctx, uuid.Nil, func(ctx context.Context, q Session) error {
		n, err := q.Exec(ctx, "INSERT INTO tenants (id, name, state, limits, allowed_hosts, created_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
			t.ID, t.Name, string(t.State), limits, t.AllowedHosts, t.CreatedAt)
		return inserted(n, err, fault.New(fault.Exists, "a tenant with the name %q exists", t.Name))
	})
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
	limits, err := Document("limits", t.Limits)
	if err != nil {
		return out, err
	}
	err = b.transactions.Writing(ctx, uuid.Nil, func(ctx context.Context, q Session) error {
		err := q.Later(ctx, "UPDATE tenants SET state = $2, limits = $3, allowed_hosts = $4 WHERE id = $1 AND state <> 'deleting'", t.ID, string(t.State), limits, t.AllowedHosts)
		if err != nil {
			return err
		}
		out, err = oneTenant(ctx, q, "id", t.ID)
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
	left, err := readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) ([]tenant.Tenant, error) {
		return tenants(ctx, q, "state = 'deleting' ORDER BY id LIMIT 100")
	})
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
