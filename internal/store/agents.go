package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AgentRows are the rows of a tenant's agents.
type AgentRows interface {
	AgentByID(ctx context.Context, tenantID, id uuid.UUID) (a tenant.Agent, ok bool, err error)
	AgentByName(ctx context.Context, tenantID uuid.UUID, name string) (a tenant.Agent, ok bool, err error)
	// AgentsAfter lists agents by name, after a name; only the one with the id unless it is zero.
	// Limit 0: all.
	AgentsAfter(ctx context.Context, tenantID, only uuid.UUID, name string, limit int) ([]tenant.Agent, error)
	// InsertAgent returns Exists when the name is taken.
	InsertAgent(ctx context.Context, tenantID uuid.UUID, a tenant.Agent) error
	// DeleteAgent deletes an agent with its keys, their grants and its idempotency keys.
	DeleteAgent(ctx context.Context, tenantID, id uuid.UUID) error
	// CollectionOfAgent returns a collection of the agent that is not being deleted.
	CollectionOfAgent(ctx context.Context, tenantID, agent uuid.UUID) (id uuid.UUID, ok bool, err error)
}

// ScanAgent reads the columns id, name, display_name and created_at.
func ScanAgent(row Scanner) (a tenant.Agent, err error) {
	err = row.Scan(&a.ID, &a.Name, &a.DisplayName, Time(&a.CreatedAt))
	return a, err
}

// newAgent checks the names of an agent and sets its id.
func newAgent(name, display string, now time.Time) (a tenant.Agent, err error) {
	if err := checkName("name", name); err != nil {
		return a, err
	}
	if err := Text("display_name", display); err != nil {
		return a, err
	}
	id, err := uuid.NewV7()
	return tenant.Agent{ID: id, Name: name, DisplayName: display, CreatedAt: now}, err
}

// agentByRef finds an agent by id or name. A scope bound to an agent finds only that agent, and a limited one no other.
func agentByRef(ctx context.Context, q AgentRows, s tenant.Scope, ref string) (a tenant.Agent, err error) {
	var ok bool
	if id, e := uuid.Parse(ref); e == nil {
		a, ok, err = q.AgentByID(ctx, s.Tenant(), id)
	} else {
		a, ok, err = q.AgentByName(ctx, s.Tenant(), ref)
	}
	if err != nil {
		return tenant.Agent{}, err
	}
	if !ok || !s.Reaches(a.ID) || !s.Limit().IsZero() && a.ID != s.Agent() {
		return tenant.Agent{}, fault.Missing("agent")
	}
	return a, nil
}

// insertAgent adds an agent; Exists when the name is taken.
func (b *Base) insertAgent(ctx context.Context, s tenant.Scope, a tenant.Agent) error {
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		if !s.IsWhole() {
			// Other agents are out of its reach, whether they exist or not.
			return fault.Missing("agent")
		}
		if err := q.CheckTenant(ctx, s.Tenant()); err != nil {
			return err
		}
		return q.InsertAgent(ctx, s.Tenant(), a)
	})
}

// EnsureAgent implements tenant.AgentStore. When several callers add the same agent concurrently, the
// first one adds it and the others find it.
func (b *Base) EnsureAgent(ctx context.Context, s tenant.Scope, name string) (a tenant.Agent, err error) {
	if err := s.Check(); err != nil {
		return a, err
	}
	// The agent nearly always exists.
	if a, err = b.AgentByRef(ctx, s, name); err == nil || !fault.Is(err, fault.NotFound) {
		return a, err
	}
	if _, e := uuid.Parse(name); e == nil {
		return a, err // an id names nothing new
	}
	if err := checkName("agent", name); err != nil {
		return a, err
	}
	if a, err = newAgent(name, "", b.now()); err != nil {
		return a, err
	}
	err = b.insertAgent(ctx, s, a)
	if fault.Is(err, fault.Exists) {
		return b.AgentByRef(ctx, s, name)
	}
	if err != nil {
		return tenant.Agent{}, err
	}
	return a, nil
}

// CreateAgent implements tenant.AgentStore.
func (b *Base) CreateAgent(ctx context.Context, s tenant.Scope, n tenant.Agent) (tenant.Agent, error) {
	a, err := newAgent(n.Name, n.DisplayName, b.now())
	if err != nil {
		return tenant.Agent{}, err
	}
	if err := b.insertAgent(ctx, s, a); err != nil {
		return tenant.Agent{}, err
	}
	return a, nil
}

// AgentByRef implements tenant.AgentStore.
func (b *Base) AgentByRef(ctx context.Context, s tenant.Scope, ref string) (tenant.Agent, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) (tenant.Agent, error) {
		return agentByRef(ctx, q, s, ref)
	})
}

// ListAgents implements tenant.AgentStore.
func (b *Base) ListAgents(ctx context.Context, s tenant.Scope, after string, limit int) ([]tenant.Agent, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]tenant.Agent, error) {
		return q.AgentsAfter(ctx, s.Tenant(), s.Reader(), after, limit)
	})
}

// DeleteAgent implements tenant.AgentStore. Forks that others made of its collections become
// independent.
func (b *Base) DeleteAgent(ctx context.Context, s tenant.Scope, id uuid.UUID) error {
	for {
		var next uuid.UUID
		var found bool
		err := b.free(ctx, s, func(ctx context.Context, q Session) error {
			// Waits for transactions that add something of the agent's.
			q.LockAgent(s.Tenant(), id)
			if _, err := agentByRef(ctx, q, s, id.String()); err != nil {
				return err
			}
			if !s.Limit().IsZero() {
				return fault.Missing("agent")
			}
			var err error
			if next, found, err = q.CollectionOfAgent(ctx, s.Tenant(), id); err != nil || found {
				return err
			}
			return q.DeleteAgent(ctx, s.Tenant(), id)
		})
		if err != nil || !found {
			return err
		}
		audit := memory.AuditEntry{Action: "collection.delete", Detail: map[string]any{"agent": id.String()}}
		if _, err := b.DeleteCollection(ctx, s, next, true, audit); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
}
