package store

import (
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// moveCheck checks that rows refer only to their own tenant. It keeps the ids of tenants, agents
// and collections.
type moveCheck struct {
	tenants     map[uuid.UUID]bool
	agents      tenantIDs
	collections tenantIDs
}

// tenantIDs maps ids to the tenants that have them.
type tenantIDs map[uuid.UUID][]uuid.UUID

func newMoveCheck() moveCheck {
	return moveCheck{tenants: map[uuid.UUID]bool{}, agents: tenantIDs{}, collections: tenantIDs{}}
}

func (o tenantIDs) has(tenantID, id uuid.UUID) bool {
	return slices.Contains(o[id], tenantID)
}

// isForeign reports whether an id is of another tenant and not of this one.
func (o tenantIDs) isForeign(tenantID, id uuid.UUID) bool {
	return len(o[id]) > 0 && !o.has(tenantID, id)
}

func (c *moveCheck) row(r Row) error {
	id := func(column string) uuid.UUID {
		v, _ := r.Values[r.Table.Index(column)].(uuid.UUID) // zero: there is no such value
		return v
	}
	switch r.Table.Name {
	case "tenants":
		if id("id") == uuid.Nil {
			return fault.New(fault.Invalid, "a tenant has no id")
		}
		c.tenants[id("id")] = true
		return nil
	case "signing_keys":
		return nil
	}
	t := id("tenant")
	switch {
	case t == uuid.Nil && !r.Table.platform:
		return fault.New(fault.Invalid, "it is of no tenant")
	case t != uuid.Nil && !c.tenants[t]:
		return fault.New(fault.Invalid, "its tenant %s is not in the file", t)
	}
	switch r.Table.Name {
	case "agents":
		c.agents[id("id")] = append(c.agents[id("id")], t)
	case "collections":
		c.collections[id("id")] = append(c.collections[id("id")], t)
	}
	if r.Table.Index("agent") >= 0 && c.agents.isForeign(t, id("agent")) {
		return fault.New(fault.Invalid, "its agent %s is another tenant's", id("agent"))
	}
	// Collections come before the rows that name them.
	if o := r.Table.owner; o != "" && !c.collections.has(t, id(o)) {
		return fault.New(fault.Invalid, "its collection %s is not one of its tenant %s; `gateway check` on the installation that the file comes from tells more", id(o), t)
	}
	if o := r.Table.mentions; o != "" && c.collections.isForeign(t, id(o)) {
		return fault.New(fault.Invalid, "its collection %s is another tenant's", id(o))
	}
	return nil
}

// RefusedRow returns the fault for a row that an engine does not accept, such as a second tenant
// with the same name.
func RefusedRow(err error, r Row) error {
	code := fault.CodeOf(err)
	if code == fault.Internal {
		code = fault.Invalid
	}
	return fault.Wrap(err, code, "a row of %s cannot be kept (key %v)", r.Table.Name, r.Values[:r.Table.Key])
}
