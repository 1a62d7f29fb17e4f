package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

func (q *session) webhooks(ctx context.Context, rest string, args ...any) ([]memory.Webhook, error) {
	return collect(ctx, q, "SELECT "+store.WebhookColumns+" FROM webhooks w "+rest, args, store.ScanWebhook)
}

// WebhooksAfter implements store.WebhookRows.
func (q *session) WebhooksAfter(ctx context.Context, tenantID, after uuid.UUID, n int) ([]memory.Webhook, error) {
	return q.webhooks(ctx, "WHERE w.tenant = $1 AND w.id > $2 ORDER BY w.id LIMIT $3", tenantID, after, limit(n))
}

// WebhookByID implements store.WebhookRows.
func (q *session) WebhookByID(ctx context.Context, tenantID, id uuid.UUID) (memory.Webhook, bool, error) {
	return first(q.webhooks(ctx, "WHERE w.tenant = $1 AND w.id = $2", tenantID, id))
}

// WebhooksOf implements store.WebhookRows.
func (q *session) WebhooksOf(ctx context.Context, tenantID, collection uuid.UUID) ([]uuid.UUID, error) {
	return collect(ctx, q, "SELECT id FROM webhooks WHERE tenant = $1 AND collection IN ("+zeroID+", $2) ORDER BY id", []any{tenantID, collection}, store.ScanOne[uuid.UUID])
}

// PutWebhook implements store.WebhookRows. It goes with the next statement.
func (q *session) PutWebhook(_ context.Context, tenantID uuid.UUID, w memory.Webhook) error {
	events, err := store.Document("events", append([]string{}, w.Events...))
	if err != nil {
		return err
	}
	q.later(`INSERT INTO webhooks (tenant, id, collection, url, events, secrets, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
 ON CONFLICT (tenant, id) DO UPDATE SET url = excluded.url, events = excluded.events, secrets = excluded.secrets, updated_at = excluded.updated_at`,
		tenantID, w.ID, w.Collection, w.URL, events, append([]byte{}, w.Secrets...), w.CreatedAt, w.UpdatedAt)
	return nil
}

// DeleteWebhook implements store.WebhookRows. It goes with the next statement.
func (q *session) DeleteWebhook(_ context.Context, tenantID, id uuid.UUID) error {
	q.later("DELETE FROM deliveries WHERE tenant = $1 AND webhook = $2", tenantID, id)
	q.later("DELETE FROM webhooks WHERE tenant = $1 AND id = $2", tenantID, id)
	return nil
}

// ListDeliveries implements store.WebhookRows.
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
	return collect(ctx, q, text+" ORDER BY d.id DESC LIMIT "+p.add(limit(dq.Limit)), p.args, store.ScanDelivery)
}

// PutDelivery implements store.WebhookRows. It goes with the next statement.
func (q *session) PutDelivery(_ context.Context, tenantID uuid.UUID, d memory.Delivery) error {
	q.later(`INSERT INTO deliveries (tenant, webhook, id, collection, revision, event, state, attempts, status, error, created_at, updated_at, next_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (tenant, webhook, id) DO UPDATE SET state = excluded.state,
 attempts = excluded.attempts, status = excluded.status, error = excluded.error, updated_at = excluded.updated_at, next_at = excluded.next_at`,
		tenantID, d.Webhook, d.ID, d.Collection, rev(d.Revision), d.Event, string(d.State), d.Attempts, d.Status, d.Error, d.CreatedAt, d.UpdatedAt, nullTime(d.NextAt))
	return nil
}

// DropDeliveries implements store.WebhookRows. It goes with the next statement.
func (q *session) DropDeliveries(_ context.Context, tenantID, webhook uuid.UUID, before time.Time) error {
	q.later("DELETE FROM deliveries WHERE tenant = $1 AND webhook = $2 AND updated_at < $3 AND state <> 'waiting'", tenantID, webhook, before)
	return nil
}
