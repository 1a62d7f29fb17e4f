package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// TestExternalIDs: collections have ids of the application's own, and are listed by them (C313).
func TestExternalIDs(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	for i, id := range []string{"auth0|x", uuid.NewString(), "日本", "a/b", "../x", strings.Repeat("x", 256)} {
		body := `{"name":"c` + strconv.Itoa(i) + `","external":{"user":` + strconv.Quote(id) + `,"app":"web"}}`
		made := b.call(t, "ada", "POST", "/v1/collections", body).want(http.StatusCreated)
		if made.text("external.user") != id || made.text("external.app") != "web" || made.at("external.run") != nil {
			t.Errorf("created: %s", made.Body)
		}
		for target, want := range map[string]int{"?user=" + url.QueryEscape(id): 1, "?user=" + url.QueryEscape(id) + "&app=web": 1, "?app=" + url.QueryEscape(id): 0, "?agent_id=x": 0} {
			list := b.call(t, "one", "GET", "/v1/collections"+target, "").want(http.StatusOK)
			if list.length("items") != want || want > 0 && list.text("items.0.id") != made.text("id") {
				t.Errorf("%s: %s", target, list.Body)
			}
			for _, other := range []string{"bob", "two"} {
				if l := b.call(t, other, "GET", "/v1/collections"+target, "").want(http.StatusOK); l.length("items") != 0 {
					t.Errorf("%s sees %s", other, l.Body)
				}
			}
		}
	}
	b.call(t, "ada", "POST", "/v1/collections", `{"name":"again","external":{"user":"a/b","app":"web"}}`).refused(409, fault.Exists, "")
	b.call(t, "ada", "POST", "/v1/collections", `{"name":"c0","extend":true,"external":{"user":"x"}}`).refused(409, fault.Conflict, "external")
	b.call(t, "ada", "POST", "/v1/collections", `{"name":"c0","extend":true,"external":{"user":"auth0|x","app":"web"}}`).want(http.StatusCreated)
	if fork := b.call(t, "one", "POST", "/v1/collections/c0/clone", `{"name":"fork"}`).want(http.StatusCreated); fork.at("external") != nil {
		t.Errorf("a fork: %s", fork.Body)
	}
	for bad, field := range map[string]string{
		`{}`: "external", `{"user":""}`: "external.user", `{"user":"` + strings.Repeat("x", 257) + `"}`: "external.user", `{"run":"a\nb"}`: "external.run",
		`{"agent":"` + strings.Repeat("日", 86) + `"}`: "external.agent", `{"app":"\u0085"}`: "external.app", `{"user_id":"x"}`: "external.user_id",
	} {
		b.call(t, "ada", "POST", "/v1/collections", `{"name":"bad","external":`+bad+`}`).refused(422, fault.Invalid, field)
	}
}
