package tenant

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// AgentsDeps are what Agents works with; all are required but OnChange.
type AgentsDeps struct {
	Store AgentStore
	Audit AuditLog
	// OnChange is called after an agent of the tenant was deleted, so that
	// caches in this process forget its keys.
	OnChange func(tenantID uuid.UUID)
}

// Agents manages the agents of a tenant. Writing and listing need the
// permission Admin; a scope bound to an agent sees that agent only.
type Agents struct{ deps AgentsDeps }

// NewAgents makes an Agents.
func NewAgents(deps AgentsDeps) (*Agents, error) {
	if deps.Store == nil || deps.Audit == nil {
		return nil, errors.New("tenant: Store and Audit are required")
	}
	if deps.OnChange == nil {
		deps.OnChange = func(uuid.UUID) {}
	}
	return &Agents{deps: deps}, nil
}

// NewAgent asks for an agent.
type NewAgent struct {
	Name        string
	DisplayName string // any script; "" for none
}

// Create makes an agent. Exists when the name is taken; Forbidden with a scope
// that is bound to an agent, which may not bring others about.
func (a *Agents) Create(ctx context.Context, s Scope, n NewAgent) (Agent, error) {
	if err := Check(s, Admin); err != nil {
		return Agent{}, err
	}
	if err := CheckName("name", n.Name); err != nil {
		return Agent{}, err
	}
	if err := CheckDisplayName("display_name", n.DisplayName); err != nil {
		return Agent{}, err
	}
	if s.HasAgent() {
		return Agent{}, fault.New(fault.Forbidden, "the credential is bound to an agent and cannot create another")
	}
	agent, err := a.deps.Store.CreateAgent(ctx, s, Agent{Name: n.Name, DisplayName: n.DisplayName})
	if err != nil {
		return Agent{}, err
	}
	return agent, a.deps.Audit.Record(ctx, s, Event{
		Action: "agent.create", Target: agent.ID.String(), Detail: map[string]any{"name": agent.Name},
	})
}

// List pages through the agents by name; after is the last name seen.
func (a *Agents) List(ctx context.Context, s Scope, after string, limit int) ([]Agent, error) {
	if err := Check(s, Admin); err != nil {
		return nil, err
	}
	if !s.HasAgent() {
		return a.deps.Store.ListAgents(ctx, s, after, limit)
	}
	own, err := a.deps.Store.AgentByRef(ctx, s, s.Agent().String())
	if err != nil {
		return nil, err
	}
	if own.Name <= after || limit < 1 {
		return nil, nil
	}
	return []Agent{own}, nil
}

// Get finds an agent by id or name; any credential of the tenant may ask, but
// one that is bound to an agent finds only that one (else NotFound).
func (a *Agents) Get(ctx context.Context, s Scope, ref string) (Agent, error) {
	if err := s.Check(); err != nil {
		return Agent{}, err
	}
	agent, err := a.deps.Store.AgentByRef(ctx, s, ref)
	if err != nil {
		return Agent{}, err
	}
	if s.HasAgent() && agent.ID != s.Agent() {
		return Agent{}, fault.Missing("agent")
	}
	return agent, nil
}

// Delete erases an agent with its collections and keys.
func (a *Agents) Delete(ctx context.Context, s Scope, ref string) error {
	if err := Check(s, Admin); err != nil {
		return err
	}
	agent, err := a.Get(ctx, s, ref)
	if err != nil {
		return err
	}
	if err := a.deps.Store.DeleteAgent(ctx, s, agent.ID); err != nil {
		return err
	}
	a.deps.OnChange(s.Tenant())
	return a.deps.Audit.Record(ctx, s, Event{
		Action: "agent.delete", Target: agent.ID.String(), Detail: map[string]any{"name": agent.Name},
	})
}
