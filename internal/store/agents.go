package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// agents returns the agents of a tenant, which is $1 of the condition.
func agents(ctx context.Context, q Conn, where string, args ...any) ([]tenant.Agent, error) {
	return collect(ctx, q, "SELECT id, name, display_name, created_at FROM agents WHERE tenant = $1 AND "+where, args, func(row Scanner) (a tenant.Agent, err error) {
		err = row.Scan(&a.ID, &a.Name, &a.DisplayName, Time(&a.CreatedAt))
		return a, err
	})
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
func agentByRef(ctx context.Context, q Conn, s tenant.Scope, ref string) (tenant.Agent, error) {
	where, named := "name = $2", any(Clean(ref))
	if id, e := uuid.Parse(ref); e == nil {
		where, named = "id = $2", id
	}
	a, ok, err := First(agents(ctx, q, where, s.Tenant(), named))
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
		if err := CheckTenant(ctx, q, s.Tenant()); err != nil {
			return err
		}
		n, err := q.Exec(ctx, "INSERT INTO agents (tenant, id, name, display_name, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
			s.Tenant(), a.ID, a.Name, a.DisplayName, a.CreatedAt)
		return inserted(n, err, fault.New(fault.Exists, "an agent with the name %q exists", a.Name))
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
		where, args := "name > $2", []any{s.Tenant(), Clean(after), Limit(limit)}
		if only := s.Reader(); only != uuid.Nil {
			where, args = where+" AND id = $4", append(args, only)
		}
		return agents(ctx, q, where+" ORDER BY name"+atMost("$3"), args...)
	})
}

// DeleteAgent implements tenant.AgentStore. Forks that others made of its collections become
// independent.
func (b *Base) DeleteAgent(ctx context.Context, s tenant.Scope, id uuid.UUID) (jobs []uuid.UUID, err error) {
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
			next, found, err = First(collect(ctx, q, "SELECT id FROM collections WHERE tenant = $1 AND agent = $2 AND state <> 'deleting' LIMIT 1",
				[]any{s.Tenant(), id}, ScanOne[uuid.UUID]))
			if err != nil || found {
				return err
			}
			return all(ctx, q, []any{s.Tenant(), id},
				"DELETE FROM grants WHERE tenant = $1 AND agent = $2", "DELETE FROM api_keys WHERE tenant = $1 AND agent = $2",
				"DELETE FROM idempotency WHERE tenant = $1 AND agent = $2", "DELETE FROM agents WHERE tenant = $1 AND id = $2")
		})
		if err != nil || !found {
			return jobs, err
		}
		audit := memory.AuditEntry{Action: "collection.delete", Detail: map[string]any{"agent": id.String()}}
		job, err := b.DeleteCollection(ctx, s, next, true, audit)
		if err == nil {
			jobs = append(jobs, job.ID)
		} else if !fault.Is(err, fault.NotFound) {
			return jobs, err
		}
	}
}
