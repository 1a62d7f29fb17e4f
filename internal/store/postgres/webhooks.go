package postgres

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// ListDeliveries implements store.DeliveryRows.
func (q *session) ListDeliveries(ctx context.Context, tenantID uuid.UUID, dq memory.DeliveryQuery) ([]memory.Delivery, error) {
	p := params{args: []any{tenantID, dq.Webhook}}
	text := "SELECT " + store.DeliveryColumns + " FROM deliveries d WHERE d.tenant = $1 AND d.webhook = $2"
	if dq.IDs != nil {
		text += " AND d.id = ANY(" + p.add(dq.IDs) + "::uuid[])"
	}
	if dq.State != "" {
		text += " AND d.state = " + p.add(string(dq.State))
	}
	if dq.Before != uuid.Nil {
		text += " AND d.id < " + p.add(dq.Before)
	}
	return collect(ctx, q, text+" ORDER BY d.id DESC LIMIT "+p.add(store.Limit(dq.Limit)), p.args, store.ScanDelivery)
}
