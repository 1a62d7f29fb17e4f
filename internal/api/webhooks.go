package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/hooks"
)

func (h *core) createWebhook(c *gin.Context, body wire.WebhookInput) error {
	w, secret, err := h.Hooks.Create(c.Request.Context(), scope(c), valueOr(body.Collection, ""), hooks.Change{URL: &body.URL, Events: eventNames(body.Events)})
	if err != nil {
		return err
	}
	return reply(c, http.StatusCreated, wireWebhook(&w, secret))
}

func (h *core) listWebhooks(c *gin.Context) error {
	page, next, err := pageOf(h.Server, c, func(after string, limit int) ([]memory.Webhook, error) {
		id, err := parseAfter(after)
		if err != nil {
			return nil, err
		}
		return h.Hooks.List(c.Request.Context(), scope(c), id, limit)
	}, func(w *memory.Webhook) string { return w.ID.String() }, func(w *memory.Webhook) wire.Webhook { return wireWebhook(w, "") })
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.WebhookList{Items: page, NextCursor: next})
}

func (h *core) getWebhook(c *gin.Context, id uuid.UUID) error {
	w, err := h.Hooks.Get(c.Request.Context(), scope(c), id)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wireWebhook(&w, ""))
}

func (h *core) patchWebhook(c *gin.Context, id uuid.UUID) error {
	body, err := bind[wire.WebhookPatch](c)
	if err != nil {
		return err
	}
	change := hooks.Change{URL: body.URL, Rotate: valueOr(body.RotateSecret, false)}
	if body.Events.IsSpecified() {
		var events []wire.WebhookEvent
		if !body.Events.IsNull() {
			events = body.Events.MustGet()
		}
		change.Events = eventNames(events)
	}
	w, secret, err := h.Hooks.Update(c.Request.Context(), scope(c), id, change)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wireWebhook(&w, secret))
}

func (h *core) deleteWebhook(c *gin.Context, id uuid.UUID) error {
	if err := h.Hooks.Delete(c.Request.Context(), scope(c), id); err != nil {
		return err
	}
	return noContent(c)
}

func (h *core) listDeliveries(c *gin.Context, id uuid.UUID) error {
	page, next, err := pageOf(h.Server, c, func(after string, limit int) ([]memory.Delivery, error) {
		before, err := parseAfter(after)
		if err != nil {
			return nil, err
		}
		return h.Hooks.Deliveries(c.Request.Context(), scope(c), memory.DeliveryQuery{
			Webhook: id, State: memory.DeliveryState(query(c).Get("state")), Before: before, Limit: limit,
		})
	}, func(d *memory.Delivery) string { return d.ID.String() }, wireDelivery)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.DeliveryList{Items: page, NextCursor: next})
}

func (h *core) retryDelivery(c *gin.Context) error {
	webhook, err := pathID(c, "webhook")
	if err != nil {
		return err
	}
	id, err := pathID(c, "delivery")
	if err != nil {
		return err
	}
	d, err := h.Hooks.Retry(c.Request.Context(), scope(c), webhook, id)
	if err != nil {
		return err
	}
	return reply(c, http.StatusAccepted, wireDelivery(&d))
}

func eventNames(events []wire.WebhookEvent) *[]string {
	return new(named[string](events))
}

func wireWebhook(w *memory.Webhook, secret string) wire.Webhook {
	out := wire.Webhook{ID: w.ID, URL: w.URL, Collection: wire.Optional(w.Collection), CreatedAt: wire.Time(w.CreatedAt), UpdatedAt: wire.Time(w.UpdatedAt)}
	events := w.Events
	if len(events) == 0 {
		events = hooks.Events()
	}
	out.Events = named[wire.WebhookEvent](events)
	if secret != "" {
		out.Secret = &secret
	}
	return out
}

func wireDelivery(d *memory.Delivery) wire.Delivery {
	out := wire.Delivery{
		ID: d.ID, Event: d.Event, Collection: d.Collection, Revision: int64(d.Revision), State: wire.DeliveryState(d.State), Attempts: d.Attempts,
		CreatedAt: wire.Time(d.CreatedAt), UpdatedAt: wire.Time(d.UpdatedAt),
	}
	if d.Status != 0 {
		out.Status = &d.Status
	}
	if d.Error != "" {
		out.Error = &d.Error
	}
	if !d.NextAt.IsZero() {
		out.NextAt = new(wire.Time(d.NextAt))
	}
	return out
}
