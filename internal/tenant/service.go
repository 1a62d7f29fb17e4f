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

// Event is an entry of the audit log without its time and actor. Detail never
// contains memory content or secrets.
type Event struct {
	Action string // "agent.create", "tenant.suspend", …
	Target string // an id
	Detail map[string]any
}

// AuditLog writes audit rows. RecordOperator writes to the log of the tenant
// that the operator changed, so that the tenant can read it.
type AuditLog interface {
	Record(ctx context.Context, s Scope, e Event) error
	RecordOperator(ctx context.Context, op Operator, tenantID uuid.UUID, e Event) error
}

// ServiceDeps are the dependencies of Service. All but OnChange are required.
type ServiceDeps struct {
	Admin     AdminStore
	Directory Directory
	Audit     AuditLog
	Clock     func() time.Time
	Logger    *slog.Logger
	// OnChange is called after a tenant's state or limits changed, so that
	// caches in this process drop the tenant before their entries expire.
	OnChange func(tenantID uuid.UUID)
}

// Service manages tenants on behalf of operators. Every method returns
// Unauthenticated for the zero Operator.
type Service struct {
	deps ServiceDeps
	// writing makes read-modify-write of a tenant atomic within this process,
	// because the store replaces what can change of it together.
	writing sync.Mutex
}

// NewService returns a Service.
func NewService(deps ServiceDeps) (*Service, error) {
	if deps.Admin == nil || deps.Directory == nil || deps.Audit == nil || deps.Clock == nil || deps.Logger == nil {
		return nil, errors.New("tenant: Admin, Directory, Audit, Clock and Logger are required")
	}
	if deps.OnChange == nil {
		deps.OnChange = func(uuid.UUID) {}
	}
	return &Service{deps: deps}, nil
}

// NewTenant describes a tenant to create.
type NewTenant struct {
	Name         string
	Limits       Limits
	AllowedHosts []string // see Tenant.AllowedHosts
}

// Create creates an active tenant. It returns Invalid for a bad name or a
// negative limit, and Exists when the name is taken.
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
	hosts, err := joinHosts("allowed_hosts", n.AllowedHosts)
	if err != nil {
		return Tenant{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Tenant{}, fault.Wrap(err, fault.Internal, "cannot generate the id of the tenant")
	}
	t, err := s.deps.Admin.CreateTenant(ctx, op, Tenant{
		ID: id, Name: n.Name, State: Active, Limits: n.Limits, AllowedHosts: hosts, CreatedAt: s.deps.Clock().UTC().Truncate(time.Microsecond),
	})
	if err != nil {
		return Tenant{}, err
	}
	return t, s.record(ctx, op, t.ID, "tenant.create", map[string]any{"name": t.Name})
}

// List returns a page of tenants ordered by name. after is the last name of the
// previous page, "" for the first page.
func (s *Service) List(ctx context.Context, op Operator, after string, limit int) ([]Tenant, error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	return s.deps.Admin.ListTenants(ctx, op, after, limit)
}

// Get returns a tenant by id or name, and NotFound when it is absent or being
// deleted.
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

// Patch changes a tenant: nil keeps a part.
type Patch struct {
	Limits       LimitsPatch
	AllowedHosts *[]string // see Tenant.AllowedHosts
}

// Patch changes what p sets of a tenant.
func (s *Service) Patch(ctx context.Context, op Operator, ref string, p Patch) (Tenant, error) {
	return s.change(ctx, op, ref, "tenant.limits", func(t *Tenant) (bool, error) {
		before := *t
		p.Limits.apply(&t.Limits)
		if p.AllowedHosts != nil {
			var err error
			if t.AllowedHosts, err = joinHosts("allowed_hosts", *p.AllowedHosts); err != nil {
				return false, err
			}
		}
		return *t != before, t.Limits.Check("limits")
	})
}

// Suspend makes every credential of a tenant invalid until Resume. Suspending a
// suspended tenant is a no-op.
func (s *Service) Suspend(ctx context.Context, op Operator, ref string) (Tenant, error) {
	return s.setState(ctx, op, ref, "tenant.suspend", Suspended)
}

// Resume ends a suspension.
func (s *Service) Resume(ctx context.Context, op Operator, ref string) (Tenant, error) {
	return s.setState(ctx, op, ref, "tenant.resume", Active)
}

// Delete deletes a tenant and everything it owns. This includes its audit log,
// so the deletion is written to the operator's log instead.
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

// change reads a tenant, calls fn to modify it, and writes it when fn returns true.
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
	return t, s.record(ctx, op, t.ID, action, map[string]any{"state": t.State, "limits": t.Limits, "allowed_hosts": t.AllowedHosts})
}

func (s *Service) record(ctx context.Context, op Operator, id uuid.UUID, action string, detail map[string]any) error {
	return s.deps.Audit.RecordOperator(ctx, op, id, Event{Action: action, Target: id.String(), Detail: detail})
}
