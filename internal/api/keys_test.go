package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
)

const keysPath = "/v1/api-keys"

func TestKeyTextAppearsOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, admin := s.tenant(t, "acme")
	created := want[map[string]any](t, s, http.StatusCreated, admin, http.MethodPost, keysPath,
		`{"agent":"ada","scopes":["notes:read"],"ttl_seconds":3600,"display_name":"Büro"}`)
	text, _ := created["key"].(string)
	prefix, _ := created["prefix"].(string)
	id, _ := created["id"].(string)
	if len(created) != 6 || !strings.HasPrefix(text, prefix+"_") || created["agent"] != "ada" || created["expires_at"] == nil {
		t.Fatalf("created %v", created)
	}
	token := want[wire.Token](t, s, http.StatusOK, text, http.MethodPost, tokenPath, "")
	rotated := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath+"/"+id+"/rotate", "")
	secrets := []string{text[len(prefix)+1:], rotated.Key[len(rotated.Prefix)+1:], token.AccessToken, strings.Split(token.AccessToken, ".")[2]}
	s.refused(t, fault.NotFound, admin, http.MethodPost, keysPath+"/"+uuid.NewString()+"/rotate", "")

	var shown strings.Builder
	shown.WriteString(s.log.String())
	for _, path := range []string{keysPath, "/v1/audit", "/v1/agents", "/v1/usage", "/.well-known/jwks.json", "/metrics"} {
		shown.Write(s.send(t, admin, http.MethodGet, path, "").Body.Bytes())
	}
	for _, secret := range secrets {
		if strings.Contains(shown.String(), secret) {
			t.Errorf("%q is shown: %s", secret, shown.String())
		}
	}
	if !strings.Contains(shown.String(), "key.rotate") || !strings.Contains(shown.String(), prefix) {
		t.Errorf("the audit log or the list is empty: %s", shown.String())
	}
	list := want[wire.APIKeyList](t, s, http.StatusOK, admin, http.MethodGet, keysPath+"?agent=ada", "")
	if len(list.Items) != 2 || valueOr(list.Items[0].DisplayName, "") != "Büro" || list.Items[0].RevokedAt == nil || list.Items[1].RevokedAt != nil {
		t.Errorf("the list is %+v", list.Items)
	}
}

func TestKeyIsNeverWiderOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	narrow := s.key(t, x.ID, auth.NewKey{Scopes: []string{"admin", "notes:read"}})
	bound := s.key(t, x.ID, auth.NewKey{Agent: "ada"})
	reader := s.key(t, x.ID, auth.NewKey{Scopes: []string{"notes:read", "notes:write", "collections:write", "base:write", "clone"}})
	s.refused(t, fault.Forbidden, reader, http.MethodPost, keysPath, "")
	s.refused(t, fault.Forbidden, reader, http.MethodGet, keysPath, "")
	s.refused(t, fault.Forbidden, narrow, http.MethodPost, keysPath, `{"scopes":["clone"]}`)
	s.refused(t, fault.Forbidden, admin, http.MethodPost, keysPath, `{"scopes":["operator"]}`)
	s.refused(t, fault.Forbidden, bound, http.MethodPost, keysPath, `{"agent":"bob"}`)
	s.refused(t, fault.Forbidden, s.operator, http.MethodPost, keysPath, "")
	if k := want[wire.APIKeyCreated](t, s, http.StatusCreated, narrow, http.MethodPost, keysPath, "{}"); !slices.Equal(k.Scopes, []wire.Scope{"admin", "notes:read"}) {
		t.Errorf("scopes %v", k.Scopes)
	}
	if k := want[wire.APIKeyCreated](t, s, http.StatusCreated, bound, http.MethodPost, keysPath, ""); valueOr(k.Agent, "") != "ada" {
		t.Errorf("agent %v", k.Agent)
	}
	for body, field := range map[string]string{
		`{"scopes":[]}`:                           "scopes",
		`{"scopes":["all"]}`:                      "scopes.0",
		`{"ttl_seconds":0}`:                       "ttl_seconds",
		`{"ttl_seconds":3153600001}`:              "ttl_seconds",
		`{"agent":"` + uuid.NewString() + `"}`:    "agent",
		`{"agent":"Ada"}`:                         "agent",
		`{"display_name":"a\nb"}`:                 "display_name",
		`{"name":"a"}`:                            "name",
		`{"tenant":"` + uuid.NewString() + `"}`:   "tenant",
		`{"scopes":["notes:read"],"key":"sb_me"}`: "key",
	} {
		if p := s.refused(t, fault.Invalid, admin, http.MethodPost, keysPath, body); len(p.Errors) == 0 || p.Errors[0].Field != field {
			t.Errorf("%s names %v", body, p.Errors)
		}
	}
	for _, path := range []string{keysPath, keysPath + "/" + uuid.NewString() + "/rotate"} {
		s.refused(t, fault.Malformed, admin, http.MethodPost, path, "", "Idempotency-Key", "k")
	}
}

// A key of a user reaches the memory of that user, in all operations, and makes no key.
func TestKeyOfAUserOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, admin := s.tenant(t, "acme")
	made := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath, `{"external":{"user":"ida@example.com"},"display_name":"Ida's phone"}`)
	if made.External == nil || valueOr(made.External.User, "") != "ida@example.com" || slices.Contains(made.Scopes, wire.Scope("admin")) || len(made.Scopes) < 4 {
		t.Errorf("%+v", made)
	}
	list := want[wire.APIKeyList](t, s, http.StatusOK, admin, http.MethodGet, keysPath, "")
	if last := list.Items[len(list.Items)-1]; last.External == nil || valueOr(last.External.User, "") != "ida@example.com" {
		t.Errorf("the list has %+v", last)
	}
	const collections = "/v1/collections"
	for name, ids := range map[string]string{"of-tom": `{"user":"tom@example.com"}`, "of-ida": `{"user":"ida@example.com"}`, "chat-of-ida": `{"user":"ida@example.com","agent":"chat"}`} {
		want[wire.Collection](t, s, http.StatusCreated, admin, http.MethodPost, collections, `{"name":"`+name+`","policy":"none","external":`+ids+`}`)
	}
	want[wire.Collection](t, s, http.StatusCreated, admin, http.MethodPost, collections, `{"name":"everybodys","policy":"none"}`)
	token := want[wire.Token](t, s, http.StatusOK, made.Key, http.MethodPost, tokenPath, "").AccessToken
	chat := want[wire.Token](t, s, http.StatusOK, admin, http.MethodPost, tokenPath, `{"external":{"user":"ida@example.com","agent":"chat"}}`)
	if chat.External == nil || valueOr(chat.External.Agent, "") != "chat" {
		t.Errorf("the token %+v", chat)
	}
	next := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath+"/"+made.ID+"/rotate", "{}")
	for credential, count := range map[string]int{made.Key: 2, token: 2, next.Key: 2, chat.AccessToken: 1} {
		if got := want[wire.CollectionList](t, s, http.StatusOK, credential, http.MethodGet, collections, ""); len(got.Items) != count {
			t.Errorf("%d collections, want %d: %+v", len(got.Items), count, got.Items)
		}
		for _, name := range []string{"of-tom", "everybodys"} {
			s.refused(t, fault.NotFound, credential, http.MethodGet, collections+"/"+name, "")
		}
		s.refused(t, fault.NotFound, credential, http.MethodGet, collections+"/by?user=tom@example.com", "")
		s.refused(t, fault.Invalid, credential, http.MethodPost, collections, `{"name":"mine","policy":"none","external":{"user":"tom@example.com","run":"2"}}`)
		s.refused(t, fault.Forbidden, credential, http.MethodPost, keysPath, `{"external":{"user":"ida@example.com"}}`)
		for _, path := range []string{keysPath, "/v1/oauth/grants", "/v1/audit", "/v1/usage"} {
			s.refused(t, fault.Forbidden, credential, http.MethodGet, path, "")
		}
	}
	s.refused(t, fault.Forbidden, made.Key, http.MethodPost, tokenPath, `{"external":{"user":"tom@example.com"}}`)
	for body, field := range map[string]string{
		`{"external":{"user":"ida"},"scopes":["notes:read","admin"]}`: "scopes",
		`{"external":{}}`:                "external",
		`{"external":{"user":""}}`:       "external.user",
		`{"external":{"user":"a\nb"}}`:   "external.user",
		`{"external":{"user_id":"ida"}}`: "external.user_id",
		`{"external":{"user":["ida"]}}`:  "external.user",
		`{"external":"ida"}`:             "external",
	} {
		if p := s.refused(t, fault.Invalid, admin, http.MethodPost, keysPath, body); len(p.Errors) == 0 || p.Errors[0].Field != field {
			t.Errorf("%s names %v", body, p.Errors)
		}
	}
}

func TestRotateOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	old := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath, `{"agent":"ada","scopes":["notes:read"],"ttl_seconds":86400}`)
	rotate := keysPath + "/" + old.ID + "/rotate"
	narrow := s.key(t, x.ID, auth.NewKey{Scopes: []string{"admin"}})
	s.refused(t, fault.Forbidden, narrow, http.MethodPost, rotate, "") // it would gain notes:read
	for _, body := range []string{`{"overlap_seconds":-1}`, `{"overlap_seconds":2592001}`, `{"overlap":1}`} {
		s.refused(t, fault.Invalid, admin, http.MethodPost, rotate, body)
	}
	next := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, rotate, `{"overlap_seconds":60}`)
	if next.ID == old.ID || next.Key == old.Key || valueOr(next.Agent, "") != "ada" || len(next.Scopes) != 1 || !next.ExpiresAt.Equal(*old.ExpiresAt) {
		t.Errorf("the new key is %+v", next)
	}
	for _, k := range []string{old.Key, next.Key} {
		want[wire.CollectionList](t, s, http.StatusOK, k, http.MethodGet, probe, "")
	}
	s.refused(t, fault.Conflict, admin, http.MethodPost, rotate, "")
	s.Pass(time.Minute)
	s.refused(t, fault.Unauthenticated, old.Key, http.MethodGet, probe, "")
	want[wire.CollectionList](t, s, http.StatusOK, next.Key, http.MethodGet, probe, "")
	atOnce := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath+"/"+next.ID+"/rotate", `{"overlap_seconds":0}`)
	s.refused(t, fault.Unauthenticated, next.Key, http.MethodGet, probe, "")
	want[struct{}](t, s, http.StatusNoContent, admin, http.MethodDelete, keysPath+"/"+atOnce.ID, "")
	s.refused(t, fault.Conflict, admin, http.MethodPost, keysPath+"/"+atOnce.ID+"/rotate", "")
}

// Keys of another tenant, or of another agent for a bound credential, look like absent ones.
func TestKeysOfOthersOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	_, stranger := s.tenant(t, "other")
	foreign := want[wire.APIKeyCreated](t, s, http.StatusCreated, stranger, http.MethodPost, keysPath, "")
	ada, bob := s.key(t, x.ID, auth.NewKey{Agent: "ada"}), s.key(t, x.ID, auth.NewKey{Agent: "bob"})
	bobs := want[wire.APIKeyCreated](t, s, http.StatusCreated, bob, http.MethodPost, keysPath, "")
	shared := want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath, "")

	for _, tt := range []struct{ credential, id string }{
		{admin, foreign.ID}, {ada, foreign.ID}, {ada, bobs.ID}, {ada, shared.ID},
		{admin, "nonsense"}, {admin, strings.ToUpper(uuid.NewString())},
	} {
		for _, op := range []struct{ method, suffix string }{{http.MethodDelete, ""}, {http.MethodPost, "/revoke"}, {http.MethodPost, "/rotate"}} {
			got := s.send(t, tt.credential, op.method, keysPath+"/"+tt.id+op.suffix, "")
			if got.Code != http.StatusNotFound {
				t.Errorf("%s %s%s: %d", op.method, tt.id, op.suffix, got.Code)
			}
			same(t, got, s.send(t, tt.credential, op.method, keysPath+"/"+uuid.NewString()+op.suffix, ""))
		}
	}
	for _, k := range []string{foreign.Key, bobs.Key, shared.Key} {
		want[wire.CollectionList](t, s, http.StatusOK, k, http.MethodGet, probe, "")
	}
	for _, k := range want[wire.APIKeyList](t, s, http.StatusOK, ada, http.MethodGet, keysPath, "").Items {
		if valueOr(k.Agent, "") != "ada" {
			t.Errorf("ada sees a key of %q", valueOr(k.Agent, "nobody"))
		}
	}
	for _, k := range want[wire.APIKeyList](t, s, http.StatusOK, admin, http.MethodGet, keysPath, "").Items {
		if k.ID == foreign.ID {
			t.Error("a key of another tenant is listed")
		}
	}
	same(t, s.send(t, ada, http.MethodGet, keysPath+"?agent=bob", ""), s.send(t, ada, http.MethodGet, keysPath+"?agent=nobody", ""))
	s.refused(t, fault.NotFound, admin, http.MethodGet, keysPath+"?agent=nobody", "")
}

func TestListKeysPagesOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, admin := s.tenant(t, "acme")
	_, other := s.tenant(t, "other")
	for range 6 {
		want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath, "")
	}
	var ids []string
	path, cursors := keysPath+"?limit=3", []string{}
	for range 100 {
		page := want[wire.APIKeyList](t, s, http.StatusOK, admin, http.MethodGet, path, "")
		for _, k := range page.Items {
			ids = append(ids, k.ID)
		}
		if page.NextCursor == nil {
			break
		}
		if len(page.Items) != 3 {
			t.Errorf("a page of %d", len(page.Items))
		}
		cursors = append(cursors, *page.NextCursor)
		path = keysPath + "?limit=3&cursor=" + *page.NextCursor
		// A key that is created meanwhile does not move the next page.
		if len(cursors) == 1 {
			want[wire.APIKeyCreated](t, s, http.StatusCreated, admin, http.MethodPost, keysPath, "")
		}
	}
	if len(ids) != 8 || !slices.IsSorted(ids) || len(slices.Compact(ids)) != 8 {
		t.Errorf("listed %v", ids)
	}
	cursor := cursors[0]
	for name, tt := range map[string]struct{ credential, target string }{
		"another tenant": {other, keysPath + "?cursor=" + cursor},
		"another list":   {admin, "/v1/audit?cursor=" + cursor},
		"another filter": {admin, keysPath + "?agent=ada&cursor=" + cursor},
		"forged":         {admin, keysPath + "?cursor=" + cursor[:len(cursor)-2] + "AA"},
		"garbage":        {admin, keysPath + "?cursor=abc"},
	} {
		if p := s.refused(t, fault.Invalid, tt.credential, http.MethodGet, tt.target, ""); len(p.Errors) == 0 || p.Errors[0].Field != "cursor" {
			t.Errorf("%s: %v", name, p)
		}
	}
	s.Pass(24*time.Hour + 2*time.Second)
	s.refused(t, fault.Invalid, admin, http.MethodGet, keysPath+"?cursor="+cursor, "")
}

// A key changes no key that is wider than itself, and erases no agent that has one: for every caller,
// target and operation the answer is what the scopes and the binding of the two say.
func TestKeysAndWhatTheyMayChange(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, owner := s.tenant(t, "acme")
	all := []string{"notes:read", "notes:write", "collections:write", "base:write", "clone", "admin"}
	callers := map[string]auth.NewKey{
		"admin alone":      {Scopes: []string{"admin"}},
		"with collections": {Scopes: []string{"admin", "collections:write"}},
		"with reading":     {Scopes: []string{"admin", "notes:read"}},
		"with both":        {Scopes: []string{"admin", "collections:write", "notes:read"}},
		"all":              {Scopes: all},
		"bound":            {Scopes: all, Agent: "ada"},
		"bound and narrow": {Scopes: []string{"admin", "notes:read"}, Agent: "ada"},
		"without admin":    {Scopes: all[:5]},
		"bound, no admin":  {Scopes: all[:5], Agent: "ada"},
	}
	targets := map[string][]string{"none": nil, "reading": {"notes:read"}, "all": all}
	operations := map[string]struct {
		method, path string
		status       int
	}{
		"rotate":       {http.MethodPost, "/rotate", http.StatusCreated},
		"revoke":       {http.MethodPost, "/revoke", http.StatusNoContent},
		"delete":       {http.MethodDelete, "", http.StatusNoContent},
		"delete agent": {http.MethodDelete, "", http.StatusNoContent},
	}
	agents := 0
	for who, caller := range callers {
		for what, scopes := range targets {
			for op, o := range operations {
				if op != "delete agent" && scopes == nil {
					continue
				}
				agents++
				agent := fmt.Sprintf("agent-%d", agents)
				if caller.Agent != "" {
					caller.Agent = agent
				}
				for _, same := range []bool{true, false} {
					of := agent
					if !same {
						of += "-other"
					}
					want[wire.Agent](t, s, http.StatusCreated, owner, http.MethodPost, "/v1/agents", fmt.Sprintf(`{"name":%q}`, of))
					mine := s.key(t, x.ID, caller)
					path := "/v1/agents/" + of
					var target string
					if scopes != nil {
						body := `{"agent":"` + of + `","scopes":["` + strings.Join(scopes, `","`) + `"]}`
						target = want[wire.APIKeyCreated](t, s, http.StatusCreated, owner, http.MethodPost, keysPath, body).ID
					}
					if op != "delete agent" {
						path = keysPath + "/" + target + o.path
					}
					lacks := func(needed ...string) bool {
						return slices.ContainsFunc(needed, func(scope string) bool { return !slices.Contains(caller.Scopes, scope) })
					}
					status := o.status
					switch {
					case lacks("admin"), op == "delete agent" && lacks("collections:write"):
						status = http.StatusForbidden
					case caller.Agent != "" && !same:
						status = http.StatusNotFound
					case lacks(scopes...):
						status = http.StatusForbidden
					}
					got := s.send(t, mine, o.method, path, "")
					if got.Code != status {
						t.Errorf("%s, a key with %s, %s, same agent %v: %d %s, want %d", who, what, op, same, got.Code, got.Body, status)
					}
					if status == http.StatusForbidden && !strings.Contains(got.Body.String(), `\"`) {
						t.Errorf("%s: the missing scope is not named: %s", who, got.Body)
					}
				}
			}
		}
	}
}
