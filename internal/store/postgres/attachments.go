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
