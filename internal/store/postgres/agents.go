package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (q *session) agents(ctx context.Context, where string, args ...any) (out []tenant.Agent, err error) {
	err = q.each(ctx, "SELECT id, name, display_name, created_at FROM agents WHERE "+where, args, func(rows pgx.Rows) error {
		var a tenant.Agent
		err := rows.Scan(&a.ID, &a.Name, &a.DisplayName, &a.CreatedAt)
		a.CreatedAt = a.CreatedAt.UTC()
		out = append(out, a)
		return err
	})
	return out, err
}

// agent finds an agent by id or name; a scope bound to an agent finds itself.
func (q *session) agent(ctx context.Context, sc tenant.Scope, ref string) (tenant.Agent, error) {
	where, arg := "tenant = $1 AND name = $2", any(store.Clean(ref))
	if id, err := uuid.Parse(ref); err == nil {
		where, arg = "tenant = $1 AND id = $2", id
	}
	found, err := q.agents(ctx, where, sc.Tenant(), arg)
	if err != nil {
		return tenant.Agent{}, err
	}
	if len(found) == 0 || !sc.Reaches(found[0].ID) {
		return tenant.Agent{}, fault.Missing("agent")
	}
	return found[0], nil
}

// addAgent makes an agent; Exists when the name is taken.
func (q *session) addAgent(ctx context.Context, sc tenant.Scope, a tenant.Agent) error {
	if sc.HasAgent() {
		// Others are out of its reach, whether they exist or not.
		return fault.Missing("agent")
	}
	q.holdTenant(sc.Tenant())
	if err := q.checkTenant(ctx, sc.Tenant()); err != nil {
		return err
	}
	_, err := q.exec(ctx, "INSERT INTO agents (tenant, id, name, display_name, created_at) VALUES ($1, $2, $3, $4, $5)",
		sc.Tenant(), a.ID, a.Name, a.DisplayName, a.CreatedAt)
	if unique(err, "agents_name") {
		err = fault.New(fault.Exists, "an agent with the name %q exists", a.Name)
	}
	return err
}

// EnsureAgent implements tenant.AgentStore. Of several that make one at once
// the first does, and the others find it.
func (s *Store) EnsureAgent(ctx context.Context, sc tenant.Scope, name string) (a tenant.Agent, err error) {
	if err := sc.Check(); err != nil {
		return a, err
	}
	// Nearly always it is there.
	if a, err = s.AgentByRef(ctx, sc, name); err == nil || !fault.Is(err, fault.NotFound) {
		return a, err
	}
	if _, e := uuid.Parse(name); e == nil {
		return a, err // an id names nothing new
	}
	if err := store.CheckName("agent", name); err != nil {
		return a, err
	}
	if a, err = store.NewAgent(name, "", s.now()); err != nil {
		return a, err
	}
	err = s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error { return q.addAgent(ctx, sc, a) })
	if fault.Is(err, fault.Exists) {
		return s.AgentByRef(ctx, sc, name)
	}
	if err != nil {
		return tenant.Agent{}, err
	}
	return a, nil
}

// CreateAgent implements tenant.AgentStore.
func (s *Store) CreateAgent(ctx context.Context, sc tenant.Scope, n tenant.Agent) (tenant.Agent, error) {
	if err := sc.Check(); err != nil {
		return tenant.Agent{}, err
	}
	a, err := store.NewAgent(n.Name, n.DisplayName, s.now())
	if err != nil {
		return tenant.Agent{}, err
	}
	err = s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error { return q.addAgent(ctx, sc, a) })
	if err != nil {
		return tenant.Agent{}, err
	}
	return a, nil
}

// AgentByRef implements tenant.AgentStore.
func (s *Store) AgentByRef(ctx context.Context, sc tenant.Scope, ref string) (a tenant.Agent, err error) {
	if err := sc.Check(); err != nil {
		return a, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		a, err = q.agent(ctx, sc, ref)
		return err
	})
	return a, err
}

// ListAgents implements tenant.AgentStore.
func (s *Store) ListAgents(ctx context.Context, sc tenant.Scope, after string, n int) (out []tenant.Agent, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	var p params
	where := "tenant = " + p.add(sc.Tenant()) + " AND name > " + p.add(store.Clean(after))
	if sc.HasAgent() {
		where += " AND id = " + p.add(sc.Agent())
	}
	where += " ORDER BY name LIMIT " + p.add(limit(n))
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out, err = q.agents(ctx, where, p.args...)
		return err
	})
	return out, err
}

// DeleteAgent implements tenant.AgentStore. Forks that others made of its
// collections become independent.
func (s *Store) DeleteAgent(ctx context.Context, sc tenant.Scope, id uuid.UUID) error {
	if err := sc.Check(); err != nil {
		return err
	}
	for {
		var next uuid.UUID
		err := s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
			next = uuid.Nil
			// Those that make something of the agent's are waited for.
			q.later("SELECT 1 FROM agents WHERE tenant = $1 AND id = $2 FOR UPDATE", sc.Tenant(), id)
			if _, err := q.agent(ctx, sc, id.String()); err != nil {
				return err
			}
			ok, err := q.get(ctx, "SELECT id FROM collections WHERE tenant = $1 AND agent = $2 AND state <> 'deleting' LIMIT 1", []any{sc.Tenant(), id}, &next)
			if err != nil || ok {
				return err
			}
			q.later("DELETE FROM api_keys WHERE tenant = $1 AND agent = $2", sc.Tenant(), id)
			q.later("DELETE FROM idempotency WHERE tenant = $1 AND agent = $2", sc.Tenant(), id)
			q.later("DELETE FROM agents WHERE tenant = $1 AND id = $2", sc.Tenant(), id)
			return nil
		})
		if err != nil || next == uuid.Nil {
			return err
		}
		audit := memory.AuditEntry{Action: "collection.delete", Detail: map[string]any{"agent": id.String()}}
		if err := s.DeleteCollection(ctx, sc, next, true, audit); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
}
