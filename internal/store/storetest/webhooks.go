package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func webhookCases() []testCase {
	return []testCase{
		{"Keep", keepWebhooks},
		{"Deliveries", keepDeliveries},
		{"Tell", tellWebhooks},
	}
}

const manyWebhooks = 100

func (w *world) webhook(collection uuid.UUID) memory.Webhook {
	w.t.Helper()
	in := memory.Webhook{Collection: collection, URL: "https://example.com/hook", Events: []string{"note.added"}, Secrets: []byte{1, 0, 255}}
	return must(w.CreateWebhook(w.ctx, w.all, in, manyWebhooks, memory.AuditEntry{Action: "webhook.create"}))(w.t)
}

func keepWebhooks(_ *testing.T, w *world) {
	c := w.collection("c")
	one, two := w.webhook(uuid.Nil), w.webhook(c.ID)
	got := must(w.Webhook(w.ctx, w.all, two.ID))(w.t)
	w.assertf(cmp.Diff(two, got) == "" && !got.CreatedAt.IsZero(), "read: %s", cmp.Diff(two, got))
	page := must(w.ListWebhooks(w.ctx, w.all, one.ID, 1))(w.t)
	w.assertf(len(page) == 1 && page[0].ID == two.ID && len(must(w.ListWebhooks(w.ctx, w.all, uuid.Nil, 0))(w.t)) == 2, "a page: %+v", page)
	w.assertf(len(must(w.ListWebhooks(w.ctx, w.foreign, uuid.Nil, 0))(w.t)) == 0, "another tenant sees some")
	w.wantFault(errOf(w.CreateWebhook(w.ctx, w.all, memory.Webhook{}, 2, memory.AuditEntry{})), fault.QuotaExceeded)
	w.wantFault(errOf(w.CreateWebhook(w.ctx, w.foreign, memory.Webhook{Collection: c.ID}, 2, memory.AuditEntry{})), fault.NotFound)
	w.wantInvalid(errOf(w.CreateWebhook(w.ctx, w.all, memory.Webhook{URL: "a\x00"}, manyWebhooks, memory.AuditEntry{})), "url")

	w.clock.Advance(time.Minute)
	changed := must(w.UpdateWebhook(w.ctx, w.all, two.ID, memory.AuditEntry{Action: "webhook.update"}, func(h *memory.Webhook) error {
		h.ID, h.Collection, h.URL, h.Events, h.Secrets = uuid.New(), uuid.New(), "https://example.org", nil, []byte{2}
		return nil
	}))(w.t)
	w.assertf(changed.ID == two.ID && changed.Collection == c.ID && changed.Events == nil && changed.UpdatedAt.After(two.UpdatedAt), "changed: %+v", changed)
	got = must(w.Webhook(w.ctx, w.all, two.ID))(w.t)
	w.assertf(cmp.Diff(changed, got) == "", "after the change: %s", cmp.Diff(changed, got))
	w.noError(w.DeleteWebhook(w.ctx, w.all, two.ID, memory.AuditEntry{Action: "webhook.delete"}))
	w.wantFault(errOf(w.Webhook(w.ctx, w.all, two.ID)), fault.NotFound)
	w.wantFault(w.DeleteWebhook(w.ctx, w.all, two.ID, memory.AuditEntry{}), fault.NotFound)
	for _, action := range []string{"webhook.create", "webhook.update", "webhook.delete"} {
		l := must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: action, Target: two.ID.String()}))(w.t)
		w.assertf(len(l) == 1, "%d entries of %s", len(l), action)
	}
}

func keepDeliveries(_ *testing.T, w *world) {
	hook, other := w.webhook(uuid.Nil), w.webhook(uuid.Nil)
	var made []memory.Delivery
	for i := range 3 {
		d := memory.Delivery{
			ID: uuid.Must(uuid.NewV7()), Webhook: hook.ID, Collection: uuid.New(), Revision: memory.Revision(i), Event: "note.added", State: memory.DeliveryWaiting,
			Attempts: 1, Status: 500, Error: "no", CreatedAt: w.clock.Now().Truncate(time.Microsecond), UpdatedAt: w.clock.Now().Truncate(time.Microsecond),
			NextAt: w.clock.Now().Truncate(time.Microsecond),
		}
		w.noError(w.PutDelivery(w.ctx, w.all, d))
		made = append(made, d)
	}
	d := made[1]
	d.State, d.Attempts, d.Status, d.Error, d.NextAt = memory.DeliveryDelivered, 2, 200, "", time.Time{}
	w.noError(w.PutDelivery(w.ctx, w.all, d))
	list := func(q memory.DeliveryQuery) []memory.Delivery {
		q.Webhook = hook.ID
		return must(w.Deliveries(w.ctx, w.all, q))(w.t)
	}
	got := list(memory.DeliveryQuery{})
	w.assertf(cmp.Diff([]memory.Delivery{made[2], d, made[0]}, got) == "", "all: %s", cmp.Diff([]memory.Delivery{made[2], d, made[0]}, got))
	w.assertf(len(list(memory.DeliveryQuery{State: memory.DeliveryWaiting})) == 2, "those that wait")
	page := list(memory.DeliveryQuery{Before: d.ID, Limit: 1})
	w.assertf(len(page) == 1 && page[0].ID == made[0].ID, "a page: %+v", page)
	w.assertf(len(list(memory.DeliveryQuery{IDs: []uuid.UUID{d.ID, uuid.New()}})) == 1 && len(list(memory.DeliveryQuery{IDs: []uuid.UUID{}})) == 0, "by id")
	w.assertf(len(must(w.Deliveries(w.ctx, w.all, memory.DeliveryQuery{Webhook: other.ID}))(w.t)) == 0, "another webhook has them")
	w.wantFault(errOf(w.Deliveries(w.ctx, w.foreign, memory.DeliveryQuery{Webhook: hook.ID})), fault.NotFound)

	// Old ones go when a new one is stored, but for those that wait.
	w.clock.Advance(memory.DeliveryRetention + time.Hour)
	late := made[2]
	late.ID, late.UpdatedAt = uuid.Must(uuid.NewV7()), w.clock.Now()
	w.noError(w.PutDelivery(w.ctx, w.all, late))
	w.assertf(len(list(memory.DeliveryQuery{})) == 3 && len(list(memory.DeliveryQuery{State: memory.DeliveryDelivered})) == 0, "the old one is there")

	w.noError(w.DeleteWebhook(w.ctx, w.all, hook.ID, memory.AuditEntry{}))
	w.wantFault(errOf(w.Deliveries(w.ctx, w.all, memory.DeliveryQuery{Webhook: hook.ID})), fault.NotFound)
	w.wantFault(w.PutDelivery(w.ctx, w.all, late), fault.NotFound)
}

// tellWebhooks: a write enqueues one job for each webhook of its collection, unless it has one that has not ended.
func tellWebhooks(_ *testing.T, w *world) {
	c, other := w.collection("c"), w.collection("other")
	w.add(c.ID, "before there are webhooks")
	jobs := func(collection uuid.UUID) (out []memory.WebhookJob) {
		for _, j := range must(w.ListJobs(w.ctx, w.all, memory.JobQuery{Collection: collection}))(w.t) {
			if j.Kind == memory.JobAdopt {
				continue
			}
			w.assertf(j.Kind == memory.JobWebhook && j.Stage == memory.StageSend && j.Collection == collection, "a job is %+v", j)
			var p memory.WebhookJob
			w.noError(json.Unmarshal(j.Payload, &p))
			out = append(out, p)
		}
		return out
	}
	everywhere, here := w.webhook(uuid.Nil), w.webhook(c.ID)
	w.assertf(len(jobs(c.ID)) == 0, "a webhook alone makes jobs")
	w.add(c.ID, "two")
	w.add(c.ID, "three")
	told := jobs(c.ID)
	w.assertf(len(told) == 2 && told[0].After == 1 && told[1].After == 1 && told[0].Webhook != told[1].Webhook, "jobs %+v", told)
	written := must(w.Write(w.ctx, w.all, other.ID, memory.WriteOptions{Cause: memory.CauseAdd}, func(_ context.Context, tx memory.Tx) error {
		_, err := tx.Put(w.ctx, memory.Note{Content: "elsewhere"})
		return err
	}))(w.t)
	told = jobs(other.ID)
	w.assertf(written.Told && len(told) == 1 && told[0].Webhook == everywhere.ID && told[0].After == 0, "jobs %+v, written %+v", told, written)
	w.assertf(len(jobs(w.mustFork(c.ID, -1, "fork").ID)) == 0, "a fork alone makes jobs")

	due := must(w.DueCollections(w.ctx, w.clock.Now(), 10))(w.t)
	w.assertf(slices.Contains(due, memory.Due{Tenant: w.all.Tenant(), Collection: other.ID}), "due are %+v", due)

	// One that runs does not end while there is something to tell, under the lock of the head.
	lease := uuid.New()
	running := must(w.ClaimJobs(w.ctx, w.all, c.ID, memory.StageSend, lease, w.clock.Now().Add(time.Hour), 10))(w.t)
	w.assertf(len(running) == 2, "claimed %+v", running)
	w.add(c.ID, "four")
	w.assertf(len(jobs(c.ID)) == 2, "a running job is not enough: %+v", jobs(c.ID))
	for _, j := range running {
		w.write(c.ID, func(tx memory.Tx) error { return tx.EndJob(w.ctx, j.ID, lease, memory.JobEnd{State: memory.JobDone}) })
	}
	w.noError(w.DeleteWebhook(w.ctx, w.all, here.ID, memory.AuditEntry{}))
	w.add(c.ID, "five")
	told = jobs(c.ID)
	w.assertf(len(told) == 3 && told[0].Webhook == everywhere.ID && told[0].After == 4, "jobs %+v", told)
}
