package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// WebhookRows are the rows of webhooks and of deliveries.
type WebhookRows interface {
	// WebhooksAfter lists webhooks by id, after an id. Limit 0: all.
	WebhooksAfter(ctx context.Context, tenantID, after uuid.UUID, limit int) ([]memory.Webhook, error)
	WebhookByID(ctx context.Context, tenantID, id uuid.UUID) (w memory.Webhook, ok bool, err error)
	// WebhooksOf lists the webhooks that are told of the changes of a collection, ids only.
	WebhooksOf(ctx context.Context, tenantID, collection uuid.UUID) ([]uuid.UUID, error)
	// PutWebhook inserts a webhook, or writes URL, Events, Secrets and UpdatedAt.
	PutWebhook(ctx context.Context, tenantID uuid.UUID, w memory.Webhook) error
	// DeleteWebhook deletes a webhook and its deliveries.
	DeleteWebhook(ctx context.Context, tenantID, id uuid.UUID) error
	// ListDeliveries lists deliveries, newest first.
	ListDeliveries(ctx context.Context, tenantID uuid.UUID, q memory.DeliveryQuery) ([]memory.Delivery, error)
	// PutDelivery inserts a delivery, or writes what a try changes.
	PutDelivery(ctx context.Context, tenantID uuid.UUID, d memory.Delivery) error
	// DropDeliveries deletes those of a webhook that do not wait and were last tried before a time.
	DropDeliveries(ctx context.Context, tenantID, webhook uuid.UUID, before time.Time) error
}

// WebhookColumns are the columns of webhooks w that ScanWebhook reads.
const WebhookColumns = "w.id, w.collection, w.url, w.events, w.secrets, w.created_at, w.updated_at"

// ScanWebhook reads WebhookColumns.
func ScanWebhook(row Scanner) (w memory.Webhook, err error) {
	err = row.Scan(&w.ID, &w.Collection, &w.URL, JSON(&w.Events), &w.Secrets, Time(&w.CreatedAt), Time(&w.UpdatedAt))
	if len(w.Events) == 0 {
		w.Events = nil
	}
	return w, err
}

// DeliveryColumns are the columns of deliveries d that ScanDelivery reads.
const DeliveryColumns = "d.webhook, d.id, d.collection, d.revision, d.event, d.state, d.attempts, d.status, d.error, d.created_at, d.updated_at, d.next_at"

// ScanDelivery reads DeliveryColumns.
func ScanDelivery(row Scanner) (d memory.Delivery, err error) {
	err = row.Scan(&d.Webhook, &d.ID, &d.Collection, &d.Revision, &d.Event, &d.State, &d.Attempts, &d.Status, &d.Error,
		Time(&d.CreatedAt), Time(&d.UpdatedAt), Time(&d.NextAt))
	return d, err
}

func findWebhook(ctx context.Context, q WebhookRows, s tenant.Scope, id uuid.UUID) (memory.Webhook, error) {
	w, ok, err := q.WebhookByID(ctx, s.Tenant(), id)
	if err == nil && !ok {
		err = fault.Missing("webhook")
	}
	return w, err
}

// Webhook implements memory.WebhookStore.
func (b *Base) Webhook(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Webhook, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) (memory.Webhook, error) {
		return findWebhook(ctx, q, s, id)
	})
}

// ListWebhooks implements memory.WebhookStore.
func (b *Base) ListWebhooks(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]memory.Webhook, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.Webhook, error) {
		return q.WebhooksAfter(ctx, s.Tenant(), after, limit)
	})
}

func checkWebhook(w *memory.Webhook) error {
	return cmp.Or(Text("url", w.URL), texts("events", w.Events))
}

// CreateWebhook implements memory.WebhookStore.
func (b *Base) CreateWebhook(ctx context.Context, s tenant.Scope, w memory.Webhook, most int, audit memory.AuditEntry) (memory.Webhook, error) {
	if err := checkWebhook(&w); err != nil {
		return w, err
	}
	if w.ID == uuid.Nil {
		var err error
		if w.ID, err = uuid.NewV7(); err != nil {
			return w, fault.Wrap(err, fault.Internal, "an id could not be generated")
		}
	}
	err := b.write(ctx, s, func(ctx context.Context, q Session) error {
		now := b.now()
		if err := q.CheckTenant(ctx, s.Tenant()); err != nil {
			return err
		}
		q.LockUsage(s.Tenant()) // one after the other, so that they are counted
		if w.Collection != uuid.Nil {
			if _, err := ReachVisible(ctx, q, s, w.Collection, now); err != nil {
				return err
			}
		}
		all, err := q.WebhooksAfter(ctx, s.Tenant(), uuid.Nil, most)
		if err != nil {
			return err
		}
		if len(all) >= most {
			return fault.New(fault.QuotaExceeded, "the tenant has %d webhooks, and no room for another; delete one first", most)
		}
		w.CreatedAt, w.UpdatedAt = now, now
		if err := q.PutWebhook(ctx, s.Tenant(), w); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, w.ID, audit, now)
	})
	return w, err
}

// UpdateWebhook implements memory.WebhookStore.
func (b *Base) UpdateWebhook(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*memory.Webhook) error) (w memory.Webhook, err error) {
	err = b.write(ctx, s, func(ctx context.Context, q Session) error {
		q.LockWebhook(s.Tenant(), id)
		old, err := findWebhook(ctx, q, s, id)
		if err != nil {
			return err
		}
		w = old
		if err := fn(&w); err != nil {
			return err
		}
		if err := checkWebhook(&w); err != nil {
			return err
		}
		w.ID, w.Collection, w.CreatedAt, w.UpdatedAt = old.ID, old.Collection, old.CreatedAt, b.now()
		if err := q.PutWebhook(ctx, s.Tenant(), w); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, id, audit, w.UpdatedAt)
	})
	return w, err
}

// DeleteWebhook implements memory.WebhookStore.
func (b *Base) DeleteWebhook(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) error {
	return b.free(ctx, s, func(ctx context.Context, q Session) error {
		q.LockWebhook(s.Tenant(), id)
		if _, err := findWebhook(ctx, q, s, id); err != nil {
			return err
		}
		if err := q.DeleteWebhook(ctx, s.Tenant(), id); err != nil {
			return err
		}
		return auditTarget(ctx, q, s, id, audit, b.now())
	})
}

// Deliveries implements memory.WebhookStore.
func (b *Base) Deliveries(ctx context.Context, s tenant.Scope, dq memory.DeliveryQuery) ([]memory.Delivery, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.Delivery, error) {
		if _, err := findWebhook(ctx, q, s, dq.Webhook); err != nil {
			return nil, err
		}
		return q.ListDeliveries(ctx, s.Tenant(), dq)
	})
}

// PutDelivery implements memory.WebhookStore.
func (b *Base) PutDelivery(ctx context.Context, s tenant.Scope, d memory.Delivery) error {
	d.Error, d.CreatedAt, d.UpdatedAt, d.NextAt = Clean(d.Error), Micros(d.CreatedAt), Micros(d.UpdatedAt), Micros(d.NextAt)
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		q.LockWebhook(s.Tenant(), d.Webhook)
		if _, err := findWebhook(ctx, q, s, d.Webhook); err != nil {
			return err
		}
		if err := q.DropDeliveries(ctx, s.Tenant(), d.Webhook, b.now().Add(-memory.DeliveryRetention)); err != nil {
			return err
		}
		return q.PutDelivery(ctx, s.Tenant(), d)
	})
}

// tellWebhooks enqueues a job for each webhook of the collection that has none yet. One that runs sees what this transaction
// writes: it ends only under the lock of the head, when there is nothing left.
func (t *Tx) tellWebhooks() error {
	if !t.head.Told {
		return nil
	}
	hooks, err := t.q.WebhooksOf(t.ctx, t.scope.Tenant(), t.row.ID)
	if err != nil {
		return err
	}
	jobs, err := t.q.UnendedJobs(t.ctx, t.scope.Tenant(), t.row.ID, memory.JobWebhook)
	if err != nil {
		return err
	}
	for i := range jobs {
		var p memory.WebhookJob
		if json.Unmarshal(jobs[i].Payload, &p) == nil && p.Delivery == uuid.Nil {
			hooks = slices.DeleteFunc(hooks, func(id uuid.UUID) bool { return id == p.Webhook })
		}
	}
	for _, id := range hooks {
		payload, err := json.Marshal(memory.WebhookJob{Webhook: id, After: t.view.At})
		if err != nil {
			return err
		}
		_, err = enqueue(t.ctx, t.q, t.scope.Tenant(), memory.Job{Collection: t.row.ID, Kind: memory.JobWebhook, Stage: memory.StageSend, Payload: payload}, t.now)
		if err != nil {
			return err
		}
		t.told = true
	}
	return nil
}
