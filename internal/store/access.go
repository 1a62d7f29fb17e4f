package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// NewTenant checks a tenant and gives it the id and the state that it lacks.
func NewTenant(t *tenant.Tenant, now time.Time) (err error) {
	if err := CheckName("name", t.Name); err != nil {
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

// NewAgent checks the names of an agent and gives it an id.
func NewAgent(name, display string, now time.Time) (a tenant.Agent, err error) {
	if err := CheckName("name", name); err != nil {
		return a, err
	}
	if err := Text("display_name", display); err != nil {
		return a, err
	}
	id, err := uuid.NewV7()
	return tenant.Agent{ID: id, Name: name, DisplayName: display, CreatedAt: now}, err
}

// ChangeKey lets fn change a copy of a key.
func ChangeKey(k auth.Key, fn func(*auth.Key) error) (auth.Key, error) {
	k.Permissions = slices.Clone(k.Permissions)
	if err := fn(&k); err != nil {
		return k, err
	}
	return k, Text("name", k.Name)
}
