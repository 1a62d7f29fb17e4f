package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

const auditPath = "/v1/audit"

func TestAuditTellsWhoDidWhat(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	_, stranger := s.tenant(t, "other")
	agent := want[wire.Agent](t, s, http.StatusCreated, admin, http.MethodPost, agentsPath, `{"name":"ada"}`)
	key := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath, `{"agent":"ada"}`)
	next := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath+"/"+key.ID+"/rotate", "")
	want[struct{}](t, s, http.StatusNoContent, admin, http.MethodDelete, keysPath+"/"+next.ID, "")
	want[wire.Collection](t, s, http.StatusCreated, admin, http.MethodPost, probe, `{"name":"base","policy":"none"}`)
	note := want[wire.NoteCreated](t, s, http.StatusCreated, admin, http.MethodPost, probe+"/base/notes", `{"content":"the word is xyzzy","tags":["plugh"],"infer":false}`).Note
	want[struct{}](t, s, http.StatusNoContent, admin, http.MethodDelete, agentsPath+"/ada", "")
	want[wire.Tenant](t, s, http.StatusOK, s.operator, http.MethodPatch, tenantsPath+"/acme", `{"limits":{"notes":5}}`)
	for _, suffix := range []string{"/suspend", "/resume"} {
		want[wire.Tenant](t, s, http.StatusOK, s.operator, http.MethodPost, tenantsPath+"/acme"+suffix, "")
	}

	a := s.send(t, admin, http.MethodGet, auditPath+"?limit=200", "")
	list := read[wire.AuditList](t, a)
	seen := map[string]wire.AuditEntry{}
	for _, e := range list.Items {
		seen[e.Action+" "+valueOr(e.Target, "")] = e
	}
	for _, act := range []string{
		"tenant.create " + x.ID.String(), "agent.create " + agent.ID.String(), "key.create " + key.ID, "key.create " + next.ID,
		"key.rotate " + key.ID, "key.revoke " + next.ID, "agent.delete " + agent.ID.String(),
		"tenant.limits " + x.ID.String(), "tenant.suspend " + x.ID.String(), "tenant.resume " + x.ID.String(),
	} {
		e, ok := seen[act]
		if !ok || e.At.IsZero() || e.Actor == "" {
			t.Errorf("no row for %q: %+v", act, e)
			continue
		}
		if byOperator := strings.HasPrefix(act, "tenant."); byOperator != strings.HasPrefix(e.Actor, "operator:") {
			t.Errorf("%q was done by %q", act, e.Actor)
		}
	}
	if !slices.IsSortedFunc(list.Items, func(a, b wire.AuditEntry) int { return int(b.ID - a.ID) }) {
		t.Error("not newest first")
	}
	for _, secret := range []string{"xyzzy", "plugh", key.Key, next.Key, key.Key[len(key.Prefix):], next.Key[len(next.Prefix):]} {
		if strings.Contains(a.Body.String(), secret) {
			t.Errorf("the audit log holds %q", secret)
		}
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	want[wire.Note](t, s, http.StatusOK, admin, http.MethodGet, probe+"/base/notes/"+note.ID.String(), "")

	// Filters.
	for target, count := range map[string]int{
		"?action=key.create":                         3, // with the first, made beside HTTP
		"?target=" + next.ID:                         2,
		"?action=key.revoke&target=" + next.ID:       1,
		"?action=nothing":                            0,
		"?action=key.create&target=" + x.ID.String(): 0,
	} {
		if got := want[wire.AuditList](t, s, http.StatusOK, admin, http.MethodGet, auditPath+target, ""); len(got.Items) != count || got.NextCursor != nil {
			t.Errorf("%s gives %d, want %d: %+v", target, len(got.Items), count, got.Items)
		}
	}
	// Another tenant's entries are never visible.
	if got := want[wire.AuditList](t, s, http.StatusOK, stranger, http.MethodGet, auditPath+"?target="+next.ID, ""); len(got.Items) != 0 {
		t.Errorf("another tenant sees %+v", got.Items)
	}
	s.refused(t, fault.Forbidden, s.key(t, x.ID, auth.NewKey{Scopes: []string{"notes:read"}}), http.MethodGet, auditPath, "")
	s.refused(t, fault.Forbidden, s.key(t, x.ID, auth.NewKey{Agent: "bob"}), http.MethodGet, auditPath, "")
	s.refused(t, fault.Invalid, admin, http.MethodGet, auditPath+"?actor=me", "")
}

func TestAuditPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, admin := s.tenant(t, "acme")
	for i := range 5 {
		want[wire.Agent](t, s, http.StatusCreated, admin, http.MethodPost, agentsPath, `{"name":"a`+strconv.Itoa(i)+`"}`)
	}
	var ids []int64
	path := auditPath + "?limit=2&action=agent.create"
	for range 100 {
		page := want[wire.AuditList](t, s, http.StatusOK, admin, http.MethodGet, path, "")
		for _, e := range page.Items {
			ids = append(ids, e.ID)
		}
		if page.NextCursor == nil {
			break
		}
		path = auditPath + "?limit=2&action=agent.create&cursor=" + *page.NextCursor
		if len(ids) == 2 {
			want[wire.Agent](t, s, http.StatusCreated, admin, http.MethodPost, agentsPath, `{"name":"late"}`)
		}
	}
	if len(ids) != 5 || !slices.IsSortedFunc(ids, func(a, b int64) int { return int(b - a) }) {
		t.Errorf("paged through %v", ids)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *site, d *Deps) { d.Limits.RequestsPerMinute = 1000 })
	x, admin := s.tenant(t, "acme")
	_, stranger := s.tenant(t, "other")
	base := want[wire.Collection](t, s, http.StatusCreated, admin, http.MethodPost, probe, `{"name":"base","policy":"none"}`)
	second := want[wire.Collection](t, s, http.StatusCreated, admin, http.MethodPost, probe, `{"name":"second","policy":"none"}`)
	for range 3 {
		want[wire.NoteCreated](t, s, http.StatusCreated, admin, http.MethodPost, probe+"/base/notes", `{"content":"some text","infer":false,"on_duplicate":"keep"}`)
	}
	sc := need(s.auth.Authenticator.Authenticate(t.Context(), admin))(t).Scope
	must.Do(t, s.store.AddModelUse(t.Context(), sc, []memory.ModelUse{
		{Collection: base.ID, Purpose: "analyze", Day: "2026-11-21", Calls: 2, PromptTokens: 100, CompletionTokens: 10},
		{Collection: second.ID, Purpose: "analyze", Day: "2026-11-21", Calls: 1, PromptTokens: 50, CompletionTokens: 5},
		{Collection: base.ID, Purpose: "embed", Day: "2026-11-21", Calls: 4, PromptTokens: 40},
		{Collection: base.ID, Purpose: "analyze", Day: "2026-11-20", Calls: 1, PromptTokens: 7, CompletionTokens: 7},
		{Collection: base.ID, Purpose: "analyze", Day: "2026-10-01", Calls: 9, PromptTokens: 9, CompletionTokens: 9},
	}))
	want[wire.Tenant](t, s, http.StatusOK, s.operator, http.MethodPatch, tenantsPath+"/acme", `{"limits":{"notes":500}}`)

	u := want[wire.Usage](t, s, http.StatusOK, admin, http.MethodGet, "/v1/usage", "")
	if u.Notes != 3 || u.Links != 0 || u.Collections != 2 || u.Forks != 0 || u.StoredBytes <= 0 {
		t.Errorf("holds %+v", u)
	}
	if u.From != "2026-10-22" || u.To != "2026-11-21" {
		t.Errorf("model use of %s to %s, want the 30 days before today", u.From, u.To)
	}
	if valueOr(u.Limits.Notes, 0) != 500 || valueOr(u.Limits.RequestsPerMinute, 0) != 1000 {
		t.Errorf("limits %s", mustJSON(t, u.Limits))
	}
	if got := mustJSON(t, u.Model); got != mustJSON(t, []wire.ModelUse{
		{Day: "2026-11-20", Purpose: "analyze", Calls: 1, PromptTokens: 7, CompletionTokens: 7},
		{Day: "2026-11-21", Purpose: "analyze", Calls: 3, PromptTokens: 150, CompletionTokens: 15},
		{Day: "2026-11-21", Purpose: "embed", Calls: 4, PromptTokens: 40},
	}) {
		t.Errorf("model use %s", got)
	}
	for target, calls := range map[string]int64{
		"?from=2026-10-01&to=2026-10-01": 9, "?to=2026-10-15": 9, "?from=2026-11-21": 7, "?from=2026-11-21&to=2026-11-21": 7, "?to=2027-01-01&from=2026-01-01": 17,
	} {
		var sum int64
		for _, m := range want[wire.Usage](t, s, http.StatusOK, admin, http.MethodGet, "/v1/usage"+target, "").Model {
			sum += m.Calls
		}
		if sum != calls {
			t.Errorf("%s counts %d calls, want %d", target, sum, calls)
		}
	}
	for target, field := range map[string]string{
		"?from=2026-11-22": "from", "?from=2026-11-21&to=2026-11-20": "from", "?from=2020-01-01": "from",
		"?from=yesterday": "from", "?to=2026-02-31": "to", "?day=2026-11-21": "day", "?from=0000-00-00": "from",
	} {
		if p := s.refused(t, fault.Invalid, admin, http.MethodGet, "/v1/usage"+target, ""); len(p.Errors) == 0 || p.Errors[0].Field != field {
			t.Errorf("%s names %v", target, p.Errors)
		}
	}
	// Another tenant, and an agent of the same one, see only their own use.
	if u := want[wire.Usage](t, s, http.StatusOK, stranger, http.MethodGet, "/v1/usage", ""); u.Notes != 0 || u.Collections != 0 || len(u.Model) != 0 {
		t.Errorf("another tenant sees %+v", u)
	}
	s.refused(t, fault.Forbidden, s.key(t, x.ID, auth.NewKey{Scopes: []string{"notes:read"}}), http.MethodGet, "/v1/usage", "")
}
