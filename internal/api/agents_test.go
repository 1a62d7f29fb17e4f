package api

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
)

const agentsPath = "/v1/agents"

func TestAgents(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, admin := s.tenant(t, "acme")
	_, stranger := s.tenant(t, "other")
	ada := want[wire.Agent](t, s, http.StatusCreated, admin, http.MethodPost, agentsPath, `{"name":"ada","display_name":"Ада 李明"}`)
	if ada.Name != "ada" || valueOr(ada.DisplayName, "") != "Ада 李明" || !ada.CreatedAt.Equal(s.Now()) {
		t.Errorf("created %+v", ada)
	}
	s.refused(t, fault.Exists, admin, http.MethodPost, agentsPath, `{"name":"ada"}`)
	// Names are per tenant.
	foreign := want[wire.Agent](t, s, http.StatusCreated, stranger, http.MethodPost, agentsPath, `{"name":"ada"}`)
	for _, ref := range []string{"ada", ada.ID.String()} {
		if got := want[wire.Agent](t, s, http.StatusOK, admin, http.MethodGet, agentsPath+"/"+ref, ""); got.ID != ada.ID {
			t.Errorf("%s is %+v", ref, got)
		}
	}
	for body, field := range map[string]string{
		`{}`:                                           "name",
		`{"name":"Ada"}`:                               "name",
		`{"name":"` + uuid.NewString() + `"}`:          "name",
		`{"name":"x","display_name":""}`:               "display_name",
		`{"name":"x","display_name":"a\u0007"}`:        "display_name",
		`{"name":"x","id":"` + uuid.NewString() + `"}`: "id",
		`{"name":"0190a5e0000070008000000000000001"}`:  "name",
		`{"name":"x","model":"fast","display_name":1}`: "display_name",
	} {
		if p := s.refused(t, fault.Invalid, admin, http.MethodPost, agentsPath, body); len(p.Errors) == 0 || p.Errors[0].Field != field {
			t.Errorf("%s names %v", body, p.Errors)
		}
	}
	// Another tenant's agent, an unknown one and nonsense look the same.
	absent := s.send(t, admin, http.MethodGet, agentsPath+"/"+uuid.NewString(), "")
	for _, ref := range []string{foreign.ID.String(), "nobody", "No-Name", "a%2Fb"} {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			got := s.send(t, admin, method, agentsPath+"/"+ref, "")
			if got.Code != http.StatusNotFound {
				t.Errorf("%s %s: %d", method, ref, got.Code)
			}
			same(t, got, absent)
		}
	}
	want[wire.Agent](t, s, http.StatusOK, stranger, http.MethodGet, agentsPath+"/"+foreign.ID.String(), "")
}

func TestListAgentsPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, admin := s.tenant(t, "acme")
	for _, name := range []string{"d", "b", "a", "c", "e"} {
		want[wire.Agent](t, s, http.StatusCreated, admin, http.MethodPost, agentsPath, `{"name":"`+name+`"}`)
	}
	var names []string
	path := agentsPath + "?limit=2"
	for range 100 {
		page := want[wire.AgentList](t, s, http.StatusOK, admin, http.MethodGet, path, "")
		for _, a := range page.Items {
			names = append(names, a.Name)
		}
		if page.NextCursor == nil {
			break
		}
		path = agentsPath + "?limit=2&cursor=" + *page.NextCursor
		if len(names) == 2 { // new and deleted agents do not move the others
			want[wire.Agent](t, s, http.StatusCreated, admin, http.MethodPost, agentsPath, `{"name":"aa"}`)
			want[struct{}](t, s, http.StatusNoContent, admin, http.MethodDelete, agentsPath+"/b", "")
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c", "d", "e"}) {
		t.Errorf("listed %v", names)
	}
}

func collectionNames(t *testing.T, s *site, credential string) []string {
	t.Helper()
	items := want[wire.CollectionList](t, s, http.StatusOK, credential, http.MethodGet, probe, "").Items
	names := make([]string, 0, len(items))
	for i := range items {
		names = append(names, items[i].Name)
	}
	slices.Sort(names)
	return names
}

func TestBoundKeySeesItsOwnAndTheShared(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	ada, bob := s.key(t, x.ID, auth.NewKey{Agent: "ada"}), s.key(t, x.ID, auth.NewKey{Agent: "bob"})
	shared := want[wire.Collection](t, s, http.StatusCreated, admin, http.MethodPost, probe, `{"name":"base","policy":"none"}`)
	mine := want[wire.Collection](t, s, http.StatusCreated, ada, http.MethodPost, probe, `{"name":"mine","policy":"none"}`)
	theirs := want[wire.Collection](t, s, http.StatusCreated, bob, http.MethodPost, probe, `{"name":"theirs","policy":"none"}`)
	note := want[wire.NoteCreated](t, s, http.StatusCreated, bob, http.MethodPost, probe+"/theirs/notes", `{"content":"a secret of bob","infer":false}`).Note

	if names := collectionNames(t, s, ada); !slices.Equal(names, []string{"base", "mine"}) {
		t.Errorf("ada sees %v", names)
	}
	want[wire.Collection](t, s, http.StatusOK, ada, http.MethodGet, probe+"/"+shared.ID.String(), "")
	want[wire.Collection](t, s, http.StatusOK, ada, http.MethodGet, probe+"/"+mine.ID.String(), "")
	for _, path := range []string{"", "/notes", "/notes/" + note.ID.String()} {
		absent := s.send(t, ada, http.MethodGet, probe+"/"+uuid.NewString()+path, "")
		if absent.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, absent.Code)
		}
		for _, ref := range []string{theirs.ID.String(), "theirs"} {
			same(t, s.send(t, ada, http.MethodGet, probe+"/"+ref+path, ""), absent)
		}
	}
	same(t, s.send(t, ada, http.MethodPost, probe+"/theirs/notes", `{"content":"x"}`), s.send(t, ada, http.MethodPost, probe+"/nothing/notes", `{"content":"x"}`))
	same(t, s.send(t, ada, http.MethodPost, probe+"/theirs/search", `{"query":"secret"}`), s.send(t, ada, http.MethodPost, probe+"/nothing/search", `{"query":"secret"}`))
	same(t, s.send(t, ada, http.MethodDelete, probe+"/theirs", ""), s.send(t, ada, http.MethodDelete, probe+"/nothing", ""))
	same(t, s.send(t, ada, http.MethodGet, agentsPath+"/bob", ""), s.send(t, ada, http.MethodGet, agentsPath+"/nobody", ""))
	same(t, s.send(t, ada, http.MethodDelete, agentsPath+"/bob", ""), s.send(t, ada, http.MethodDelete, agentsPath+"/nobody", ""))
	if list := want[wire.AgentList](t, s, http.StatusOK, ada, http.MethodGet, agentsPath, ""); len(list.Items) != 1 || list.Items[0].Name != "ada" || list.NextCursor != nil {
		t.Errorf("ada sees the agents %+v", list)
	}
	s.refused(t, fault.Forbidden, ada, http.MethodPost, agentsPath, `{"name":"carol"}`)
	s.refused(t, fault.Forbidden, ada, http.MethodGet, "/v1/audit", "")

	// A token bound to an agent is limited like a key.
	token := want[wire.Token](t, s, http.StatusOK, admin, http.MethodPost, tokenPath, `{"agent":"ada"}`).AccessToken
	same(t, s.send(t, token, http.MethodGet, probe+"/theirs", ""), s.send(t, token, http.MethodGet, probe+"/nothing", ""))
	want[wire.Collection](t, s, http.StatusOK, token, http.MethodGet, probe+"/mine", "")
	// Without an agent it reaches the whole tenant.
	want[wire.Note](t, s, http.StatusOK, admin, http.MethodGet, probe+"/theirs/notes/"+note.ID.String(), "")
}

func TestEraseAgent(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	x, admin := s.tenant(t, "acme")
	ada, bob := s.key(t, x.ID, auth.NewKey{Agent: "ada"}), s.key(t, x.ID, auth.NewKey{Agent: "bob"})
	token := want[wire.Token](t, s, http.StatusOK, admin, http.MethodPost, tokenPath, `{"agent":"ada"}`).AccessToken
	want[wire.Collection](t, s, http.StatusCreated, admin, http.MethodPost, probe, `{"name":"base","policy":"none"}`)
	for _, name := range []string{"one", "two"} {
		want[wire.Collection](t, s, http.StatusCreated, ada, http.MethodPost, probe, `{"name":"`+name+`","policy":"none"}`)
	}
	want[wire.Collection](t, s, http.StatusCreated, bob, http.MethodPost, probe, `{"name":"one","policy":"none"}`)
	s.refused(t, fault.Forbidden, s.key(t, x.ID, auth.NewKey{Scopes: []string{"notes:read"}}), http.MethodDelete, agentsPath+"/ada", "")

	want[struct{}](t, s, http.StatusNoContent, admin, http.MethodDelete, agentsPath+"/ada", "")
	for _, c := range []string{ada, token} {
		s.refused(t, fault.Unauthenticated, c, http.MethodGet, probe, "")
	}
	s.refused(t, fault.NotFound, admin, http.MethodGet, agentsPath+"/ada", "")
	s.refused(t, fault.NotFound, admin, http.MethodDelete, agentsPath+"/ada", "")
	if names := collectionNames(t, s, admin); !slices.Equal(names, []string{"base", "one"}) {
		t.Errorf("left are %v", names)
	}
	for _, k := range want[wire.APIKeyList](t, s, http.StatusOK, admin, http.MethodGet, keysPath, "").Items {
		if valueOr(k.Agent, "") == "ada" {
			t.Errorf("a key of the agent is left: %+v", k)
		}
	}
	want[wire.CollectionList](t, s, http.StatusOK, bob, http.MethodGet, probe, "")
	// The name is free again, and the new agent of that name is another one.
	again := want[wire.Agent](t, s, http.StatusCreated, admin, http.MethodPost, agentsPath, `{"name":"ada"}`)
	s.refused(t, fault.Unauthenticated, token, http.MethodGet, probe, "")
	if got := want[wire.CollectionList](t, s, http.StatusOK, admin, http.MethodGet, probe+"?agent="+again.ID.String(), ""); len(got.Items) != 0 {
		t.Errorf("the new agent has %+v", got.Items)
	}
}
