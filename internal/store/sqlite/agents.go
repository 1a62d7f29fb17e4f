package sqlite

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
	return first(q.agents(ctx, "tenant = ? AND id = ?", tenantID, id))
}

// AgentByName implements store.AgentRows.
func (q *session) AgentByName(ctx context.Context, tenantID uuid.UUID, name string) (tenant.Agent, bool, error) {
	return first(q.agents(ctx, "tenant = ? AND name = ?", tenantID, name))
}

// AgentsAfter implements store.AgentRows.
func (q *session) AgentsAfter(ctx context.Context, tenantID, only uuid.UUID, name string, n int) ([]tenant.Agent, error) {
	return q.agents(ctx, "tenant = ?1 AND name > ?2 AND (?3 = zeroblob(16) OR id = ?3) ORDER BY name LIMIT +?4", tenantID, name, only, limit(n))
}

// InsertAgent implements store.AgentRows.
func (q *session) InsertAgent(ctx context.Context, tenantID uuid.UUID, a tenant.Agent) error {
	_, taken, err := q.AgentByName(ctx, tenantID, a.Name)
	if err != nil {
		return err
	}
	if taken {
		return fault.New(fault.Exists, "an agent with the name %q exists", a.Name)
	}
	_, err = q.exec(ctx, "INSERT INTO agents (tenant, id, name, display_name, created_at) VALUES (?, ?, ?, ?, ?)", tenantID, a.ID, a.Name, a.DisplayName, a.CreatedAt)
	return err
}

// DeleteAgent implements store.AgentRows.
func (q *session) DeleteAgent(ctx context.Context, tenantID, id uuid.UUID) error {
	for _, text := range []string{
		"DELETE FROM grants WHERE tenant = ? AND agent = ?",
		"DELETE FROM api_keys WHERE tenant = ? AND agent = ?",
		"DELETE FROM idempotency WHERE tenant = ? AND agent = ?",
		"DELETE FROM agents WHERE tenant = ? AND id = ?",
	} {
		if _, err := q.exec(ctx, text, tenantID, id); err != nil {
			return err
		}
	}
	return nil
}

// CollectionOfAgent implements store.AgentRows.
func (q *session) CollectionOfAgent(ctx context.Context, tenantID, agent uuid.UUID) (id uuid.UUID, ok bool, err error) {
	ok, err = q.get(ctx, "SELECT id FROM collections WHERE tenant = ? AND agent = ? AND state <> 'deleting' LIMIT 1", []any{tenantID, agent}, &id)
	return id, ok, err
}
