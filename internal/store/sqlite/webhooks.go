package sqlite

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
	return q.webhooks(ctx, "WHERE w.tenant = ? AND w.id > ? ORDER BY w.id LIMIT +?", tenantID, after, limit(n))
}

// WebhookByID implements store.WebhookRows.
func (q *session) WebhookByID(ctx context.Context, tenantID, id uuid.UUID) (memory.Webhook, bool, error) {
	return first(q.webhooks(ctx, "WHERE w.tenant = ? AND w.id = ?", tenantID, id))
}

// WebhooksOf implements store.WebhookRows.
func (q *session) WebhooksOf(ctx context.Context, tenantID, collection uuid.UUID) ([]uuid.UUID, error) {
	return collect(ctx, q, "SELECT id FROM webhooks WHERE tenant = ? AND collection IN (zeroblob(16), ?) ORDER BY id", []any{tenantID, collection}, store.ScanOne[uuid.UUID])
}

// PutWebhook implements store.WebhookRows.
func (q *session) PutWebhook(ctx context.Context, tenantID uuid.UUID, w memory.Webhook) error {
	events, err := store.Document("events", append([]string{}, w.Events...))
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO webhooks (tenant, id, collection, url, events, secrets, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (tenant, id) DO UPDATE SET url = excluded.url, events = excluded.events, secrets = excluded.secrets, updated_at = excluded.updated_at`,
		tenantID, w.ID, w.Collection, w.URL, events, append([]byte{}, w.Secrets...), w.CreatedAt, w.UpdatedAt)
	return err
}

// DeleteWebhook implements store.WebhookRows.
func (q *session) DeleteWebhook(ctx context.Context, tenantID, id uuid.UUID) error {
	if _, err := q.exec(ctx, "DELETE FROM deliveries WHERE tenant = ? AND webhook = ?", tenantID, id); err != nil {
		return err
	}
	_, err := q.exec(ctx, "DELETE FROM webhooks WHERE tenant = ? AND id = ?", tenantID, id)
	return err
}

// ListDeliveries implements store.WebhookRows.
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

// PutDelivery implements store.WebhookRows.
func (q *session) PutDelivery(ctx context.Context, tenantID uuid.UUID, d memory.Delivery) error {
	_, err := q.exec(ctx, `INSERT INTO deliveries (tenant, webhook, id, collection, revision, event, state, attempts, status, error, created_at, updated_at, next_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, webhook, id) DO UPDATE SET state = excluded.state, attempts = excluded.attempts,
 status = excluded.status, error = excluded.error, updated_at = excluded.updated_at, next_at = excluded.next_at`,
		tenantID, d.Webhook, d.ID, d.Collection, d.Revision, d.Event, string(d.State), d.Attempts, d.Status, d.Error, d.CreatedAt, d.UpdatedAt, d.NextAt)
	return err
}

// DropDeliveries implements store.WebhookRows.
func (q *session) DropDeliveries(ctx context.Context, tenantID, webhook uuid.UUID, before time.Time) error {
	_, err := q.exec(ctx, "DELETE FROM deliveries WHERE tenant = ? AND webhook = ? AND updated_at < ? AND state <> 'waiting'", tenantID, webhook, before)
	return err
}
