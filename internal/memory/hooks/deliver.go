package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// page is how many changesets one try of a job reads: those of other collections get their turn.
const page = 50

// gone is the answer of a receiver that wants no more messages (Standard Webhooks).
const gone = 410

// isOff reports whether the receiver of the newest message said that it is gone. The webhook is sent nothing then, until it is changed, or
// that message is accepted when a caller has it sent again.
func (v *Service) isOff(ctx context.Context, s tenant.Scope, w *memory.Webhook) (bool, error) {
	newest, err := v.Store.Deliveries(ctx, s, memory.DeliveryQuery{Webhook: w.ID, Limit: 1})
	return len(newest) > 0 && newest[0].Status == gone && !newest[0].UpdatedAt.Before(w.UpdatedAt), err
}

// Events lists what webhooks can be told of.
func Events() []string {
	return []string{"note.added", "note.changed", "note.deleted", "link.added", "link.changed", "link.deleted"}
}

func eventOf(thing string, c memory.ChangeKind) string {
	if c == memory.ChangeRemoved {
		return thing + ".deleted"
	}
	return thing + "." + string(c)
}

// message is what a webhook is sent: the envelope that the specification recommends, without what notes say.
type message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`

	id uuid.UUID
}

type data struct {
	Collection uuid.UUID       `json:"collection"`
	Revision   memory.Revision `json:"revision"`
	Actor      string          `json:"actor"`
	Job        uuid.UUID       `json:"job,omitzero"`
	Cause      memory.Cause    `json:"cause"`
	Notes      []uuid.UUID     `json:"notes,omitempty"`
	Links      []link          `json:"links,omitempty"`
}

type link struct {
	Source   uuid.UUID `json:"source"`
	Target   uuid.UUID `json:"target"`
	Relation string    `json:"relation"`
}

// messages returns what a webhook is told of a change of a collection, in the order of Events.
func messages(w *memory.Webhook, collection uuid.UUID, c *memory.Change) (out []message) {
	by := map[string]*data{}
	at := func(event string) *data {
		if by[event] == nil {
			by[event] = &data{Collection: collection, Revision: c.Revision, Actor: c.Actor, Job: c.Job, Cause: c.Cause}
		}
		return by[event]
	}
	for _, n := range c.Notes {
		d := at(eventOf("note", n.Change))
		d.Notes = append(d.Notes, n.Note)
	}
	for _, l := range c.Links {
		d := at(eventOf("link", l.Change))
		d.Links = append(d.Links, link{l.Source, l.Target, l.Relation})
	}
	for _, event := range Events() {
		if d := by[event]; d != nil && (len(w.Events) == 0 || slices.Contains(w.Events, event)) {
			out = append(out, message{Type: event, Timestamp: c.At.UTC(), Data: *d, id: messageID(w.ID, collection, c, event)})
		}
	}
	return out
}

// messageID returns the same id for a message each time that it is made: a UUID of version 7 with the time of the change and the
// end of its revision, by which ids are ordered, and a hash in place of what is random.
func messageID(webhook, collection uuid.UUID, c *memory.Change, event string) (id uuid.UUID) {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s", webhook, collection, c.Revision, event))
	copy(id[:], h[:])
	ms := c.At.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // one byte of it
	}
	id[6], id[7], id[8] = byte(c.Revision>>8)&0x0f|0x70, byte(c.Revision), id[8]&0x3f|0x80 //nolint:gosec // bytes of it
	return id
}

// Run runs a webhook job: it sends what is new in the collection, in order, until there is nothing left or a message fails, which is
// then tried again later. A message that was sent when its process died is sent again under the same id.
func (v *Service) Run(ctx context.Context, s tenant.Scope, job memory.Job) error {
	var p memory.WebhookJob
	if err := json.Unmarshal(job.Payload, &p); err != nil || p.Webhook == uuid.Nil {
		return fault.New(fault.Invalid, "the payload of the webhook job cannot be read; a newer version may have made it")
	}
	leave, ok := v.enter(p.Webhook)
	if !ok {
		return v.Store.ReleaseJob(ctx, s, job.ID, job.Lease, memory.JobEnd{State: memory.JobQueued, Stage: job.Stage, NotBefore: v.Clock().Add(time.Second)})
	}
	defer leave()
	w, err := v.Store.Webhook(ctx, s, p.Webhook)
	if fault.Is(err, fault.NotFound) {
		return v.end(ctx, s, &job) // it was deleted
	}
	if err != nil {
		return err
	}
	view, err := v.Store.OpenView(ctx, s, job.Collection.String(), memory.At{})
	if err != nil {
		return err
	}
	if p.Delivery != uuid.Nil {
		return v.again(ctx, s, &job, &w, view, &p)
	}
	changes, err := v.Store.Changes(ctx, s, view, max(p.After, view.Collection.Floor), page)
	if err != nil {
		return err
	}
	wait, err := v.tell(ctx, s, &w, job.Collection, &p, changes)
	if err != nil {
		return err
	}
	if wait.IsZero() && len(changes) == 0 {
		done, err := v.finish(ctx, s, &job, view.At)
		if done || err != nil {
			return err
		}
	}
	payload, err := json.Marshal(p)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "the payload of the job cannot be encoded")
	}
	return v.Store.ReleaseJob(ctx, s, job.ID, job.Lease, memory.JobEnd{State: memory.JobQueued, Stage: job.Stage, Payload: payload, NotBefore: wait})
}

// enter counts a job of a webhook that runs; ok is false when enough do.
func (v *Service) enter(webhook uuid.UUID) (leave func(), ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.busy[webhook] >= maxBusy {
		return nil, false
	}
	v.busy[webhook]++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.busy[webhook]--; v.busy[webhook] == 0 {
			delete(v.busy, webhook)
		}
	}, true
}

// finish ends a job, unless something was written after a revision: a write that saw this job has enqueued no other.
func (v *Service) finish(ctx context.Context, s tenant.Scope, job *memory.Job, at memory.Revision) (done bool, err error) {
	_, err = v.Store.Write(ctx, s, job.Collection, memory.WriteOptions{System: true}, func(ctx context.Context, tx memory.Tx) error {
		view := tx.View()
		if done = view.At <= at; !done {
			return nil
		}
		return tx.EndJob(ctx, job.ID, job.Lease, memory.JobEnd{State: memory.JobDone, Stage: job.Stage})
	})
	return done, err
}

func (v *Service) end(ctx context.Context, s tenant.Scope, job *memory.Job) error {
	return v.Store.ReleaseJob(ctx, s, job.ID, job.Lease, memory.JobEnd{State: memory.JobDone, Stage: job.Stage})
}

// tell sends the messages of changes that were not sent yet, and moves p on. It returns when the first one that failed is to be
// tried again; zero: none failed.
func (v *Service) tell(ctx context.Context, s tenant.Scope, w *memory.Webhook, collection uuid.UUID, p *memory.WebhookJob, changes []memory.Change) (wait time.Time, err error) {
	var all []uuid.UUID
	to := make([][]message, len(changes))
	for i := range changes {
		to[i] = messages(w, collection, &changes[i])
		for j := range to[i] {
			all = append(all, to[i][j].id)
		}
	}
	if err := v.giveUp(ctx, s, w, collection, changes, all); err != nil {
		return wait, err
	}
	sent := map[uuid.UUID]memory.Delivery{}
	if len(all) > 0 {
		found, err := v.Store.Deliveries(ctx, s, memory.DeliveryQuery{Webhook: w.ID, IDs: all})
		if err != nil {
			return wait, err
		}
		for _, d := range found {
			sent[d.ID] = d
		}
	}
	off, err := v.isOff(ctx, s, w)
	if err != nil {
		return wait, err
	}
	for i := range to {
		for j := range to[i] {
			m := &to[i][j]
			d, ok := sent[m.id]
			if ok && d.State != memory.DeliveryWaiting {
				continue
			}
			if d, err = v.send(ctx, s, w, m, d, off); err != nil {
				return wait, err
			}
			off = d.Status == gone
			if d.State == memory.DeliveryWaiting {
				return d.NextAt, nil
			}
		}
		p.After = changes[i].Revision
	}
	return wait, nil
}

// giveUp ends the tries at messages of changes, or of earlier ones, that are not among those to be sent: what they told of was erased
// since, or the webhook is not told of it any more.
func (v *Service) giveUp(ctx context.Context, s tenant.Scope, w *memory.Webhook, collection uuid.UUID, changes []memory.Change, send []uuid.UUID) error {
	if len(changes) == 0 {
		return nil
	}
	waiting, err := v.Store.Deliveries(ctx, s, memory.DeliveryQuery{Webhook: w.ID, State: memory.DeliveryWaiting})
	if err != nil {
		return err
	}
	for _, d := range waiting {
		if d.Collection != collection || d.Revision > changes[len(changes)-1].Revision || slices.Contains(send, d.ID) {
			continue
		}
		d.State, d.Error, d.NextAt, d.UpdatedAt = memory.DeliveryDead, "what it tells of was erased, or is not asked for", time.Time{}, v.Clock().UTC()
		if err := v.Store.PutDelivery(ctx, s, d); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// again sends one message once more.
func (v *Service) again(ctx context.Context, s tenant.Scope, job *memory.Job, w *memory.Webhook, view memory.View, p *memory.WebhookJob) error {
	d, err := v.delivery(ctx, s, w.ID, p.Delivery)
	if err != nil {
		return err
	}
	changes, err := v.Store.Changes(ctx, s, view, p.After, 1)
	if err != nil {
		return err
	}
	for i := range changes {
		all := *w
		all.Events = nil // what it was told of once it is told of again
		for _, m := range messages(&all, job.Collection, &changes[i]) {
			if m.id != d.ID {
				continue
			}
			if _, err := v.send(ctx, s, w, &m, d, false); err != nil {
				return err
			}
		}
	}
	return v.end(ctx, s, job)
}

// send makes one try at a message and records it. d is the record of the tries before; the zero Delivery: there was none. A failed
// try is not an error. off records it as a message that the receiver does not want, without a try.
func (v *Service) send(ctx context.Context, s tenant.Scope, w *memory.Webhook, m *message, d memory.Delivery, off bool) (memory.Delivery, error) {
	status, tries := gone, 0
	failed := error(fault.New(fault.Invalid, "not sent: the receiver answered an earlier message with 410, gone"))
	if !off {
		status, failed = v.post(ctx, s, w, m)
		tries = 1
	}
	if ctx.Err() != nil {
		return d, context.Cause(ctx) // this process stops: it is not a fault of the receiver
	}
	now := v.Clock().UTC()
	if d.ID == uuid.Nil {
		d = memory.Delivery{ID: m.id, Webhook: w.ID, Collection: m.Data.Collection, Revision: m.Data.Revision, Event: m.Type, State: memory.DeliveryWaiting, CreatedAt: now}
	}
	d.Attempts, d.Status, d.Error, d.UpdatedAt, d.NextAt = d.Attempts+tries, status, "", now, time.Time{}
	switch {
	case failed == nil:
		d.State = memory.DeliveryDelivered
	case d.State != memory.DeliveryWaiting, now.Sub(m.Timestamp) >= v.cfg.GiveUp, status == gone:
		d.State, d.Error = memory.DeliveryDead, reason(failed)
	default:
		d.Error, d.NextAt = reason(failed), now.Add(memory.Backoff(d.ID, d.Attempts))
	}
	err := v.Store.PutDelivery(ctx, s, d)
	if fault.Is(err, fault.NotFound) {
		return d, nil // the webhook was deleted meanwhile
	}
	return d, err
}

// reason returns the part of an error that the tenant may see.
func reason(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Message
	}
	return "internal error"
}

// post sends a message, signed with each of the secrets. An error says why it was not accepted.
func (v *Service) post(ctx context.Context, s tenant.Scope, w *memory.Webhook, m *message) (status int, err error) {
	hosts, err := v.hosts(ctx, s)
	if err != nil {
		return 0, err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	secrets, err := v.secrets(s, w)
	if err != nil {
		return 0, err
	}
	id, now := m.id.String(), v.Clock()
	signatures := make([]string, len(secrets))
	for i := range secrets {
		key, err := standardwebhooks.NewWebhook(secrets[i].Secret)
		if err != nil {
			return 0, err
		}
		if signatures[i], err = key.Sign(id, now, body); err != nil {
			return 0, err
		}
	}
	status, err = v.Client.Do(ctx, outbound.Request{
		Method: "POST", URL: w.URL, Body: body, Hosts: hosts, Timeout: v.cfg.Timeout,
		Header: map[string]string{
			"Webhook-Id": id, "Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10), "Webhook-Signature": strings.Join(signatures, " "),
		},
	})
	if err == nil && (status < 200 || status > 299) {
		err = fault.New(fault.Invalid, "the answer was %d", status)
	}
	return status, err
}
