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
