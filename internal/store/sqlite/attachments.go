package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Attachments implements store.AttachmentRows.
func (q *session) Attachments(ctx context.Context, tenantID uuid.UUID, s tenant.Scope, aq memory.AttachmentQuery, now time.Time) ([]memory.Attachment, error) {
	seen, seenArgs := seenCollections(s, now)
	text, args := "SELECT "+store.AttachmentColumns+" FROM attachments a JOIN collections c ON c.tenant = a.tenant AND c.id = a.collection WHERE a.tenant = ?", []any{tenantID}
	text, args = text+seen, append(args, seenArgs...)
	if aq.Collection != uuid.Nil {
		text, args = text+" AND a.collection = ?", append(args, aq.Collection)
	}
	if aq.Home != uuid.Nil {
		text, args = text+" AND a.home = ?", append(args, aq.Home)
	}
	if len(aq.Blocks) > 0 {
		text, args = text+" AND a.block IN (SELECT unhex(value) FROM json_each(?))", append(args, ids(aq.Blocks))
	}
	return collect(ctx, q, text+" ORDER BY a.block, a.collection", args, store.ScanAttachment)
}

// PutAttachment implements store.AttachmentRows.
func (q *session) PutAttachment(ctx context.Context, tenantID uuid.UUID, a memory.Attachment) error {
	_, err := q.exec(ctx, `INSERT INTO attachments (tenant, collection, block, home, label, mode, at) VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (tenant, collection, block) DO UPDATE SET mode = excluded.mode`, tenantID, a.Collection, a.Block, a.Home, a.Label, a.Mode, a.At)
	return err
}

// DeleteAttachment implements store.AttachmentRows.
func (q *session) DeleteAttachment(ctx context.Context, tenantID, collection, block uuid.UUID) (bool, error) {
	n, err := q.exec(ctx, "DELETE FROM attachments WHERE tenant = ? AND collection = ? AND block = ?", tenantID, collection, block)
	return n > 0, err
}

// DeleteAttachmentsOf implements store.AttachmentRows.
func (q *session) DeleteAttachmentsOf(ctx context.Context, tenantID, collection uuid.UUID) error {
	_, err := q.exec(ctx, "DELETE FROM attachments WHERE tenant = ?1 AND (collection = ?2 OR home = ?2)", tenantID, collection)
	return err
}
