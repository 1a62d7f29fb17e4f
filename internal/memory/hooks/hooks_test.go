package hooks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/hooks"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/outbound/outboundtest"
	"github.com/slipboxhq/slipbox/internal/seal"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// dying is a store in which a process dies before it can record a delivery.
type dying struct {
	store.Store

	dead bool
}

var errDied = errors.New("the process died")

func (d *dying) PutDelivery(ctx context.Context, s tenant.Scope, x memory.Delivery) error {
	if d.dead {
		return errDied
	}
	return d.Store.PutDelivery(ctx, s, x)
}

// lab is a tenant with a collection, and a service that its webhooks may be at.
type lab struct {
	t          *testing.T
	store      *dying
	all        tenant.Scope
	hooks      *hooks.Service
	collection uuid.UUID
	at         *outboundtest.Receiver
	now        time.Time
}

// got lists the ids of the messages so far.
func (l *lab) got() []string { return l.at.Headers("Webhook-Id") }

func open(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return l.now }
	l.store = &dying{Store: enginetest.Open(t, clock, nil)}
	made := must.Get(l.store.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "acme", State: tenant.Active}))(t)
	l.all = grant.Scope(made.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	c := must.Get(l.store.CreateCollection(t.Context(), l.all, memory.NewCollection{Collection: memory.Collection{Name: "space", Policy: "none"}}))(t)
	l.collection = c.Collection.ID
	l.at = outboundtest.New(t)
	allowed := must.Get(outbound.ParseHosts(l.at.Host))(t)
	sealer := must.Get(seal.New([]byte(strings.Repeat("k", 40)), hooks.Purpose))(t)
	l.hooks = must.Get(hooks.New(hooks.Deps{Store: l.store, Directory: l.store, Client: outbound.New(outbound.Config{Allow: allowed}), Sealer: sealer, Clock: clock}, hooks.Config{}))(t)
	return l
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) webhook() memory.Webhook {
	l.t.Helper()
	w, secret, err := l.hooks.Create(l.t.Context(), l.all, "space", hooks.Change{URL: &l.at.URL})
	l.must(err)
	if !strings.HasPrefix(secret, "whsec_") || strings.Contains(string(w.Secrets), secret) {
		l.t.Fatalf("the secret is %q, and is stored as it is", secret)
	}
	return w
}

func (l *lab) write(content string) {
	l.t.Helper()
	must.Get(l.store.Write(l.t.Context(), l.all, l.collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, memory.Note{Content: content})
		return err
	}))(l.t)
}

// claim leases the jobs that are due, as a worker does.
func (l *lab) claim(until time.Duration) []memory.Job {
	l.t.Helper()
	jobs := must.Get(l.store.ClaimJobs(l.t.Context(), l.all, l.collection, memory.StageSend, uuid.New(), l.now.Add(until), 10))(l.t)
	return jobs
}

// run does all jobs that are due, until there are none.
func (l *lab) run() {
	l.t.Helper()
	for jobs := l.claim(time.Hour); len(jobs) > 0; jobs = l.claim(time.Hour) {
		for i := range jobs {
			l.must(l.hooks.Run(l.t.Context(), grant.Job(l.all.Tenant(), jobs[i].ID), jobs[i]))
		}
	}
}

func (l *lab) newest(w *memory.Webhook) memory.Delivery {
	l.t.Helper()
	list := must.Get(l.hooks.Deliveries(l.t.Context(), l.all, memory.DeliveryQuery{Webhook: w.ID, Limit: 1}))(l.t)
	if len(list) == 0 {
		l.t.Fatal("nothing was sent")
	}
	return list[0]
}

// A message whose process died between sending and recording is sent again under the same id, by the next holder of the job; two
// workers never hold it concurrently.
func TestDeathBeforeTheRecord(t *testing.T) {
	t.Parallel()
	l := open(t)
	w := l.webhook()
	l.write("one")
	jobs := l.claim(time.Minute)
	if len(jobs) != 1 || len(l.claim(time.Minute)) != 0 {
		t.Fatalf("two workers hold the jobs: %+v", jobs)
	}
	l.store.dead = true
	if err := l.hooks.Run(t.Context(), l.all, jobs[0]); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	l.store.dead = false
	l.now = l.now.Add(2 * time.Minute) // the lease ends
	l.write("two")
	l.run()
	if len(l.got()) != 3 || l.got()[0] != l.got()[1] || l.got()[1] == l.got()[2] {
		t.Errorf("the messages are %v", l.got())
	}
	if d := l.newest(&w); d.State != memory.DeliveryDelivered || d.Attempts != 1 || d.Status != 204 {
		t.Errorf("the last one is %+v", d)
	}
	if err := l.hooks.Run(t.Context(), l.all, jobs[0]); !fault.Is(err, fault.Conflict) {
		t.Errorf("one that lost its lease ends the job: %v", err)
	}
	if len(l.got()) != 3 {
		t.Errorf("it sends what was delivered: %v", l.got())
	}
}

// A message that fails is tried again, the second time within a minute, holds what follows it, and is given up after a day. Then
// a caller can have it sent once more.
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	l := open(t)
	w := l.webhook()
	l.at.Answer(500)
	l.write("one")
	l.write("two")
	l.run()
	d := l.newest(&w)
	if len(l.got()) != 1 || d.State != memory.DeliveryWaiting || d.NextAt.Sub(l.now) > time.Minute || d.Error != "the answer was 500" {
		t.Fatalf("after the first try: %v, %+v", l.got(), d)
	}
	for range 60 {
		l.now = l.now.Add(time.Hour)
		l.run()
	}
	list := must.Get(l.hooks.Deliveries(t.Context(), l.all, memory.DeliveryQuery{Webhook: w.ID, State: memory.DeliveryDead}))(t)
	if len(list) != 2 || list[1].Attempts < 20 || list[0].Attempts != 1 || slices.Index(l.got(), list[0].ID.String()) != len(l.got())-1 {
		t.Fatalf("given up: %+v", list)
	}
	tries := len(l.got())
	l.at.Answer(200)
	must.Get(l.hooks.Retry(t.Context(), l.all, w.ID, list[1].ID))(t)
	l.run()
	if len(l.got()) != tries+1 || l.got()[tries] != list[1].ID.String() {
		t.Errorf("once more: %v", l.got()[tries:])
	}
	_, err := l.hooks.Retry(t.Context(), l.all, w.ID, uuid.New())
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("a delivery that is not there: %v", err)
	}
	l.write("three")
	l.must(l.hooks.Delete(t.Context(), l.all, w.ID))
	l.run()
	if len(l.got()) != tries+1 {
		t.Error("a webhook that is deleted is told")
	}
}

// A receiver that answers 410 is sent nothing more: what follows is dead without a try. A message that a caller has sent again, or a
// change of the webhook, makes it a receiver again.
func TestGone(t *testing.T) {
	t.Parallel()
	l := open(t)
	w := l.webhook()
	l.at.Answer(410)
	l.write("one")
	l.write("two")
	l.run()
	l.now = l.now.Add(time.Hour)
	l.write("three")
	l.run()
	list := must.Get(l.hooks.Deliveries(t.Context(), l.all, memory.DeliveryQuery{Webhook: w.ID}))(t)
	if len(l.got()) != 1 || len(list) != 3 || list[2].Attempts != 1 || list[2].Error != "the answer was 410" {
		t.Fatalf("%d were sent: %+v", len(l.got()), list)
	}
	for _, d := range list {
		if d.State != memory.DeliveryDead || d.Status != 410 || d.Attempts != 0 && d.ID != list[2].ID {
			t.Errorf("%+v", d)
		}
	}
	l.at.Answer(200)
	must.Get(l.hooks.Retry(t.Context(), l.all, w.ID, list[0].ID))(t)
	l.run()
	l.write("four")
	l.run()
	if d := l.newest(&w); len(l.got()) != 3 || d.State != memory.DeliveryDelivered {
		t.Fatalf("%d were sent, the newest is %+v", len(l.got()), d)
	}
	l.at.Answer(410)
	l.write("five")
	l.run()
	l.now = l.now.Add(time.Minute)
	_, _, err := l.hooks.Update(t.Context(), l.all, w.ID, hooks.Change{Events: &[]string{"note.added"}})
	l.must(err)
	l.at.Answer(200)
	l.write("six")
	l.run()
	if d := l.newest(&w); len(l.got()) != 5 || d.State != memory.DeliveryDelivered {
		t.Errorf("%d were sent, the newest is %+v", len(l.got()), d)
	}
}

// A message that waits, of a note that is erased meanwhile, waits no longer, and the removal of the note is sent.
func TestErasedWhileItWaits(t *testing.T) {
	t.Parallel()
	l := open(t)
	w := l.webhook()
	l.at.Answer(500)
	l.write("one")
	l.run()
	first := l.newest(&w)
	if first.State != memory.DeliveryWaiting {
		t.Fatalf("%+v", first)
	}
	v := must.Get(l.store.OpenView(t.Context(), l.all, "space", memory.At{}))(t)
	list := must.Get(l.store.ListNotes(t.Context(), l.all, v, memory.NoteQuery{Limit: 1}))(t)
	id := list[0].ID
	must.Get(l.store.Write(t.Context(), l.all, l.collection, memory.WriteOptions{Cause: memory.CauseDelete}, func(ctx context.Context, tx memory.Tx) error {
		return tx.Delete(ctx, id)
	}))(t)
	must.Get(l.store.EraseNotes(t.Context(), l.all, l.collection, memory.Erasing{Notes: []uuid.UUID{id}}, memory.AuditEntry{Action: "note.erase"}))(t)
	l.at.Answer(200)
	l.now = l.now.Add(time.Hour)
	l.run()
	all := must.Get(l.hooks.Deliveries(t.Context(), l.all, memory.DeliveryQuery{Webhook: w.ID}))(t)
	if len(all) != 2 || all[0].Event != "note.deleted" || all[0].State != memory.DeliveryDelivered || all[1].ID != first.ID || all[1].State != memory.DeliveryDead {
		t.Errorf("%+v", all)
	}
}

// Webhooks are a matter of the tenant's administrators.
func TestPermissions(t *testing.T) {
	t.Parallel()
	l := open(t)
	w := l.webhook()
	agent := must.Get(l.store.EnsureAgent(t.Context(), l.all, "ada"))(t)
	for name, s := range map[string]tenant.Scope{
		"no permission": grant.Scope(l.all.Tenant(), uuid.Nil, "x", tenant.NotesRead, tenant.NotesWrite),
		"an agent":      grant.Scope(l.all.Tenant(), agent.ID, "x", tenant.AllPermissions()...),
	} {
		_, _, create := l.hooks.Create(t.Context(), s, "", hooks.Change{URL: &l.at.URL})
		_, get := l.hooks.Get(t.Context(), s, w.ID)
		_, list := l.hooks.List(t.Context(), s, uuid.Nil, 1)
		_, _, update := l.hooks.Update(t.Context(), s, w.ID, hooks.Change{Rotate: true})
		_, sent := l.hooks.Deliveries(t.Context(), s, memory.DeliveryQuery{Webhook: w.ID})
		_, retry := l.hooks.Retry(t.Context(), s, w.ID, uuid.New())
		for _, err := range []error{create, get, list, update, sent, retry, l.hooks.Delete(t.Context(), s, w.ID)} {
			if !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
