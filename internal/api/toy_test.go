package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest/toy"
)

// The recipe "Add a policy" of CONTRIBUTING.md: a folder, a line in the list of the policies and one in that of the routes add a
// memory system with its settings, its upkeep, its reading and a route.
func TestNinthPolicy(t *testing.T) {
	t.Parallel()
	ninth, err := toy.New()
	if err != nil {
		t.Fatal(err)
	}
	b := newSystem(t, func(b *apptest.System, d *api.Deps, _ *api.Config) {
		c := d.Core
		c.Policies.(memory.PolicySet)[toy.Name] = ninth
		c.Routes = append(c.Routes, toy.Routes(b.Store))
	})
	if got := b.call(t, "reader", "GET", "/v1/policies", "").want(http.StatusOK); !strings.Contains(got.Body.String(), `"Tally"`) {
		t.Errorf("%s", got.Body)
	}
	b.call(t, "one", "POST", "/v1/collections", `{"name":"bad","policy":"toy","policy_config":{"most":0}}`).want(http.StatusUnprocessableEntity)
	c := "/v1/collections/" + b.call(t, "one", "POST", "/v1/collections", `{"name":"tallied","policy":"toy","policy_config":{"most":1}}`).want(http.StatusCreated).text("id")
	for _, body := range []string{`{"content":"Bread.","tags":["food","home"]}`, `{"content":"Soup.","tags":["food"]}`} {
		b.call(t, "one", "POST", c+"/notes", body).want(http.StatusCreated)
	}
	b.runJobs(t)

	got := b.call(t, "reader", "GET", c+"/tally", "").want(http.StatusOK)
	if got.number("counts.food") != 2 || got.number("counts.home") != 1 || got.Header().Get("Slipbox-Revision") == "" {
		t.Errorf("%s", got.Body)
	}
	if got := b.call(t, "reader", "POST", c+"/context", `{"query":"soup"}`).want(http.StatusOK).text("text"); !strings.Contains(got, "Tags: food (2).") {
		t.Errorf("%s", got)
	}
	notes := b.call(t, "reader", "GET", c+"/notes?kind=note", "").want(http.StatusOK)
	b.call(t, "one", "DELETE", c+"/notes/"+notes.text("items.0.id"), "").want(http.StatusNoContent)
	b.runJobs(t)
	if got := b.call(t, "reader", "GET", c+"/tally", "").want(http.StatusOK); got.at("counts.home") != nil || got.number("counts.food") != 1 {
		t.Errorf("%s", got.Body)
	}

	// The route has the checks of all others.
	b.call(t, "two", "GET", c+"/tally", "").want(http.StatusNotFound)
	b.call(t, "writer", "GET", c+"/tally", "").want(http.StatusForbidden)
	b.call(t, "reader", "GET", c+"/tally?no=1", "").want(http.StatusUnprocessableEntity)
	other := b.call(t, "one", "POST", "/v1/collections", `{"name":"other"}`).want(http.StatusCreated).text("id")
	b.call(t, "reader", "GET", "/v1/collections/"+other+"/tally", "").want(http.StatusUnprocessableEntity)
}
