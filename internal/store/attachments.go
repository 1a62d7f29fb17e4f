package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AttachmentRows are the rows of attachments.
type AttachmentRows interface {
	// Attachments lists attachments in visible collections, by block, then collection: those that the scope
	// reaches, or all of the tenant for the zero scope.
	Attachments(ctx context.Context, tenantID uuid.UUID, s tenant.Scope, q memory.AttachmentQuery, now time.Time) ([]memory.Attachment, error)
}

// AttachmentColumns are the columns of attachments a that ScanAttachment reads.
const AttachmentColumns = "a.collection, a.block, a.home, a.label, a.mode, a.at"

// ScanAttachment reads AttachmentColumns.
func ScanAttachment(row Scanner) (a memory.Attachment, err error) {
	err = row.Scan(&a.Collection, &a.Block, &a.Home, &a.Label, &a.Mode, Time(&a.At))
	return a, err
}

// labelTaken is the fault for a label that another block of a collection has.
func labelTaken(label string) error {
	return fault.New(fault.Exists, "the collection shows another block with the label %q", label)
}

// Attachments implements memory.AttachmentStore.
func (b *Base) Attachments(ctx context.Context, s tenant.Scope, aq memory.AttachmentQuery) ([]memory.Attachment, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.Attachment, error) {
		now := b.now()
		if aq.Collection != uuid.Nil {
			if _, err := ReachVisible(ctx, q, s, aq.Collection, now); err != nil {
				return nil, err
			}
		}
		return q.Attachments(ctx, s.Tenant(), s, aq, now)
	})
}

// Attached implements memory.Tx.
func (t *Tx) Attached(ctx context.Context, blocks ...uuid.UUID) ([]memory.Attachment, error) {
	if err := ctx.Err(); err != nil || len(blocks) == 0 {
		return nil, err
	}
	return t.q.Attachments(t.ctx, t.scope.Tenant(), tenant.Scope{}, memory.AttachmentQuery{Blocks: blocks, Home: t.row.ID}, t.now)
}

// Attach implements memory.Tx.
func (t *Tx) Attach(ctx context.Context, a memory.Attachment) (memory.Attachment, error) {
	if err := ctx.Err(); err != nil {
		return a, err
	}
	a.Home = t.row.ID
	if a.Mode == memory.AttachFolder {
		a.Block, a.Label = t.row.ID, memory.FolderLabel(t.row.ID)
	} else if n, err := t.visible(a.Block); err != nil || n.Kind != memory.KindBlock {
		return a, missingBlock(err)
	}
	// One collection after the other: a block of its own that gets the label at the same time waits.
	t.q.LockHead(t.scope.Tenant(), a.Collection)
	return putAttachment(t.ctx, t.q, t.scope, a, t.now)
}

// Detach implements memory.Tx.
func (t *Tx) Detach(ctx context.Context, block, collection uuid.UUID) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if _, err := Reach(t.ctx, t.q, t.scope, collection); err != nil {
		return false, err
	}
	return deleteAttachment(t.ctx, t.q, t.scope.Tenant(), collection, block)
}

// deleteAttachment reports whether there was one.
func deleteAttachment(ctx context.Context, q Conn, tenantID, collection, block uuid.UUID) (bool, error) {
	n, err := q.Exec(ctx, "DELETE FROM attachments WHERE tenant = $1 AND collection = $2 AND block = $3", tenantID, collection, block)
	return n > 0, err
}

// checkLabel returns Exists for a new block whose label an attached one has.
func (t *Tx) checkLabel(n *memory.Note) error {
	if n.Kind != memory.KindBlock {
		return nil
	}
	shown, err := t.q.Attachments(t.ctx, t.scope.Tenant(), tenant.Scope{}, memory.AttachmentQuery{Collection: t.row.ID}, t.now)
	if slices.ContainsFunc(shown, func(a memory.Attachment) bool { return a.Label == n.Key }) {
		err = labelTaken(n.Key)
	}
	return err
}

// attach attaches a block of any shared collection to a collection that the transaction has made.
func attach(ctx context.Context, q Session, s tenant.Scope, a memory.Attachment, now time.Time) (memory.Attachment, error) {
	if a.Mode == memory.AttachTool {
		return attachTool(ctx, q, s, a, now)
	}
	q.LockHead(s.Tenant(), a.Home)
	home, err := ReachVisible(ctx, q, s, a.Home, now)
	if err != nil {
		return a, missingBlock(err)
	}
	layers, err := q.Layers(ctx, home, home.Head)
	if err != nil {
		return a, err
	}
	if a.Mode == memory.AttachFolder {
		a.Block, a.Label = home.ID, memory.FolderLabel(home.ID)
		return putAttachment(ctx, q, s, a, now)
	}
	found, err := q.NoteVersions(ctx, s.Tenant(), layers, NoteReader{Collection: home.ID}, []uuid.UUID{a.Block})
	if n, ok := found[a.Block]; err != nil || !ok || n.Deleted || n.Kind != memory.KindBlock {
		return a, missingBlock(err)
	}
	return putAttachment(ctx, q, s, a, now)
}

func missingBlock(err error) error {
	if err == nil || fault.Is(err, fault.NotFound) {
		return fault.Missing("block")
	}
	return err
}

// putAttachment attaches a block that is there. The head of the collection is locked.
func putAttachment(ctx context.Context, q Session, s tenant.Scope, a memory.Attachment, now time.Time) (memory.Attachment, error) {
	if err := Text("label", a.Label); err != nil {
		return a, err
	}
	switch a.Mode {
	case memory.AttachRW, memory.AttachRO, memory.AttachFolder, memory.AttachTool:
	default:
		return a, fault.InvalidField("mode", "must be rw or ro")
	}
	to, err := ReachVisible(ctx, q, s, a.Collection, now)
	if err != nil {
		return a, err
	}
	if to.ID == a.Home {
		return a, fault.New(fault.Conflict, "a collection is not attached to itself")
	}
	shown, err := q.Attachments(ctx, s.Tenant(), tenant.Scope{}, memory.AttachmentQuery{Collection: to.ID}, now)
	if err != nil {
		return a, err
	}
	a.At = now
	for i := range shown {
		switch {
		case shown[i].Block == a.Block:
			a.At = shown[i].At
		case shown[i].Label == a.Label:
			return a, labelTaken(a.Label)
		}
	}
	layers, err := q.Layers(ctx, to, to.Head)
	if err != nil {
		return a, err
	}
	_, taken, err := q.NoteVersionByKey(ctx, s.Tenant(), layers, NoteReader{}, memory.KindBlock, a.Label)
	if err != nil {
		return a, err
	}
	if taken {
		return a, labelTaken(a.Label)
	}
	_, err = q.Exec(ctx, `INSERT INTO attachments (tenant, collection, block, home, label, mode, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
 ON CONFLICT (tenant, collection, block) DO UPDATE SET mode = excluded.mode`, s.Tenant(), a.Collection, a.Block, a.Home, a.Label, string(a.Mode), a.At)
	return a, err
}
