package storetest

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

func accessCases() []testCase {
	return []testCase{
		{"Tenants", tenants},
		{"DeleteTenant", deleteTenant},
		{"InterruptedDeletion", interruptedDeletion},
		{"Agents", agents},
		{"Keys", apiKeys},
		{"SigningKeys", signingKeys},
	}
}

// interruptedDeletion: a tenant whose deletion ended midway is not found, and its rows are removed later.
func interruptedDeletion(_ *testing.T, w *world) {
	for range 20 {
		made := must(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: "large"}))(w.t)
		all := grant.Scope(made.ID, uuid.Nil, "x", tenant.AllPermissions()...)
		c := must(w.CreateCollection(w.ctx, all, memory.NewCollection{Collection: memory.Collection{Name: "c"}}))(w.t)
		_, err := w.Write(w.ctx, all, c.Collection.ID, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
			for range 2100 { // more than one transaction removes
				if _, err := tx.Put(ctx, memory.Note{Content: "note"}); err != nil {
					return err
				}
			}
			return nil
		})
		w.noError(err)
		ctx, cancel := context.WithCancel(w.ctx)
		ended := make(chan error, 1)
		go func() { ended <- w.DeleteTenant(ctx, w.op, made.ID) }()
		for !fault.Is(errOf(w.TenantByID(w.ctx, made.ID)), fault.NotFound) {
			runtime.Gosched()
		}
		cancel()
		if <-ended == nil {
			continue // it was faster
		}
		again := tenant.Tenant{ID: made.ID, Name: "again"}
		w.wantFault(errOf(w.CreateTenant(w.ctx, w.op, again)), fault.Exists)
		w.noError(w.EndTenantDeletions(w.ctx, w.op))
		w.noError(errOf(w.CreateTenant(w.ctx, w.op, again)))
		w.noError(w.EndTenantDeletions(w.ctx, w.op))
		w.noError(errOf(w.TenantByID(w.ctx, made.ID)))
		w.verify()
		return
	}
	w.assertf(false, "no deletion could be interrupted")
}

func tenants(_ *testing.T, w *world) {
	limits := tenant.Limits{Notes: 5, ModelTokensPerDay: 7}
	made := must(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: "acme", Limits: limits, AllowedHosts: "example.com"}))(w.t)
	w.assertf(made.State == tenant.Active && made.ID != uuid.Nil && !made.CreatedAt.IsZero(), "created: %+v", made)
	got := must(w.TenantByID(w.ctx, made.ID))(w.t)
	w.assertf(got == made, "read %+v, created %+v", got, made)
	w.assertf(must(w.TenantByName(w.ctx, w.op, "acme"))(w.t) == made, "by name")
	w.wantFault(errOf(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: "acme"})), fault.Exists)
	w.wantInvalid(errOf(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: uuid.NewString()})), "name")
	w.noError(errOf(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: "Acme"})))
	made.State, made.Limits.Notes, made.AllowedHosts = tenant.Suspended, 9, "*"
	w.assertf(must(w.UpdateTenant(w.ctx, w.op, made))(w.t) == made && must(w.TenantByID(w.ctx, made.ID))(w.t) == made, "updated")
	made.State = tenant.Deleting
	w.wantInvalid(errOf(w.UpdateTenant(w.ctx, w.op, made)), "state")
	list := must(w.ListTenants(w.ctx, w.op, "Acme", 2))(w.t)
	w.assertf(len(list) == 2 && list[0].Name == "acme" && list[1].Name == "home", "by name: %+v", list)
	w.wantFault(errOf(w.TenantByID(w.ctx, uuid.New())), fault.NotFound)
	w.wantFault(errOf(w.UpdateTenant(w.ctx, w.op, tenant.Tenant{ID: uuid.New(), State: tenant.Active})), fault.NotFound)
	noTenant := grant.Scope(uuid.New(), uuid.Nil, "x", tenant.AllPermissions()...)
	w.wantFault(errOf(w.CreateCollection(w.ctx, noTenant, memory.NewCollection{Collection: memory.Collection{Name: "c"}})), fault.NotFound)
	w.wantFault(errOf(w.EnsureAgent(w.ctx, noTenant, "x")), fault.NotFound)
	w.wantFault(w.CreateKey(w.ctx, noTenant, auth.Key{ID: uuid.New()}, memory.AuditEntry{}), fault.NotFound)
}

func deleteTenant(_ *testing.T, w *world) {
	g := privateData(w)
	w.mustFork(g.collection, -1, "f")
	stays := must(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{Collection: memory.Collection{Name: "stays"}}))(w.t)
	w.noError(w.DeleteTenant(w.ctx, w.op, w.tenant.ID))
	w.wantFault(errOf(w.TenantByID(w.ctx, w.tenant.ID)), fault.NotFound)
	w.wantFault(errOf(w.TenantByName(w.ctx, w.op, "home")), fault.NotFound)
	w.wantFault(errOf(w.KeyByID(w.ctx, w.tenant.ID, g.key)), fault.NotFound)
	w.wantFault(errOf(w.ResolveCollection(w.ctx, w.all, g.collection.String())), fault.NotFound)
	w.wantFault(errOf(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "c"}})), fault.NotFound)
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{}))(w.t)) == 0, "audit rows were left")
	w.assertf(len(must(w.ListAgents(w.ctx, w.all, "", 0))(w.t)) == 0, "agents were left")
	w.assertf(len(must(w.DueCollections(w.ctx, w.clock.Now().Add(time.Hour), 0))(w.t)) == 0, "jobs were left")
	w.wantFault(w.DeleteTenant(w.ctx, w.op, w.tenant.ID), fault.NotFound)
	w.wantFault(w.DeleteTenant(w.ctx, w.op, uuid.Nil), fault.NotFound)
	w.noError(errOf(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: "home"})))
	w.noError(errOf(w.ResolveCollection(w.ctx, w.foreign, stays.Collection.ID.String())))
}

func agents(_ *testing.T, w *world) {
	again := must(w.EnsureAgent(w.ctx, w.all, "alice"))(w.t)
	w.assertf(again == w.alice, "an agent is created once")
	w.assertf(must(w.EnsureAgent(w.ctx, w.aliceS, "alice"))(w.t) == w.alice, "an agent may name itself")
	w.wantFault(errOf(w.EnsureAgent(w.ctx, w.aliceS, "new")), fault.NotFound)
	w.wantFault(errOf(w.EnsureAgent(w.ctx, w.all, uuid.NewString())), fault.NotFound)
	w.wantInvalid(errOf(w.EnsureAgent(w.ctx, w.all, "")), "agent")
	carol := must(w.CreateAgent(w.ctx, w.all, tenant.Agent{Name: "carol", DisplayName: "Каrol"}))(w.t)
	w.assertf(must(w.AgentByRef(w.ctx, w.all, carol.ID.String()))(w.t) == carol && must(w.AgentByRef(w.ctx, w.all, "carol"))(w.t) == carol, "by id and name")
	w.wantFault(errOf(w.CreateAgent(w.ctx, w.all, tenant.Agent{Name: "carol"})), fault.Exists)
	list := must(w.ListAgents(w.ctx, w.all, "alice", 1))(w.t)
	w.assertf(len(list) == 1 && list[0].Name == "bob", "pages by name: %+v", list)
	w.assertf(len(must(w.ListAgents(w.ctx, w.aliceS, "", 0))(w.t)) == 1, "an agent sees itself")

	g := privateData(w)
	f := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Agent: w.bob.ID, Name: "f", Parent: g.collection, ParentRevision: 1}}))(w.t).Collection
	jobs := must(w.DeleteAgent(w.ctx, w.all, w.alice.ID))(w.t)
	removes := func(id uuid.UUID) bool { return must(w.Job(w.ctx, w.all, id))(w.t).Collection == g.collection }
	w.assertf(slices.ContainsFunc(jobs, removes), "jobs: %v", jobs)
	w.wantFault(errOf(w.AgentByRef(w.ctx, w.all, "alice")), fault.NotFound)
	w.wantFault(errOf(w.ResolveCollection(w.ctx, w.all, g.collection.String())), fault.NotFound)
	w.wantFault(errOf(w.KeyByID(w.ctx, w.tenant.ID, g.key)), fault.NotFound)
	w.assertf(len(w.contents(w.view(f.ID))) == 2, "a fork that belongs to another agent remains")
	w.remove(g.collection, 1000)
	fresh := must(w.EnsureAgent(w.ctx, w.all, "alice"))(w.t)
	w.assertf(fresh.ID != w.alice.ID, "a new agent with the name has another id")
}

func apiKeys(_ *testing.T, w *world) {
	k := auth.Key{
		ID: uuid.Must(uuid.NewV7()), Name: "ci", Prefix: "sb_live_x", Hash: [32]byte{1, 2, 3}, Permissions: []tenant.Permission{tenant.NotesRead, tenant.Clone},
		Agent: w.alice.ID, ExpiresAt: w.clock.Now().Add(time.Hour).Truncate(time.Microsecond).UTC(),
		Limit: tenant.Limit{User: strings.Repeat("日", 85), Agent: "chat", App: "' --", Run: "1"},
	}
	w.noError(w.CreateKey(w.ctx, w.all, k, memory.AuditEntry{Action: "key.create"}))
	w.wantFault(w.CreateKey(w.ctx, w.all, k, memory.AuditEntry{}), fault.Exists)
	got := must(w.KeyByID(w.ctx, w.tenant.ID, k.ID))(w.t)
	w.assertf(got.Hash == k.Hash && slices.Equal(got.Permissions, k.Permissions) && got.AgentName == "alice" && got.Tenant == w.tenant.ID && got.ExpiresAt.Equal(k.ExpiresAt) && got.RevokedAt.IsZero() && !got.CreatedAt.IsZero() && got.Limit == k.Limit, "key %+v", got)
	w.wantFault(w.CreateKey(w.ctx, w.all, auth.Key{ID: uuid.New(), Agent: uuid.New()}, memory.AuditEntry{}), fault.NotFound)
	for _, l := range []tenant.Limit{{User: strings.Repeat("x", 257)}, {App: "a\nb"}, {Run: "\xff"}} {
		w.wantFault(w.CreateKey(w.ctx, w.all, auth.Key{ID: uuid.New(), Limit: l}, memory.AuditEntry{}), fault.Invalid)
	}
	next := uuid.Must(uuid.NewV7())
	w.noError(w.CreateKey(w.ctx, w.all, auth.Key{ID: next, Name: "wide"}, memory.AuditEntry{}))
	at := w.clock.Now()
	changed := must(w.UpdateKey(w.ctx, w.all, k.ID, memory.AuditEntry{Action: "key.rotate"}, func(k *auth.Key) error {
		k.RevokedAt, k.RotatedTo, k.Hash, k.Limit = at, next, [32]byte{}, tenant.Limit{}
		return nil
	}))(w.t)
	w.assertf(changed.RevokedAt.Equal(at.Truncate(time.Microsecond)) && changed.RotatedTo == next && changed.Hash == k.Hash && changed.Limit == k.Limit, "rotated: %+v", changed)
	w.wantFault(errOf(w.UpdateKey(w.ctx, w.all, k.ID, memory.AuditEntry{}, func(*auth.Key) error { return errOurs })), fault.Precondition)
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Target: k.ID.String()}))(w.t)) == 2, "both changes are audited")
	list := must(w.ListKeys(w.ctx, w.all, k.ID, 10))(w.t)
	w.assertf(len(list) == 1 && list[0].ID == next, "by id: %+v", list)
	w.assertf(len(must(w.ListKeys(w.ctx, w.aliceS, uuid.Nil, 10))(w.t)) == 1, "an agent sees its own keys")

	w.noError(w.CreateOperatorKey(w.ctx, w.op, auth.Key{ID: k.ID, Name: "root", Tenant: w.tenant.ID}))
	root := must(w.KeyByID(w.ctx, uuid.Nil, k.ID))(w.t)
	w.assertf(root.Tenant == uuid.Nil && root.Name == "root", "a platform key has no tenant: %+v", root)
	w.assertf(len(must(w.ListOperatorKeys(w.ctx, w.op, uuid.Nil, 10))(w.t)) == 1, "platform keys are listed separately")
	w.assertf(must(w.UpdateOperatorKey(w.ctx, w.op, k.ID, func(k *auth.Key) error { k.Name = "toor"; return nil }))(w.t).Name == "toor", "changed")
	w.wantFault(errOf(w.UpdateOperatorKey(w.ctx, w.op, next, func(*auth.Key) error { return nil })), fault.NotFound)
}

func signingKeys(_ *testing.T, w *world) {
	at := w.clock.Now().UTC().Truncate(time.Microsecond)
	add := func(kid, saw string, at time.Time) {
		w.noError(w.AddSigningKey(w.ctx, auth.SigningKey{KID: kid, Public: []byte("p" + kid), Wrapped: []byte("w" + kid), CreatedAt: at}, saw, time.Hour))
	}
	add("1", "", at)
	add("lost", "", at) // another process added a key in the meantime
	add("2", "1", at.Add(time.Minute))
	got := must(w.SigningKeys(w.ctx))(w.t)
	w.assertf(len(got) == 2 && got[0].KID == "2" && string(got[0].Wrapped) == "w2" && string(got[1].Public) == "p1" && got[0].RetiresAt.IsZero(), "newest first: %+v", got)
	w.assertf(got[1].RetiresAt.Equal(at.Add(time.Minute)) && got[1].ExpiresAt.Equal(at.Add(61*time.Minute)), "the older key is retired: %+v", got[1])
	add("3", "2", at.Add(2*time.Minute))
	got = must(w.SigningKeys(w.ctx))(w.t)
	w.assertf(len(got) == 3 && got[2].RetiresAt.Equal(at.Add(time.Minute)) && got[1].RetiresAt.Equal(at.Add(2*time.Minute)), "a retired key is not retired again: %+v", got)
}
