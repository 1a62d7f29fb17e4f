package storetest

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func grantCases() []testCase {
	return []testCase{
		{"Keep", keepGrants},
		{"Expire", expireGrants},
		{"EndWithAgent", endGrants},
		{"Most", mostGrants},
		{"AtOnce", grantsAtOnce},
	}
}

const manyGrants = 100

// key creates a key of the scope's agent.
func (w *world) key(s tenant.Scope) uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	w.noError(w.CreateKey(w.ctx, s, auth.Key{ID: id, Agent: s.Agent(), Permissions: tenant.AllPermissions()}, memory.AuditEntry{}))
	return id
}

func newGrant(w *world, key uuid.UUID) auth.Grant {
	now := w.clock.Now().Truncate(time.Microsecond)
	return auth.Grant{
		ID: auth.GrantID{Grant: must(uuid.NewV7())(w.t)}, Key: key, Client: "Ein “Klient” 日本", ClientHash: [32]byte{1}, Redirect: "https://example.com/cb?a=b",
		Resource: "https://slipbox.example.com/mcp", Permissions: []tenant.Permission{tenant.NotesRead, tenant.NotesWrite}, Limit: tenant.Limit{User: strings.Repeat("日", 85), Agent: "a"},
		Challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", Code: [32]byte{2}, Family: [32]byte{3}, Refresh: [32]byte{4},
		CreatedAt: now, UsedAt: now, ExpiresAt: now.Add(time.Hour),
	}
}

// grant creates a grant that has issued tokens.
func (w *world) grant(s tenant.Scope, key uuid.UUID) auth.Grant {
	w.t.Helper()
	g := newGrant(w, key)
	w.noError(w.CreateGrant(w.ctx, s, g, manyGrants, memory.AuditEntry{Action: "grant.create"}))
	return must(w.GrantByID(w.ctx, auth.GrantID{Tenant: s.Tenant(), Grant: g.ID.Grant}))(w.t)
}

// keepGrants: a grant is what was stored, with the agent of its key; what issues tokens changes, and deleting removes it.
func keepGrants(_ *testing.T, w *world) {
	key := w.key(w.aliceS)
	want := newGrant(w, key)
	want.Agent = w.bob.ID // it is that of the key
	w.noError(w.CreateGrant(w.ctx, w.all, want, manyGrants, memory.AuditEntry{Action: "grant.create"}))
	want.ID.Tenant, want.Agent = w.tenant.ID, w.alice.ID
	got := must(w.GrantByID(w.ctx, want.ID))(w.t)
	w.assertf(cmp.Equal(got, want), "%s", cmp.Diff(want, got))
	w.clock.Advance(time.Minute)
	want.Family, want.Refresh, want.UsedAt, want.ExpiresAt = [32]byte{8}, [32]byte{9}, want.UsedAt.Add(time.Minute), want.ExpiresAt.Add(time.Minute)
	must(w.UpdateGrant(w.ctx, w.aliceS, want.ID.Grant, func(g *auth.Grant) error {
		g.Family, g.Refresh, g.UsedAt, g.ExpiresAt, g.Resource = want.Family, want.Refresh, want.UsedAt, want.ExpiresAt, "https://other.example.com"
		return nil
	}))(w.t)
	got = must(w.GrantByID(w.ctx, want.ID))(w.t)
	w.assertf(cmp.Equal(got, want), "%s", cmp.Diff(want, got))
	second := w.grant(w.all, w.key(w.all))
	list := must(w.ListGrants(w.ctx, w.all, uuid.Nil, 0))(w.t)
	w.assertf(len(list) == 2 && list[0].ID == want.ID && list[1].ID == second.ID, "%+v", list)
	w.assertf(len(must(w.ListGrants(w.ctx, w.all, want.ID.Grant, 1))(w.t)) == 1 && len(must(w.ListGrants(w.ctx, w.aliceS, uuid.Nil, 0))(w.t)) == 1, "pages, and those of an agent")
	w.noError(w.DeleteGrant(w.ctx, w.all, want.ID.Grant, memory.AuditEntry{Action: "grant.delete"}))
	w.wantFault(errOf(w.GrantByID(w.ctx, want.ID)), fault.NotFound)
	w.wantFault(w.DeleteGrant(w.ctx, w.all, want.ID.Grant, memory.AuditEntry{}), fault.NotFound)
	entries := must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Target: want.ID.Grant.String()}))(w.t)
	w.assertf(len(entries) == 2, "%+v", entries)
	for _, g := range []auth.Grant{
		{Key: key, Limit: tenant.Limit{User: strings.Repeat("x", 257)}}, {Key: key, Limit: tenant.Limit{Agent: "a\nb"}}, {Key: key, Client: "a\x00"},
	} {
		g.ID.Grant = uuid.New()
		w.wantFault(w.CreateGrant(w.ctx, w.all, g, manyGrants, memory.AuditEntry{}), fault.Invalid)
	}
}

// expireGrants: what has expired, or whose code was not exchanged, is in no list. The next grant of the tenant removes what has expired.
func expireGrants(_ *testing.T, w *world) {
	key := w.key(w.all)
	pending, short := newGrant(w, key), newGrant(w, key)
	pending.UsedAt, pending.ExpiresAt = time.Time{}, w.clock.Now().Add(2*time.Minute)
	short.ExpiresAt = w.clock.Now().Add(time.Minute)
	for _, g := range []auth.Grant{pending, short} {
		w.noError(w.CreateGrant(w.ctx, w.all, g, manyGrants, memory.AuditEntry{}))
	}
	list := must(w.ListGrants(w.ctx, w.all, uuid.Nil, 0))(w.t)
	w.assertf(len(list) == 1 && list[0].ID.Grant == short.ID.Grant, "%+v", list)
	w.clock.Advance(time.Minute)
	w.assertf(len(must(w.ListGrants(w.ctx, w.all, uuid.Nil, 0))(w.t)) == 0, "an expired grant is in no list")
	w.grant(w.all, key)
	w.wantFault(errOf(w.GrantByID(w.ctx, auth.GrantID{Tenant: w.tenant.ID, Grant: short.ID.Grant})), fault.NotFound)
	w.noError(errOf(w.GrantByID(w.ctx, auth.GrantID{Tenant: w.tenant.ID, Grant: pending.ID.Grant})))
}

// endGrants: the grants of an agent's keys go with the agent.
func endGrants(_ *testing.T, w *world) {
	g, other := w.grant(w.aliceS, w.key(w.aliceS)), w.grant(w.bobS, w.key(w.bobS))
	w.noError(errOf(w.DeleteAgent(w.ctx, w.all, w.alice.ID)))
	w.wantFault(errOf(w.GrantByID(w.ctx, g.ID)), fault.NotFound)
	w.noError(errOf(w.GrantByID(w.ctx, other.ID)))
}

// mostGrants: a tenant has no more than it may.
func mostGrants(_ *testing.T, w *world) {
	key := w.key(w.all)
	for i := range 4 {
		err := w.CreateGrant(w.ctx, w.all, newGrant(w, key), 3, memory.AuditEntry{})
		w.assertf((err == nil) == (i < 3), "%d: %v", i, err)
		if err != nil {
			w.wantFault(err, fault.QuotaExceeded)
		}
	}
	w.noError(w.CreateGrant(w.ctx, w.foreign, newGrant(w, w.key(w.foreign)), 3, memory.AuditEntry{}))
}

// grantsAtOnce: of many that use one refresh token concurrently, one finds it unused.
func grantsAtOnce(_ *testing.T, w *world) {
	g := w.grant(w.all, w.key(w.all))
	var found atomic.Int64
	w.noError(runConcurrently(8, func(int) error {
		_, err := w.UpdateGrant(w.ctx, w.all, g.ID.Grant, func(now *auth.Grant) error {
			if now.Refresh != g.Refresh {
				return fault.New(fault.Conflict, "used")
			}
			now.Refresh = [32]byte{9} // another one
			return nil
		})
		if err == nil {
			found.Add(1)
		}
		if fault.Is(err, fault.Conflict) {
			return nil
		}
		return err
	}))
	w.assertf(found.Load() == 1, "%d used it", found.Load())
}
