package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
)

const tenantsPath = "/v1/tenants"

func TestTenants(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	op := s.operator
	x := want[wire.Tenant](t, s, http.StatusCreated, op, http.MethodPost, tenantsPath, `{"name":"acme","limits":{"notes":10,"forks":0}}`)
	if x.State != "active" || valueOr(x.Limits.Notes, 0) != 10 || x.Limits.Forks != nil || !x.CreatedAt.Equal(s.Now()) {
		t.Errorf("created %+v", x)
	}
	s.refused(t, fault.Exists, op, http.MethodPost, tenantsPath, `{"name":"acme"}`)
	for body, field := range map[string]string{
		`{}`:                                        "name",
		`{"name":"` + uuid.NewString() + `"}`:       "name",
		`{"name":"x","limits":{"notes":-1}}`:        "limits.notes",
		`{"name":"x","limits":{"notes":null}}`:      "limits.notes",
		`{"name":"x","limits":{"cats":1}}`:          "limits.cats",
		`{"name":"x","state":"suspended"}`:          "state",
		`{"name":"x","limits":{"notes":1.5}}`:       "limits.notes",
		`{"name":"x","limits":{"notes":1e30}}`:      "limits.notes",
		`{"name":"x","limits":{"stored_bytes":""}}`: "limits.stored_bytes",
	} {
		if p := s.refused(t, fault.Invalid, op, http.MethodPost, tenantsPath, body); len(p.Errors) == 0 || p.Errors[0].Field != field {
			t.Errorf("%s names %v", body, p.Errors)
		}
	}
	for _, ref := range []string{"acme", x.ID.String()} {
		if got := want[wire.Tenant](t, s, http.StatusOK, op, http.MethodGet, tenantsPath+"/"+ref, ""); got.ID != x.ID {
			t.Errorf("%s is %+v", ref, got)
		}
	}
	patch := func(body string) wire.Limits {
		return want[wire.Tenant](t, s, http.StatusOK, op, http.MethodPatch, tenantsPath+"/acme", body, "Content-Type", "application/merge-patch+json").Limits
	}
	if l := patch(`{"limits":{"collections":3,"requests_per_minute":60,"parse_seconds_per_hour":9}}`); valueOr(l.ParseSecondsPerHour, 0) != 9 || valueOr(l.Collections, 0) != 3 || valueOr(l.Notes, 0) != 10 || valueOr(l.RequestsPerMinute, 0) != 60 {
		t.Errorf("limits %s", mustJSON(t, l))
	}
	if l := patch(`{"limits":{"notes":null,"requests_per_minute":0}}`); l.Notes != nil || l.RequestsPerMinute != nil || valueOr(l.Collections, 0) != 3 {
		t.Errorf("limits %s", mustJSON(t, l))
	}
	for body, field := range map[string]string{
		`{"limits":{"notes":-1}}`: "limits.notes", `{"name":"y"}`: "name", `{"state":"suspended"}`: "state", `{"limits":null}`: "limits",
	} {
		if p := s.refused(t, fault.Invalid, op, http.MethodPatch, tenantsPath+"/acme", body); len(p.Errors) == 0 || p.Errors[0].Field != field {
			t.Errorf("%s names %v", body, p.Errors)
		}
	}
	if l := patch(`{}`); valueOr(l.Collections, 0) != 3 {
		t.Errorf("limits %s", mustJSON(t, l))
	}
	for _, call := range []struct{ method, suffix string }{
		{http.MethodGet, ""}, {http.MethodPatch, ""}, {http.MethodDelete, ""}, {http.MethodPost, "/suspend"}, {http.MethodPost, "/resume"},
	} {
		for _, ref := range []string{"nobody", uuid.NewString(), uuid.Nil.String(), "No-Name"} {
			body := ""
			if call.method == http.MethodPatch {
				body = `{}`
			}
			if p := s.refused(t, fault.NotFound, op, call.method, tenantsPath+"/"+ref+call.suffix, body); valueOr(p.Detail, "") != "tenant not found" {
				t.Errorf("%s %s: %v", call.method, ref, valueOr(p.Detail, ""))
			}
		}
	}
	// Suspending a suspended tenant, and resuming an active one, changes nothing.
	for _, suffix := range []string{"/suspend", "/suspend", "/resume", "/resume"} {
		want[wire.Tenant](t, s, http.StatusOK, op, http.MethodPost, tenantsPath+"/acme"+suffix, "")
	}
}

// Platform routes are forbidden to a tenant's key, and tenant routes to a platform key.
func TestOperatorSeparation(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	token := want[wire.Token](t, s, http.StatusOK, admin, http.MethodPost, tokenPath, "").AccessToken
	platform, tenants := 0, 0
	for id, op := range s.doc.operations {
		if op.public || !s.mounted[id] {
			continue
		}
		target := strings.NewReplacer("{tenant}", "acme", "{agent}", "ada", "{collection}", "base",
			"{api_key}", uuid.NewString(), "{note}", uuid.NewString(), "{job}", uuid.NewString()).Replace(op.path)
		switch {
		case op.scope == "operator":
			platform++
			for _, c := range []string{admin, token, s.key(t, x.ID, auth.NewKey{Agent: "ada"})} {
				p := s.refused(t, fault.Forbidden, c, op.method, target, "")
				if strings.Contains(valueOr(p.Detail, ""), "acme") {
					t.Errorf("the refusal says %s", *p.Detail)
				}
			}
		case op.platform:
		default:
			tenants++
			s.refused(t, fault.Forbidden, s.operator, op.method, target, "")
		}
		s.refused(t, fault.Unauthenticated, "", op.method, target, "")
	}
	if platform != 7 || tenants < 11 {
		t.Errorf("looked at %d and %d operations", platform, tenants)
	}
	// A tenant's key gets 403 for existing and for absent tenants.
	same(t, s.send(t, admin, http.MethodGet, tenantsPath+"/acme", ""), s.send(t, admin, http.MethodGet, tenantsPath+"/nobody", ""))
}

func TestListTenantsPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, name := range []string{"c", "a", "b", "d"} {
		want[wire.Tenant](t, s, http.StatusCreated, s.operator, http.MethodPost, tenantsPath, `{"name":"`+name+`"}`)
	}
	want[wire.Tenant](t, s, http.StatusOK, s.operator, http.MethodPost, tenantsPath+"/b/suspend", "")
	want[struct{}](t, s, http.StatusNoContent, s.operator, http.MethodDelete, tenantsPath+"/c", "")
	var names []string
	path := tenantsPath + "?limit=1"
	for range 100 {
		page := want[wire.TenantList](t, s, http.StatusOK, s.operator, http.MethodGet, path, "")
		for _, x := range page.Items {
			names = append(names, x.Name+" "+string(x.State))
		}
		if page.NextCursor == nil {
			break
		}
		path = tenantsPath + "?limit=1&cursor=" + *page.NextCursor
	}
	if !slices.Equal(names, []string{"a active", "b suspended", "d active"}) {
		t.Errorf("listed %v", names)
	}
}

func TestEraseTenant(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	_, other := s.tenant(t, "other")
	for _, key := range []string{admin, other} {
		want[wire.Collection](t, s, http.StatusCreated, key, http.MethodPost, probe, `{"name":"base","policy":"none"}`)
		want[wire.NoteCreated](t, s, http.StatusCreated, key, http.MethodPost, probe+"/base/notes", `{"content":"kept","infer":false}`)
	}
	want[struct{}](t, s, http.StatusNoContent, s.operator, http.MethodDelete, tenantsPath+"/acme", "")
	s.refused(t, fault.Unauthenticated, admin, http.MethodGet, probe, "")
	for _, ref := range []string{"acme", x.ID.String()} {
		s.refused(t, fault.NotFound, s.operator, http.MethodGet, tenantsPath+"/"+ref, "")
		s.refused(t, fault.NotFound, s.operator, http.MethodDelete, tenantsPath+"/"+ref, "")
	}
	if list := want[wire.NoteList](t, s, http.StatusOK, other, http.MethodGet, probe+"/base/notes", ""); len(list.Items) != 1 {
		t.Errorf("the other tenant has %+v", list.Items)
	}
	// The name is free, and a new tenant of that name is empty.
	_, again := s.tenant(t, "acme")
	if list := want[wire.CollectionList](t, s, http.StatusOK, again, http.MethodGet, probe, ""); len(list.Items) != 0 {
		t.Errorf("the new tenant has %+v", list.Items)
	}
	if problems := need(s.store.Verify(t.Context()))(t); len(problems) != 0 {
		t.Errorf("left over: %+v", problems)
	}
}
