package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Webhook is an address of a tenant that is told of changes. It belongs to no agent.
type Webhook struct {
	ID         uuid.UUID
	Collection uuid.UUID // whose changes it is told of; zero: those of every collection of the tenant
	URL        string
	Events     []string // empty: all
	Secrets    []byte   // encrypted; no store can read them
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// DeliveryState is what became of a message to a webhook.
type DeliveryState string

// The states. Waiting: it failed and is tried again. Dead: it was given up, and is sent again only when a caller asks.
const (
	DeliveryWaiting   DeliveryState = "waiting"
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryDead      DeliveryState = "dead"
)

// Delivery is a message to a webhook that was sent at least once. What it says is read from the log.
type Delivery struct {
	ID         uuid.UUID // a function of what it is about, so that a message that is sent again has the same one
	Webhook    uuid.UUID
	Collection uuid.UUID
	Revision   Revision
	Event      string
	State      DeliveryState
	Attempts   int
	Status     int    // of the last answer; 0: there was none
	Error      string // of the last try; "": it was accepted
	CreatedAt  time.Time
	UpdatedAt  time.Time // of the last try
	NextAt     time.Time // of the next try; zero: none
}

// DeliveryRetention is how long a delivery that needs no further try is kept.
const DeliveryRetention = 30 * 24 * time.Hour

// WebhookJob is the payload of a job of kind webhook, which tells a webhook of the changes of one collection, in order. A write
// enqueues one for each webhook of its collection that has none.
type WebhookJob struct {
	Webhook  uuid.UUID `json:"webhook"`
	After    Revision  `json:"after"`             // all that was before is done
	Delivery uuid.UUID `json:"delivery,omitzero"` // only this one, which a caller asked to send again
}

// WebhookStore stores webhooks of tenants and what was sent to them. Who may change them is a matter of permissions.
type WebhookStore interface {
	WebhookReader
	// CreateWebhook stores a webhook; a zero ID makes a new one. NotFound for a collection that the scope does not reach,
	// QuotaExceeded when there are most already.
	CreateWebhook(ctx context.Context, s tenant.Scope, w Webhook, most int, audit AuditEntry) (Webhook, error)
	// UpdateWebhook reads a webhook, calls fn to modify its URL, Events and Secrets, and writes them. fn may run more than once.
	UpdateWebhook(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry, fn func(*Webhook) error) (Webhook, error)
	// DeleteWebhook deletes a webhook with its deliveries; NotFound.
	DeleteWebhook(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry) error
	// PutDelivery stores a delivery, or what is new of it, and deletes those of the webhook that were last tried before
	// DeliveryRetention and do not wait. NotFound when the webhook is gone.
	PutDelivery(ctx context.Context, s tenant.Scope, d Delivery) error
}

// WebhookReader reads webhooks and deliveries.
type WebhookReader interface {
	// Webhook finds a webhook; NotFound.
	Webhook(ctx context.Context, s tenant.Scope, id uuid.UUID) (Webhook, error)
	// ListWebhooks returns a page, oldest first, after the given one. Limit 0: all.
	ListWebhooks(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]Webhook, error)
	// Deliveries lists the deliveries of a webhook, newest first; NotFound for a webhook that is not there.
	Deliveries(ctx context.Context, s tenant.Scope, q DeliveryQuery) ([]Delivery, error)
}

// DeliveryQuery pages through deliveries.
type DeliveryQuery struct {
	Webhook uuid.UUID
	IDs     []uuid.UUID   // only these; nil: all
	State   DeliveryState // "": any
	Before  uuid.UUID     // cursor: id of the last one; zero: from the newest
	Limit   int           // 0: all
}
