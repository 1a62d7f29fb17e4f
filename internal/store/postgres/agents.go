package postgres

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) agents(ctx context.Context, where string, args ...any) ([]tenant.Agent, error) {
	return collect(ctx, q, "SELECT id, name, display_name, created_at FROM agents WHERE "+where, args, store.ScanAgent)
}

// AgentByID implements store.AgentRows.
func (q *session) AgentByID(ctx context.Context, tenantID, id uuid.UUID) (tenant.Agent, bool, error) {
	return first(q.agents(ctx, "tenant = $1 AND id = $2", tenantID, id))
}

// AgentByName implements store.AgentRows.
func (q *session) AgentByName(ctx context.Context, tenantID uuid.UUID, name string) (tenant.Agent, bool, error) {
	return first(q.agents(ctx, "tenant = $1 AND name = $2", tenantID, store.Clean(name)))
}

// AgentsAfter implements store.AgentRows.
func (q *session) AgentsAfter(ctx context.Context, tenantID, only uuid.UUID, name string, n int) ([]tenant.Agent, error) {
	p := params{args: []any{tenantID, store.Clean(name), limit(n)}}
	where := "tenant = $1 AND name > $2"
	if only != uuid.Nil {
		where += " AND id = " + p.add(only)
	}
	return q.agents(ctx, where+" ORDER BY name LIMIT $3", p.args...)
}

// InsertAgent implements store.AgentRows.
func (q *session) InsertAgent(ctx context.Context, tenantID uuid.UUID, a tenant.Agent) error {
	_, err := q.exec(ctx, "INSERT INTO agents (tenant, id, name, display_name, created_at) VALUES ($1, $2, $3, $4, $5)",
		tenantID, a.ID, a.Name, a.DisplayName, a.CreatedAt)
	if isUniqueViolation(err, "agents_name") {
		err = fault.New(fault.Exists, "an agent with the name %q exists", a.Name)
	}
	return err
}

// DeleteAgent implements store.AgentRows.
func (q *session) DeleteAgent(_ context.Context, tenantID, id uuid.UUID) error {
	q.later("DELETE FROM grants WHERE tenant = $1 AND agent = $2", tenantID, id)
	q.later("DELETE FROM api_keys WHERE tenant = $1 AND agent = $2", tenantID, id)
	q.later("DELETE FROM idempotency WHERE tenant = $1 AND agent = $2", tenantID, id)
	q.later("DELETE FROM agents WHERE tenant = $1 AND id = $2", tenantID, id)
	return nil
}

// CollectionOfAgent implements store.AgentRows.
func (q *session) CollectionOfAgent(ctx context.Context, tenantID, agent uuid.UUID) (id uuid.UUID, ok bool, err error) {
	ok, err = q.get(ctx, "SELECT id FROM collections WHERE tenant = $1 AND agent = $2 AND state <> 'deleting' LIMIT 1", []any{tenantID, agent}, &id)
	return id, ok, err
}
