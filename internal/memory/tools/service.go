package tools

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/seal"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what Service requires of a store.
type Store interface {
	memory.HTTPToolStore
	memory.AttachmentStore
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}

// Deps are the parts that the service uses; all are required.
type Deps struct {
	Store     Store
	Directory tenant.Directory // says which hosts a tenant may reach
	Client    *outbound.Client
	Sealer    seal.Sealer
	Policies  memory.Policies // no tool has the name of one of theirs
}

// Service keeps the tools of tenants and calls them. It is safe for concurrent use.
type Service struct {
	store     Store
	directory tenant.Directory
	client    *outbound.Client
	sealer    seal.Sealer
	reserved  map[string]bool
}

// New returns a service.
func New(d Deps) (*Service, error) {
	if d.Store == nil || d.Directory == nil || d.Client == nil || d.Sealer == (seal.Sealer{}) || d.Policies == nil {
		return nil, fault.New(fault.Internal, "tools: store, directory, client, sealer and policies are required")
	}
	v := &Service{store: d.Store, directory: d.Directory, client: d.Client, sealer: d.Sealer, reserved: map[string]bool{}}
	for _, name := range d.Policies.Names() {
		p, _ := d.Policies.ByName(name)
		if pager, ok := p.(memory.Pager); ok {
			for _, t := range pager.Paging(nil).Tools {
				v.reserved[strings.ToLower(t.Name)] = true
			}
		}
	}
	return v, nil
}

// administer returns Forbidden for a scope that may not say what tools are: they send requests and secrets on behalf
// of the whole tenant.
func administer(s tenant.Scope) error {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return err
	}
	if s.HasAgent() {
		return fault.New(fault.Forbidden, "the credential is bound to an agent and cannot change the tenant's tools")
	}
	return nil
}

// hosts returns the hosts that a tenant's tools may reach.
func (v *Service) hosts(ctx context.Context, s tenant.Scope) (outbound.Hosts, error) {
	t, err := v.directory.TenantByID(ctx, s.Tenant())
	if err != nil {
		return outbound.Hosts{}, err
	}
	h, err := outbound.ParseHosts(t.Hosts()...)
	return h, fault.Wrap(err, fault.Internal, "the allowed hosts of the tenant cannot be read")
}

// Create stores a tool (admin). Exists when the name is taken; Invalid "name" for that of a memory tool.
func (v *Service) Create(ctx context.Context, s tenant.Scope, name string, c Change) (memory.HTTPTool, error) {
	if err := administer(s); err != nil {
		return memory.HTTPTool{}, err
	}
	t := memory.HTTPTool{Name: name, Spec: first()}
	switch {
	case !toolName.MatchString(name):
		return t, fault.InvalidField("name", "must have 1 to 64 letters, digits, _ and -")
	case v.reserved[strings.ToLower(name)]: // a model confuses names that differ in case
		return t, fault.InvalidField("name", "is that of a memory tool")
	}
	var err error
	if t.ID, err = uuid.NewV7(); err != nil {
		return t, fault.Wrap(err, fault.Internal, "an id could not be generated")
	}
	list, err := v.store.ListHTTPTools(ctx, s, "", maxTools)
	if err != nil {
		return t, err
	}
	if len(list) >= maxTools {
		return t, fault.InvalidField("name", "there are %d tools, and no room for another; delete one first", maxTools)
	}
	hosts, err := v.hosts(ctx, s)
	if err != nil {
		return t, err
	}
	if err := v.change(s, &t, c, hosts); err != nil {
		return t, err
	}
	return v.store.CreateHTTPTool(ctx, s, t, memory.AuditEntry{Action: "tool.create", Detail: map[string]any{"name": name}})
}

func (v *Service) change(s tenant.Scope, t *memory.HTTPTool, c Change, hosts outbound.Hosts) error {
	secrets, err := v.open(s, t)
	if fault.Is(err, fault.Conflict) { // those that are needed are missing then
		secrets, err = map[string]string{}, nil
	}
	if err != nil {
		return err
	}
	if err := c.apply(&t.Spec, secrets); err != nil {
		return err
	}
	if err := v.client.Check(t.Spec.URL, hosts); err != nil {
		return err
	}
	return v.seal(s, t, secrets)
}

// Get returns a tool by id or name (notes:read).
func (v *Service) Get(ctx context.Context, s tenant.Scope, ref string) (memory.HTTPTool, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return memory.HTTPTool{}, err
	}
	return v.store.HTTPTool(ctx, s, ref)
}

// List returns a page of tools by name, after a name (notes:read).
func (v *Service) List(ctx context.Context, s tenant.Scope, after string, limit int) ([]memory.HTTPTool, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	return v.store.ListHTTPTools(ctx, s, after, limit)
}

// Update changes a tool (admin). When the address gets another host, its secrets have to be set again.
func (v *Service) Update(ctx context.Context, s tenant.Scope, ref string, c Change) (memory.HTTPTool, error) {
	if err := administer(s); err != nil {
		return memory.HTTPTool{}, err
	}
	t, err := v.store.HTTPTool(ctx, s, ref)
	if err != nil {
		return t, err
	}
	hosts, err := v.hosts(ctx, s)
	if err != nil {
		return t, err
	}
	return v.store.UpdateHTTPTool(ctx, s, t.ID, memory.AuditEntry{Action: "tool.update", Detail: map[string]any{"name": t.Name}}, func(t *memory.HTTPTool) error {
		return v.change(s, t, c, hosts)
	})
}

// Delete deletes a tool (admin). Conflict while collections show it.
func (v *Service) Delete(ctx context.Context, s tenant.Scope, ref string) error {
	if err := administer(s); err != nil {
		return err
	}
	t, err := v.store.HTTPTool(ctx, s, ref)
	if err != nil {
		return err
	}
	return v.store.DeleteHTTPTool(ctx, s, t.ID, memory.AuditEntry{Action: "tool.delete", Detail: map[string]any{"name": t.Name}})
}

// Attached returns the tools that a collection shows, by name.
func (v *Service) Attached(ctx context.Context, s tenant.Scope, collection uuid.UUID) ([]memory.HTTPTool, error) {
	return v.store.AttachedHTTPTools(ctx, s, collection)
}

// Attach allows the agents of a collection to call a tool (notes:write there, and base:write, since it lets them act for
// the tenant). check sees the tools that the collection would show.
func (v *Service) Attach(ctx context.Context, s tenant.Scope, ref, tool string, check func([]memory.HTTPTool) error) (memory.HTTPTool, error) {
	c, t, err := v.attachment(ctx, s, ref, tool)
	if err != nil {
		return t, err
	}
	list, err := v.store.AttachedHTTPTools(ctx, s, c.ID)
	if err != nil {
		return t, err
	}
	for i := range list {
		if list[i].ID == t.ID {
			return t, nil
		}
	}
	if len(list) >= maxAttached {
		return t, fault.InvalidField("tool", "the collection has %d tools, and no room for another; detach one first", maxAttached)
	}
	if err := check(append(list, t)); err != nil {
		return t, err
	}
	return t, v.store.AttachHTTPTool(ctx, s, c.ID, t.ID, memory.AuditEntry{Action: "tool.attach", Detail: map[string]any{"collection": c.ID.String()}})
}

// Detach ends what Attach began; NotFound when the tool is not attached.
func (v *Service) Detach(ctx context.Context, s tenant.Scope, ref, tool string) (memory.HTTPTool, error) {
	c, t, err := v.attachment(ctx, s, ref, tool)
	if err != nil {
		return t, err
	}
	return t, v.store.DetachHTTPTool(ctx, s, c.ID, t.ID, memory.AuditEntry{Action: "tool.detach", Detail: map[string]any{"collection": c.ID.String()}})
}

func (v *Service) attachment(ctx context.Context, s tenant.Scope, ref, tool string) (c memory.Collection, t memory.HTTPTool, err error) {
	for _, p := range []tenant.Permission{tenant.NotesWrite, tenant.BaseWrite} {
		if err := tenant.Check(s, p); err != nil {
			return c, t, err
		}
	}
	if c, err = v.store.ResolveCollection(ctx, s, ref); err != nil {
		return c, t, err
	}
	t, err = v.store.HTTPTool(ctx, s, tool)
	return c, t, err
}
