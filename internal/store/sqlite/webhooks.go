package sqlite

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// ListDeliveries implements store.DeliveryRows.
func (q *session) ListDeliveries(ctx context.Context, tenantID uuid.UUID, dq memory.DeliveryQuery) ([]memory.Delivery, error) {
	text, args := "", []any{tenantID, dq.Webhook}
	if dq.IDs != nil {
		text, args = text+" AND d.id IN (SELECT unhex(value) FROM json_each(?))", append(args, ids(dq.IDs))
	}
	if dq.State != "" {
		text, args = text+" AND d.state = ?", append(args, string(dq.State))
	}
	if dq.Before != uuid.Nil {
		text, args = text+" AND d.id < ?", append(args, dq.Before)
	}
	text = "SELECT " + store.DeliveryColumns + " FROM deliveries d WHERE d.tenant = ? AND d.webhook = ?" + text + " ORDER BY d.id DESC LIMIT +?"
	return collect(ctx, q, text, append(args, limit(dq.Limit)), store.ScanDelivery)
}
