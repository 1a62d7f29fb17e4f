package hooks

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/seal"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Purpose is the purpose for which the secrets of webhooks are sealed.
const Purpose = "slipbox secrets of webhooks 1"

const (
	maxWebhooks = 100            // of a tenant
	maxBusy     = 4              // jobs of a webhook that run in a process: one that hangs leaves slots to others
	secretBytes = 32             // of random data
	overlap     = 24 * time.Hour // for which messages are signed with the secret before, too
)

// Store is what Service requires of a store.
type Store interface {
	memory.WebhookStore
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
	OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error)
	Changes(ctx context.Context, s tenant.Scope, v memory.View, after memory.Revision, limit int) ([]memory.Change, error)
	Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(ctx context.Context, tx memory.Tx) error) (memory.Written, error)
	ReleaseJob(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, end memory.JobEnd) error
}

// Deps are the parts that the service uses; all are required, but for Clock.
type Deps struct {
	Store     Store
	Directory tenant.Directory // says which hosts a tenant may reach
	Client    *outbound.Client
	Sealer    seal.Sealer
	Clock     memory.Clock // nil: the real time
}

// Config of deliveries. Zero fields take the defaults.
type Config struct {
	Timeout time.Duration // of one try; default 10 s
	// GiveUp is how long after its change a message that fails is tried again; default 24 h.
	GiveUp time.Duration
}

// Service keeps webhooks and sends to them. It is safe for concurrent use.
type Service struct {
	Deps

	cfg  Config
	mu   sync.Mutex
	busy map[uuid.UUID]int // how many jobs of a webhook run in this process
}

// New returns a service.
func New(d Deps, cfg Config) (*Service, error) {
	if d.Store == nil || d.Directory == nil || d.Client == nil || d.Sealer == (seal.Sealer{}) {
		return nil, fault.New(fault.Internal, "hooks: store, directory, client and sealer are required")
	}
	if d.Clock == nil {
		d.Clock = time.Now
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.GiveUp <= 0 {
		cfg.GiveUp = 24 * time.Hour
	}
	return &Service{Deps: d, cfg: cfg, busy: map[uuid.UUID]int{}}, nil
}

// administer returns Forbidden for a scope that may not see to webhooks: they hear of the whole tenant.
func administer(s tenant.Scope) error {
	if err := tenant.Check(s, tenant.Admin); err != nil {
		return err
	}
	if s.HasAgent() {
		return fault.New(fault.Forbidden, "the credential is bound to an agent and cannot see to the tenant's webhooks")
	}
	return nil
}

// hosts returns the hosts that a tenant's webhooks may be at.
func (v *Service) hosts(ctx context.Context, s tenant.Scope) (outbound.Hosts, error) {
	t, err := v.Directory.TenantByID(ctx, s.Tenant())
	if err != nil {
		return outbound.Hosts{}, err
	}
	h, err := outbound.ParseHosts(t.Hosts()...)
	return h, fault.Wrap(err, fault.Internal, "the allowed hosts of the tenant cannot be read")
}

// Change says what to change of a webhook; nil: nothing.
type Change struct {
	URL    *string
	Events *[]string // empty: all
	Rotate bool      // make another secret; the one before is good for a day
}

// Create stores a webhook (admin) and returns its secret, which is not shown again. collection "" is every collection.
func (v *Service) Create(ctx context.Context, s tenant.Scope, collection string, c Change) (w memory.Webhook, secret string, err error) {
	if err := administer(s); err != nil {
		return w, "", err
	}
	if collection != "" {
		found, err := v.Store.ResolveCollection(ctx, s, collection)
		if err != nil {
			return w, "", err
		}
		w.Collection = found.ID
	}
	if w.ID, err = uuid.NewV7(); err != nil {
		return w, "", fault.Wrap(err, fault.Internal, "an id could not be generated")
	}
	c.Rotate = true
	hosts, err := v.hosts(ctx, s)
	if err != nil {
		return w, "", err
	}
	if secret, err = v.change(s, &w, c, hosts); err != nil {
		return w, "", err
	}
	w, err = v.Store.CreateWebhook(ctx, s, w, maxWebhooks, memory.AuditEntry{Action: "webhook.create", Detail: map[string]any{"origin": outbound.Origin(w.URL)}})
	return w, secret, err
}

// change applies a change to a webhook, and returns its new secret if it gets one.
func (v *Service) change(s tenant.Scope, w *memory.Webhook, c Change, hosts outbound.Hosts) (secret string, err error) {
	if c.URL != nil {
		if err := v.Client.Check(*c.URL, hosts); err != nil {
			return "", err
		}
		w.URL = *c.URL
	}
	if c.Events != nil {
		w.Events = nil
		for _, e := range *c.Events {
			if !slices.Contains(Events(), e) {
				return "", fault.InvalidField("events", "the event %q is not known; there are %v", e, Events())
			}
			if !slices.Contains(w.Events, e) {
				w.Events = append(w.Events, e)
			}
		}
	}
	if !c.Rotate {
		return "", nil
	}
	old, err := v.secrets(s, w)
	if err != nil {
		old = nil // sealed with another wrapping key: they are replaced
	}
	raw := make([]byte, secretBytes)
	if _, err := rand.Read(raw); err != nil {
		return "", fault.Wrap(err, fault.Internal, "a secret could not be generated")
	}
	secret = "whsec_" + base64.StdEncoding.EncodeToString(raw)
	now := v.Clock().UTC()
	kept := []signing{{Secret: secret}}
	if len(old) > 0 {
		kept = append(kept, signing{Secret: old[0].Secret, Until: now.Add(overlap)})
	}
	plain, err := json.Marshal(kept) //nolint:gosec // they are sealed
	if err != nil {
		return "", fault.Wrap(err, fault.Internal, "encode the secrets of a webhook")
	}
	w.Secrets = v.Sealer.Seal(owner(s, w), plain)
	return secret, nil
}

// signing is a secret with which messages are signed.
type signing struct {
	Secret string    `json:"secret"`
	Until  time.Time `json:"until,omitzero"` // zero: it is the current one
}

// owner binds the secrets of a webhook to it: those of another one, or tenant, cannot be opened in its place.
func owner(s tenant.Scope, w *memory.Webhook) string {
	return s.Tenant().String() + "/" + w.ID.String()
}

// secrets returns those of a webhook that are good now, the current one first.
func (v *Service) secrets(s tenant.Scope, w *memory.Webhook) (out []signing, err error) {
	if len(w.Secrets) == 0 {
		return nil, nil
	}
	plain, err := v.Sealer.Open(owner(s, w), w.Secrets)
	if err == nil {
		err = json.Unmarshal(plain, &out)
	}
	if err != nil {
		return nil, fault.New(fault.Conflict, "the secret of the webhook cannot be read, because the wrapping key of this installation is another one; rotate it")
	}
	now := v.Clock()
	return slices.DeleteFunc(out, func(x signing) bool { return !x.Until.IsZero() && x.Until.Before(now) }), nil
}

// Get returns a webhook (admin).
func (v *Service) Get(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Webhook, error) {
	if err := administer(s); err != nil {
		return memory.Webhook{}, err
	}
	return v.Store.Webhook(ctx, s, id)
}

// List returns a page of webhooks, oldest first, after one (admin).
func (v *Service) List(ctx context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]memory.Webhook, error) {
	if err := administer(s); err != nil {
		return nil, err
	}
	return v.Store.ListWebhooks(ctx, s, after, limit)
}

// Update changes a webhook (admin), and returns its new secret if it got one.
func (v *Service) Update(ctx context.Context, s tenant.Scope, id uuid.UUID, c Change) (w memory.Webhook, secret string, err error) {
	if err := administer(s); err != nil {
		return w, "", err
	}
	hosts, err := v.hosts(ctx, s)
	if err != nil {
		return w, "", err
	}
	audit := memory.AuditEntry{Action: "webhook.update", Detail: map[string]any{"rotated": c.Rotate}}
	w, err = v.Store.UpdateWebhook(ctx, s, id, audit, func(w *memory.Webhook) (err error) {
		secret, err = v.change(s, w, c, hosts)
		return err
	})
	return w, secret, err
}

// Delete deletes a webhook with its deliveries (admin).
func (v *Service) Delete(ctx context.Context, s tenant.Scope, id uuid.UUID) error {
	if err := administer(s); err != nil {
		return err
	}
	return v.Store.DeleteWebhook(ctx, s, id, memory.AuditEntry{Action: "webhook.delete"})
}

// Deliveries lists what was sent to a webhook, newest first (admin).
func (v *Service) Deliveries(ctx context.Context, s tenant.Scope, q memory.DeliveryQuery) ([]memory.Delivery, error) {
	if err := administer(s); err != nil {
		return nil, err
	}
	return v.Store.Deliveries(ctx, s, q)
}

// Retry enqueues that a message is sent once more, also one that was accepted (admin). It does not wait for its turn.
func (v *Service) Retry(ctx context.Context, s tenant.Scope, webhook, delivery uuid.UUID) (memory.Delivery, error) {
	if err := administer(s); err != nil {
		return memory.Delivery{}, err
	}
	d, err := v.delivery(ctx, s, webhook, delivery)
	if err != nil {
		return d, err
	}
	payload, err := json.Marshal(memory.WebhookJob{Webhook: webhook, After: d.Revision - 1, Delivery: delivery})
	if err != nil {
		return d, fault.Wrap(err, fault.Internal, "the payload of the job cannot be encoded")
	}
	o := memory.WriteOptions{System: true, Audit: []memory.AuditEntry{{Action: "webhook.retry", Target: webhook.String(), Detail: map[string]any{"delivery": delivery.String()}}}}
	_, err = v.Store.Write(ctx, s, d.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Enqueue(ctx, memory.Job{Kind: memory.JobWebhook, Stage: memory.StageSend, Payload: payload})
		return err
	})
	return d, err
}

func (v *Service) delivery(ctx context.Context, s tenant.Scope, webhook, id uuid.UUID) (memory.Delivery, error) {
	found, err := v.Store.Deliveries(ctx, s, memory.DeliveryQuery{Webhook: webhook, IDs: []uuid.UUID{id}})
	if err == nil && len(found) == 0 {
		err = fault.Missing("delivery")
	}
	if err != nil {
		return memory.Delivery{}, err
	}
	return found[0], nil
}
