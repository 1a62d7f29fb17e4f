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

// tools returns tools t of the tenant that is $1 of the rest.
func tools(ctx context.Context, q Conn, rest string, args ...any) ([]memory.OwnTool, error) {
	return collect(ctx, q, "SELECT t.id, t.name, t.spec, t.created_at, t.updated_at FROM tools t "+rest, args, func(row Scanner) (t memory.OwnTool, err error) {
		err = row.Scan(&t.ID, &t.Name, JSON(&t.Spec), Time(&t.CreatedAt), Time(&t.UpdatedAt))
		return t, err
	})
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
func findTool(ctx context.Context, q Conn, s tenant.Scope, ref string) (memory.OwnTool, error) {
	where, named := "t.name = $2", any(Clean(ref))
	if id, e := uuid.Parse(ref); e == nil {
		where, named = "t.id = $2", id
	}
	t, ok, err := First(tools(ctx, q, "WHERE t.tenant = $1 AND "+where, s.Tenant(), named))
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
		if err := CheckTenant(ctx, q, s.Tenant()); err != nil {
			return err
		}
		t.CreatedAt, t.UpdatedAt = now, now
		n, err := q.Exec(ctx, "INSERT INTO tools (tenant, id, name, spec, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
			s.Tenant(), t.ID, t.Name, spec, t.CreatedAt, t.UpdatedAt)
		if err := inserted(n, err, fault.New(fault.Exists, "a tool with the name %q exists", t.Name)); err != nil {
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
		return tools(ctx, q, "WHERE t.tenant = $1 AND t.name > $2 ORDER BY t.name"+atMost("$3"), s.Tenant(), Clean(after), Limit(limit))
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
		if err := q.Later(ctx, "UPDATE tools SET spec = $3, updated_at = $4 WHERE tenant = $1 AND id = $2", s.Tenant(), id, spec, t.UpdatedAt); err != nil {
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
		// Attachments to collections that have expired are left.
		err = all(ctx, q, []any{s.Tenant(), id}, "DELETE FROM attachments WHERE tenant = $1 AND block = $2", "DELETE FROM tools WHERE tenant = $1 AND id = $2")
		if err != nil {
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
		return tools(ctx, q, "JOIN attachments a ON a.tenant = t.tenant AND a.block = t.id WHERE a.tenant = $1 AND a.collection = $2 AND a.mode = 'tool' ORDER BY t.name",
			s.Tenant(), collection)
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
		if _, err := deleteAttachment(ctx, q, s.Tenant(), collection, tool); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, tool, audit, now)
	})
}
