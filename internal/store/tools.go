package store

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// ToolRows are the rows of tools.
type ToolRows interface {
	ToolByID(ctx context.Context, tenantID, id uuid.UUID) (t memory.OwnTool, ok bool, err error)
	ToolByName(ctx context.Context, tenantID uuid.UUID, name string) (t memory.OwnTool, ok bool, err error)
	// ToolsAfter lists tools by name, after a name. Limit 0: all.
	ToolsAfter(ctx context.Context, tenantID uuid.UUID, name string, limit int) ([]memory.OwnTool, error)
	// ToolsOf lists the tools that a collection shows, by name.
	ToolsOf(ctx context.Context, tenantID, collection uuid.UUID) ([]memory.OwnTool, error)
	// InsertTool returns Exists when the name is taken. spec is the encoded one.
	InsertTool(ctx context.Context, tenantID uuid.UUID, t memory.OwnTool, spec string) error
	// UpdateTool writes the spec and the time.
	UpdateTool(ctx context.Context, tenantID uuid.UUID, t memory.OwnTool, spec string) error
	// DeleteTool deletes a tool, and the attachments to collections that have expired.
	DeleteTool(ctx context.Context, tenantID, id uuid.UUID) error
}

// ToolColumns are the columns of tools t that ScanTool reads.
const ToolColumns = "t.id, t.name, t.spec, t.created_at, t.updated_at"

// ScanTool reads ToolColumns.
func ScanTool(row Scanner) (t memory.OwnTool, err error) {
	err = row.Scan(&t.ID, &t.Name, JSON(&t.Spec), Time(&t.CreatedAt), Time(&t.UpdatedAt))
	return t, err
}

// ToolTaken is the fault for a name that another tool has.
func ToolTaken(name string) error {
	return fault.New(fault.Exists, "a tool with the name %q exists", name)
}

// encodeSpec encodes what a tool does. Each text in it can be stored by both engines.
func encodeSpec(t *memory.OwnTool) (string, error) {
	if !json.Valid(t.Spec.Parameters) {
		return "", fault.InvalidField("parameters", "is no JSON")
	}
	spec, err := Document("spec", t.Spec)
	if err == nil {
		err = Text("spec", spec)
	}
	if err == nil && hasEscapedNull(spec) {
		err = fault.InvalidField("spec", "must not contain the character U+0000")
	}
	return spec, err
}

// findTool finds a tool by id or name.
func findTool(ctx context.Context, q ToolRows, s tenant.Scope, ref string) (t memory.OwnTool, err error) {
	var ok bool
	if id, e := uuid.Parse(ref); e == nil {
		t, ok, err = q.ToolByID(ctx, s.Tenant(), id)
	} else {
		t, ok, err = q.ToolByName(ctx, s.Tenant(), ref)
	}
	if err == nil && !ok {
		err = fault.Missing("tool")
	}
	return t, err
}

// CreateOwnTool implements memory.OwnToolStore.
func (b *Base) CreateOwnTool(ctx context.Context, s tenant.Scope, t memory.OwnTool, audit memory.AuditEntry) (memory.OwnTool, error) {
	if err := checkName("name", t.Name); err != nil {
		return t, err
	}
	spec, err := encodeSpec(&t)
	if err != nil {
		return t, err
	}
	if t.ID == uuid.Nil {
		if t.ID, err = uuid.NewV7(); err != nil {
			return t, fault.Wrap(err, fault.Internal, "an id could not be generated")
		}
	}
	err = b.write(ctx, s, func(ctx context.Context, q Session) error {
		now := b.now()
		if err := q.CheckTenant(ctx, s.Tenant()); err != nil {
			return err
		}
		t.CreatedAt, t.UpdatedAt = now, now
		if err := q.InsertTool(ctx, s.Tenant(), t, spec); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, t.ID, audit, now)
	})
	return t, err
}

// auditTarget writes an audit entry, about the id unless it names a target.
func auditTarget(ctx context.Context, q Session, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, now time.Time) error {
	audit.Target = cmp.Or(audit.Target, id.String())
	return writeAudit(ctx, q, s, now, audit)
}

// OwnTool implements memory.OwnToolStore.
func (b *Base) OwnTool(ctx context.Context, s tenant.Scope, ref string) (memory.OwnTool, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) (memory.OwnTool, error) {
		return findTool(ctx, q, s, ref)
	})
}

// ListOwnTools implements memory.OwnToolStore.
func (b *Base) ListOwnTools(ctx context.Context, s tenant.Scope, after string, limit int) ([]memory.OwnTool, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.OwnTool, error) {
		return q.ToolsAfter(ctx, s.Tenant(), after, limit)
	})
}

// UpdateOwnTool implements memory.OwnToolStore.
func (b *Base) UpdateOwnTool(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*memory.OwnTool) error) (t memory.OwnTool, err error) {
	err = b.write(ctx, s, func(ctx context.Context, q Session) error {
		q.LockTool(s.Tenant(), id)
		old, err := findTool(ctx, q, s, id.String())
		if err != nil {
			return err
		}
		t = old
		if err := fn(&t); err != nil {
			return err
		}
		t.ID, t.Name, t.CreatedAt, t.UpdatedAt = old.ID, old.Name, old.CreatedAt, b.now()
		spec, err := encodeSpec(&t)
		if err != nil {
			return err
		}
		if err := q.UpdateTool(ctx, s.Tenant(), t, spec); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, id, audit, t.UpdatedAt)
	})
	return t, err
}

// DeleteOwnTool implements memory.OwnToolStore.
func (b *Base) DeleteOwnTool(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) error {
	return b.free(ctx, s, func(ctx context.Context, q Session) error {
		now := b.now()
		q.LockTool(s.Tenant(), id)
		if _, err := findTool(ctx, q, s, id.String()); err != nil {
			return err
		}
		shown, err := q.Attachments(ctx, s.Tenant(), tenant.Scope{}, memory.AttachmentQuery{Blocks: []uuid.UUID{id}}, now)
		if err != nil {
			return err
		}
		if len(shown) > 0 {
			named, err := q.Attachments(ctx, s.Tenant(), s, memory.AttachmentQuery{Blocks: []uuid.UUID{id}}, now)
			if err != nil {
				return err
			}
			return memory.StillAttached(len(shown), named)
		}
		if err := q.DeleteTool(ctx, s.Tenant(), id); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, id, audit, now)
	})
}

// AttachedOwnTools implements memory.OwnToolStore.
func (b *Base) AttachedOwnTools(ctx context.Context, s tenant.Scope, collection uuid.UUID) ([]memory.OwnTool, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.OwnTool, error) {
		if _, err := ReachVisible(ctx, q, s, collection, b.now()); err != nil {
			return nil, err
		}
		return q.ToolsOf(ctx, s.Tenant(), collection)
	})
}

// AttachOwnTool implements memory.OwnToolStore.
func (b *Base) AttachOwnTool(ctx context.Context, s tenant.Scope, collection, tool uuid.UUID, audit memory.AuditEntry) error {
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		now := b.now()
		q.LockHead(s.Tenant(), collection)
		if _, err := ReachVisible(ctx, q, s, collection, now); err != nil {
			return err
		}
		a := memory.Attachment{Block: tool, Collection: collection, Mode: memory.AttachTool}
		if _, err := attachTool(ctx, q, s, a, now); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, tool, audit, now)
	})
}

// attachTool attaches a tool. The head of the collection is locked, or the transaction has made it.
func attachTool(ctx context.Context, q Session, s tenant.Scope, a memory.Attachment, now time.Time) (memory.Attachment, error) {
	q.LockTool(s.Tenant(), a.Block)
	t, err := findTool(ctx, q, s, a.Block.String())
	if err != nil {
		return a, err
	}
	a.Home, a.Label = uuid.Nil, memory.ToolLabel(t.Name)
	return putAttachment(ctx, q, s, a, now)
}

// DetachOwnTool implements memory.OwnToolStore.
func (b *Base) DetachOwnTool(ctx context.Context, s tenant.Scope, collection, tool uuid.UUID, audit memory.AuditEntry) error {
	return b.free(ctx, s, func(ctx context.Context, q Session) error {
		now := b.now()
		q.LockHead(s.Tenant(), collection)
		if _, err := ReachVisible(ctx, q, s, collection, now); err != nil {
			return err
		}
		shown, err := q.Attachments(ctx, s.Tenant(), tenant.Scope{}, memory.AttachmentQuery{Collection: collection, Blocks: []uuid.UUID{tool}}, now)
		if err != nil {
			return err
		}
		if len(shown) == 0 || shown[0].Mode != memory.AttachTool {
			return fault.Missing("tool")
		}
		if _, err := q.DeleteAttachment(ctx, s.Tenant(), collection, tool); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, tool, audit, now)
	})
}
