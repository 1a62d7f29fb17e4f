package postgres

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
	var p params
	text := "SELECT " + store.AttachmentColumns + " FROM attachments a CROSS JOIN LATERAL (SELECT * FROM collections c WHERE c.tenant = a.tenant AND c.id = a.collection LIMIT 1) c WHERE a.tenant = " + p.add(tenantID) + seenBy(&p, s, now)
	if aq.Collection != uuid.Nil {
		text += " AND a.collection = " + p.add(aq.Collection)
	}
	if aq.Home != uuid.Nil {
		text += " AND a.home = " + p.add(aq.Home)
	}
	if len(aq.Blocks) > 0 {
		text += " AND a.block = ANY(" + p.add(aq.Blocks) + "::uuid[])"
	}
	return collect(ctx, q, text+" ORDER BY a.block, a.collection", p.args, store.ScanAttachment)
}

// PutAttachment implements store.AttachmentRows.
func (q *session) PutAttachment(ctx context.Context, tenantID uuid.UUID, a memory.Attachment) error {
	_, err := q.exec(ctx, `INSERT INTO attachments (tenant, collection, block, home, label, mode, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
 ON CONFLICT (tenant, collection, block) DO UPDATE SET mode = excluded.mode`, tenantID, a.Collection, a.Block, a.Home, a.Label, string(a.Mode), a.At)
	return err
}

// DeleteAttachment implements store.AttachmentRows.
func (q *session) DeleteAttachment(ctx context.Context, tenantID, collection, block uuid.UUID) (bool, error) {
	n, err := q.exec(ctx, "DELETE FROM attachments WHERE tenant = $1 AND collection = $2 AND block = $3", tenantID, collection, block)
	return n > 0, err
}

// DeleteAttachmentsOf implements store.AttachmentRows. It goes with the next statement.
func (q *session) DeleteAttachmentsOf(_ context.Context, tenantID, collection uuid.UUID) error {
	q.later("DELETE FROM attachments WHERE tenant = $1 AND collection = $2", tenantID, collection)
	q.later("DELETE FROM attachments WHERE tenant = $1 AND home = $2", tenantID, collection)
	return nil
}
