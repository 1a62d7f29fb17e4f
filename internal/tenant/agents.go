package tenant

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// AgentKeys knows the keys of agents; *auth.Keys implements it.
type AgentKeys interface {
	// CheckCoversAgent returns Forbidden when a key of the agent has a scope that s lacks.
	CheckCoversAgent(ctx context.Context, s Scope, agent uuid.UUID) error
}

// AgentsDeps are the dependencies of Agents. All but OnChange are required.
type AgentsDeps struct {
	Store AgentStore
	Keys  AgentKeys
	Audit AuditLog
	// OnChange is called after an agent was deleted, so that caches in this
	// process drop its keys.
	OnChange func(tenantID uuid.UUID)
}

// Agents manages the agents of a tenant. Writing and listing require the
// permission Admin. A scope bound to an agent sees only that agent.
type Agents struct{ deps AgentsDeps }

// NewAgents returns an Agents service.
func NewAgents(deps AgentsDeps) (*Agents, error) {
	if deps.Store == nil || deps.Keys == nil || deps.Audit == nil {
		return nil, errors.New("tenant: Store, Keys and Audit are required")
	}
	if deps.OnChange == nil {
		deps.OnChange = func(uuid.UUID) {}
	}
	return &Agents{deps: deps}, nil
}

// NewAgent describes an agent to create.
type NewAgent struct {
	Name        string
	DisplayName string // any script; "" for none
}

// Create creates an agent. It returns Exists when the name is taken, and
// Forbidden when the scope is bound to an agent.
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

// List returns a page of agents ordered by name. after is the last name of the
// previous page, "" for the first page.
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

// Get returns an agent by id or name. It requires no permission, but a scope
// bound to an agent gets NotFound for every other agent.
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

// Delete deletes an agent with its collections and keys. Besides Admin it requires what each of
// these requires alone: the permission CollectionsWrite, and every permission of the agent's keys
// that work. It returns the jobs that remove the rows of the collections.
func (a *Agents) Delete(ctx context.Context, s Scope, ref string) (jobs []uuid.UUID, err error) {
	for _, p := range []Permission{Admin, CollectionsWrite} {
		if err := Check(s, p); err != nil {
			return nil, err
		}
	}
	agent, err := a.Get(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	if err := a.deps.Keys.CheckCoversAgent(ctx, s, agent.ID); err != nil {
		return nil, err
	}
	if jobs, err = a.deps.Store.DeleteAgent(ctx, s, agent.ID); err != nil {
		return nil, err
	}
	a.deps.OnChange(s.Tenant())
	return jobs, a.deps.Audit.Record(ctx, s, Event{
		Action: "agent.delete", Target: agent.ID.String(), Detail: map[string]any{"name": agent.Name},
	})
}
