package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// DeliveryRows are the rows of deliveries.
type DeliveryRows interface {
	// ListDeliveries lists deliveries, newest first.
	ListDeliveries(ctx context.Context, tenantID uuid.UUID, q memory.DeliveryQuery) ([]memory.Delivery, error)
}

// webhooks returns the webhooks of the tenant that is $1 of the condition.
func webhooks(ctx context.Context, q Conn, where string, args ...any) ([]memory.Webhook, error) {
	return collect(ctx, q, "SELECT id, collection, url, events, secrets, created_at, updated_at FROM webhooks WHERE tenant = $1 AND "+where, args,
		func(row Scanner) (w memory.Webhook, err error) {
			err = row.Scan(&w.ID, &w.Collection, &w.URL, JSON(&w.Events), &w.Secrets, Time(&w.CreatedAt), Time(&w.UpdatedAt))
			if len(w.Events) == 0 {
				w.Events = nil
			}
			return w, err
		})
}

// putWebhook inserts a webhook, or writes URL, Events, Secrets and UpdatedAt.
func putWebhook(ctx context.Context, q Conn, tenantID uuid.UUID, w *memory.Webhook) error {
	events, err := Document("events", append([]string{}, w.Events...))
	if err != nil {
		return err
	}
	return q.Later(ctx, `INSERT INTO webhooks (tenant, id, collection, url, events, secrets, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
 ON CONFLICT (tenant, id) DO UPDATE SET url = excluded.url, events = excluded.events, secrets = excluded.secrets, updated_at = excluded.updated_at`,
		tenantID, w.ID, w.Collection, w.URL, events, append([]byte{}, w.Secrets...), w.CreatedAt, w.UpdatedAt)
}

// DeliveryColumns are the columns of deliveries d that ScanDelivery reads.
const DeliveryColumns = "d.webhook, d.id, d.collection, d.revision, d.event, d.state, d.attempts, d.status, d.error, d.created_at, d.updated_at, d.next_at"

// ScanDelivery reads DeliveryColumns.
func ScanDelivery(row Scanner) (d memory.Delivery, err error) {
	err = row.Scan(&d.Webhook, &d.ID, &d.Collection, &d.Revision, &d.Event, &d.State, &d.Attempts, &d.Status, &d.Error,
		Time(&d.CreatedAt), Time(&d.UpdatedAt), Time(&d.NextAt))
	return d, err
}

func findWebhook(ctx context.Context, q Conn, s tenant.Scope, id uuid.UUID) (memory.Webhook, error) {
	w, ok, err := First(webhooks(ctx, q, "id = $2", s.Tenant(), id))
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
		return webhooks(ctx, q, "id > $2 ORDER BY id"+atMost("$3"), s.Tenant(), after, Limit(limit))
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
		if err := CheckTenant(ctx, q, s.Tenant()); err != nil {
			return err
		}
		q.LockUsage(s.Tenant()) // one after the other, so that they are counted
		if w.Collection != uuid.Nil {
			if _, err := ReachVisible(ctx, q, s, w.Collection, now); err != nil {
				return err
			}
		}
		have, err := webhooks(ctx, q, "id > $2 ORDER BY id"+atMost("$3"), s.Tenant(), uuid.Nil, Limit(most))
		if err != nil {
			return err
		}
		if len(have) >= most {
			return fault.New(fault.QuotaExceeded, "the tenant has %d webhooks, and no room for another; delete one first", most)
		}
		w.CreatedAt, w.UpdatedAt = now, now
		if err := putWebhook(ctx, q, s.Tenant(), &w); err != nil {
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
		if err := putWebhook(ctx, q, s.Tenant(), &w); err != nil {
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
		err := all(ctx, q, []any{s.Tenant(), id}, "DELETE FROM deliveries WHERE tenant = $1 AND webhook = $2", "DELETE FROM webhooks WHERE tenant = $1 AND id = $2")
		if err != nil {
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
		err := q.Later(ctx, "DELETE FROM deliveries WHERE tenant = $1 AND webhook = $2 AND updated_at < $3 AND state <> 'waiting'",
			s.Tenant(), d.Webhook, b.now().Add(-memory.DeliveryRetention))
		if err != nil {
			return err
		}
		return q.Later(ctx, `INSERT INTO deliveries (tenant, webhook, id, collection, revision, event, state, attempts, status, error, created_at, updated_at, next_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (tenant, webhook, id) DO UPDATE SET state = excluded.state,
 attempts = excluded.attempts, status = excluded.status, error = excluded.error, updated_at = excluded.updated_at, next_at = excluded.next_at`,
			s.Tenant(), d.Webhook, d.ID, d.Collection, int64(d.Revision), d.Event, string(d.State), d.Attempts, d.Status, d.Error, d.CreatedAt, d.UpdatedAt, d.NextAt)
	})
}

// tellWebhooks enqueues a job for each webhook of the collection that has none yet. One that runs sees what this transaction
// writes: it ends only under the lock of the head, when there is nothing left.
func (t *Tx) tellWebhooks() error {
	if !t.head.Told {
		return nil
	}
	hooks, err := collect(t.ctx, t.q, "SELECT id FROM webhooks WHERE tenant = $1 AND collection IN ($2, $3) ORDER BY id",
		[]any{t.scope.Tenant(), uuid.Nil, t.row.ID}, ScanOne[uuid.UUID])
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
