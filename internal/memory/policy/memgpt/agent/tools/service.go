package tools

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what Service requires of a store.
type Store interface {
	memory.OwnToolStore
	memory.AttachmentStore
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}

// Deps are the parts that the service uses; all are required.
type Deps struct {
	Store    Store
	Policies memory.PolicySet // no tool has the name of one of theirs
}

// Service keeps the tools of tenants. It is safe for concurrent use.
type Service struct {
	store    Store
	reserved map[string]bool
}

// New returns a service.
func New(d Deps) (*Service, error) {
	if d.Store == nil || d.Policies == nil {
		return nil, fault.New(fault.Internal, "tools: store and policies are required")
	}
	v := &Service{store: d.Store, reserved: map[string]bool{}}
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

// administer returns Forbidden for a scope that may not say what tools are: those of a whole tenant.
func administer(s tenant.Scope) error {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return err
	}
	if s.HasAgent() {
		return fault.New(fault.Forbidden, "the credential is bound to an agent and cannot change the tenant's tools")
	}
	return nil
}

// Create stores a tool (admin). Exists when the name is taken; Invalid "name" for that of a memory tool.
func (v *Service) Create(ctx context.Context, s tenant.Scope, name string, c Change) (memory.OwnTool, error) {
	if err := administer(s); err != nil {
		return memory.OwnTool{}, err
	}
	t := memory.OwnTool{Name: name, Spec: memory.OwnToolSpec{Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}
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
	list, err := v.store.ListOwnTools(ctx, s, "", maxTools)
	if err != nil {
		return t, err
	}
	if len(list) >= maxTools {
		return t, fault.InvalidField("name", "there are %d tools, and no room for another; delete one first", maxTools)
	}
	if err := c.apply(&t.Spec); err != nil {
		return t, err
	}
	return v.store.CreateOwnTool(ctx, s, t, memory.AuditEntry{Action: "tool.create", Detail: map[string]any{"name": name}})
}

// Get returns a tool by id or name (notes:read). A scope that is limited to the collections of some ids sees none.
func (v *Service) Get(ctx context.Context, s tenant.Scope, ref string) (memory.OwnTool, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return memory.OwnTool{}, err
	}
	if !s.Limit().IsZero() {
		return memory.OwnTool{}, fault.Missing("tool")
	}
	return v.store.OwnTool(ctx, s, ref)
}

// List returns a page of tools by name, after a name (notes:read); none as Get.
func (v *Service) List(ctx context.Context, s tenant.Scope, after string, limit int) ([]memory.OwnTool, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	if !s.Limit().IsZero() {
		return nil, nil
	}
	return v.store.ListOwnTools(ctx, s, after, limit)
}

// Update changes a tool (admin).
func (v *Service) Update(ctx context.Context, s tenant.Scope, ref string, c Change) (memory.OwnTool, error) {
	if err := administer(s); err != nil {
		return memory.OwnTool{}, err
	}
	t, err := v.store.OwnTool(ctx, s, ref)
	if err != nil {
		return t, err
	}
	return v.store.UpdateOwnTool(ctx, s, t.ID, memory.AuditEntry{Action: "tool.update", Detail: map[string]any{"name": t.Name}}, func(t *memory.OwnTool) error {
		return c.apply(&t.Spec)
	})
}

// Delete deletes a tool (admin). Conflict while collections show it.
func (v *Service) Delete(ctx context.Context, s tenant.Scope, ref string) error {
	if err := administer(s); err != nil {
		return err
	}
	t, err := v.store.OwnTool(ctx, s, ref)
	if err != nil {
		return err
	}
	return v.store.DeleteOwnTool(ctx, s, t.ID, memory.AuditEntry{Action: "tool.delete", Detail: map[string]any{"name": t.Name}})
}

// Attached returns the tools that a collection shows, by name.
func (v *Service) Attached(ctx context.Context, s tenant.Scope, collection uuid.UUID) ([]memory.OwnTool, error) {
	return v.store.AttachedOwnTools(ctx, s, collection)
}

// Attach allows the agents of a collection to call a tool (notes:write there, and base:write, since it is the tenant's).
// check sees the tools that the collection would show.
func (v *Service) Attach(ctx context.Context, s tenant.Scope, ref, tool string, check func([]memory.OwnTool) error) (memory.OwnTool, error) {
	c, t, err := v.attachment(ctx, s, ref, tool)
	if err != nil {
		return t, err
	}
	list, err := v.store.AttachedOwnTools(ctx, s, c.ID)
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
	return t, v.store.AttachOwnTool(ctx, s, c.ID, t.ID, memory.AuditEntry{Action: "tool.attach", Detail: map[string]any{"collection": c.ID.String()}})
}

// Detach ends what Attach began; NotFound when the tool is not attached.
func (v *Service) Detach(ctx context.Context, s tenant.Scope, ref, tool string) (memory.OwnTool, error) {
	c, t, err := v.attachment(ctx, s, ref, tool)
	if err != nil {
		return t, err
	}
	return t, v.store.DetachOwnTool(ctx, s, c.ID, t.ID, memory.AuditEntry{Action: "tool.detach", Detail: map[string]any{"collection": c.ID.String()}})
}

func (v *Service) attachment(ctx context.Context, s tenant.Scope, ref, tool string) (c memory.Collection, t memory.OwnTool, err error) {
	for _, p := range []tenant.Permission{tenant.NotesWrite, tenant.BaseWrite} {
		if err := tenant.Check(s, p); err != nil {
			return c, t, err
		}
	}
	if c, err = v.store.ResolveCollection(ctx, s, ref); err != nil {
		return c, t, err
	}
	t, err = v.store.OwnTool(ctx, s, tool)
	return c, t, err
}
