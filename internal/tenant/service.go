package tenant

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Event is what an audit row says beside time and actor. Detail never holds
// memory content or secrets.
type Event struct {
	Action string // "agent.create", "tenant.suspend", …
	Target string // an id
	Detail map[string]any
}

// AuditLog writes audit rows. The row of an operator's act lands in the log of
// the tenant acted on, so that the tenant can read it.
type AuditLog interface {
	Record(ctx context.Context, s Scope, e Event) error
	RecordOperator(ctx context.Context, op Operator, tenantID uuid.UUID, e Event) error
}

// ServiceDeps are what Service works with; all are required but OnChange.
type ServiceDeps struct {
	Admin     AdminStore
	Directory Directory
	Audit     AuditLog
	Clock     func() time.Time
	Logger    *slog.Logger
	// OnChange is called after a tenant's state or limits changed, so that
	// caches in this process need not wait for their time to pass.
	OnChange func(tenantID uuid.UUID)
}

// Service manages tenants on behalf of operators. Every method refuses the
// zero Operator (Unauthenticated).
type Service struct {
	deps ServiceDeps
	// writing makes the read-change-write of one tenant whole within this
	// process: the store replaces state and limits together.
	writing sync.Mutex
}

// NewService makes a Service.
func NewService(deps ServiceDeps) (*Service, error) {
	if deps.Admin == nil || deps.Directory == nil || deps.Audit == nil || deps.Clock == nil || deps.Logger == nil {
		return nil, errors.New("tenant: Admin, Directory, Audit, Clock and Logger are required")
	}
	if deps.OnChange == nil {
		deps.OnChange = func(uuid.UUID) {}
	}
	return &Service{deps: deps}, nil
}

// NewTenant asks for a tenant.
type NewTenant struct {
	Name   string
	Limits Limits
}

// Create makes an active tenant. Invalid for a bad name or a negative limit,
// Exists when the name is taken.
func (s *Service) Create(ctx context.Context, op Operator, n NewTenant) (Tenant, error) {
	if err := op.Check(); err != nil {
		return Tenant{}, err
	}
	if err := CheckName("name", n.Name); err != nil {
		return Tenant{}, err
	}
	if err := n.Limits.Check("limits"); err != nil {
		return Tenant{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Tenant{}, fault.Wrap(err, fault.Internal, "no id for the tenant")
	}
	t, err := s.deps.Admin.CreateTenant(ctx, op, Tenant{
		ID: id, Name: n.Name, State: Active, Limits: n.Limits, CreatedAt: s.deps.Clock().UTC().Truncate(time.Microsecond),
	})
	if err != nil {
		return Tenant{}, err
	}
	return t, s.record(ctx, op, t.ID, "tenant.create", map[string]any{"name": t.Name})
}

// List pages through the tenants by name; after is the last name seen, "" at
// the start.
func (s *Service) List(ctx context.Context, op Operator, after string, limit int) ([]Tenant, error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	return s.deps.Admin.ListTenants(ctx, op, after, limit)
}

// Get finds a tenant by id or name; NotFound when absent or deleting.
func (s *Service) Get(ctx context.Context, op Operator, ref string) (Tenant, error) {
	if err := op.Check(); err != nil {
		return Tenant{}, err
	}
	if id, err := uuid.Parse(ref); err == nil {
		return s.deps.Directory.TenantByID(ctx, id)
	}
	t, err := s.deps.Admin.TenantByName(ctx, op, ref)
	if err == nil && t.State == Deleting {
		return Tenant{}, fault.Missing("tenant")
	}
	return t, err
}

// PatchLimits sets the named limits of a tenant.
func (s *Service) PatchLimits(ctx context.Context, op Operator, ref string, p LimitsPatch) (Tenant, error) {
	return s.change(ctx, op, ref, "tenant.limits", func(t *Tenant) (bool, error) {
		before := t.Limits
		p.apply(&t.Limits)
		return t.Limits != before, t.Limits.Check("limits")
	})
}

// Suspend refuses every credential of a tenant until Resume. Suspending a
// suspended tenant changes nothing.
func (s *Service) Suspend(ctx context.Context, op Operator, ref string) (Tenant, error) {
	return s.setState(ctx, op, ref, "tenant.suspend", Suspended)
}

// Resume takes a suspension back.
func (s *Service) Resume(ctx context.Context, op Operator, ref string) (Tenant, error) {
	return s.setState(ctx, op, ref, "tenant.resume", Active)
}

// Delete erases a tenant and everything it owns. Its audit log goes with it,
// so the act is logged for the operator.
func (s *Service) Delete(ctx context.Context, op Operator, ref string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	t, err := s.Get(ctx, op, ref)
	if err != nil {
		return err
	}
	if err := s.deps.Admin.DeleteTenant(ctx, op, t.ID); err != nil {
		return err
	}
	s.deps.OnChange(t.ID)
	s.deps.Logger.InfoContext(ctx, "tenant deleted", "actor", op.Actor(), "tenant", t.ID, "name", t.Name)
	return nil
}

func (s *Service) setState(ctx context.Context, op Operator, ref, action string, to State) (Tenant, error) {
	return s.change(ctx, op, ref, action, func(t *Tenant) (bool, error) {
		changed := t.State != to
		t.State = to
		return changed, nil
	})
}

// change reads a tenant, lets fn change it, and writes it when fn says so.
func (s *Service) change(ctx context.Context, op Operator, ref, action string, fn func(*Tenant) (bool, error)) (Tenant, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	t, err := s.Get(ctx, op, ref)
	if err != nil {
		return Tenant{}, err
	}
	changed, err := fn(&t)
	if err != nil {
		return Tenant{}, err
	}
	if !changed {
		return t, nil
	}
	t, err = s.deps.Admin.UpdateTenant(ctx, op, t)
	if err != nil {
		return Tenant{}, err
	}
	s.deps.OnChange(t.ID)
	return t, s.record(ctx, op, t.ID, action, map[string]any{"state": t.State, "limits": t.Limits})
}

func (s *Service) record(ctx context.Context, op Operator, id uuid.UUID, action string, detail map[string]any) error {
	return s.deps.Audit.RecordOperator(ctx, op, id, Event{Action: action, Target: id.String(), Detail: detail})
}
