package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// checkTenant makes sure that rows are not added to a tenant that is absent
// or being removed.
func (q *session) checkTenant(ctx context.Context, id uuid.UUID) error {
	var state string
	ok, err := q.get(ctx, "SELECT state FROM tenants WHERE id = $1", []any{id}, &state)
	if err != nil {
		return err
	}
	if !ok || tenant.State(state) == tenant.Deleting {
		return fault.Missing("tenant")
	}
	return nil
}

// reach finds a collection that the scope reaches, in any state.
func (q *session) reach(ctx context.Context, s tenant.Scope, id uuid.UUID) (row, error) {
	r, ok, err := q.collection(ctx, s.Tenant(), id)
	if err != nil {
		return row{}, err
	}
	if !ok || !s.Reaches(r.Agent) {
		return row{}, fault.Missing("collection")
	}
	return r, nil
}

// live finds a collection that the scope reaches and that is neither being
// removed nor expired.
func (q *session) live(ctx context.Context, s tenant.Scope, id uuid.UUID, now time.Time) (row, error) {
	r, err := q.reach(ctx, s, id)
	if err != nil {
		return row{}, err
	}
	if !store.Visible(&r.Collection, now) {
		return row{}, fault.Missing("collection")
	}
	return r, nil
}
