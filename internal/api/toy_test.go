package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest/toy"
	"github.com/slipboxhq/slipbox/test/must"
)

// The recipe "Add a policy" of CONTRIBUTING.md: a folder, a line in the list of the policies and one in that of the routes add a
// memory system with its settings, its upkeep, its reading and a route.
func TestNinthPolicy(t *testing.T) {
	t.Parallel()
	ninth := must.Get(toy.New())(t)
	b := apptest.New(t, func(b *apptest.System, d *api.Deps, _ *api.Config) {
		c := d.Core
		c.Policies[toy.Name] = ninth
		c.Routes = append(c.Routes, toy.Routes(b.Store))
	})
	if got := b.Call(t, "reader", "GET", "/v1/policies", "").Want(http.StatusOK); !strings.Contains(got.Body.String(), `"Tally"`) {
		t.Errorf("%s", got.Body)
	}
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"bad","policy":"toy","policy_config":{"most":0}}`).Want(http.StatusUnprocessableEntity)
	c := "/v1/collections/" + b.Call(t, "one", "POST", "/v1/collections", `{"name":"tallied","policy":"toy","policy_config":{"most":1}}`).Want(http.StatusCreated).Text("id")
	for _, body := range []string{`{"content":"Bread.","tags":["food","home"]}`, `{"content":"Soup.","tags":["food"]}`} {
		b.Call(t, "one", "POST", c+"/notes", body).Want(http.StatusCreated)
	}
	b.RunJobs(t)

	got := b.Call(t, "reader", "GET", c+"/tally", "").Want(http.StatusOK)
	if got.Number("counts.food") != 2 || got.Number("counts.home") != 1 || got.Header().Get("Slipbox-Revision") == "" {
		t.Errorf("%s", got.Body)
	}
	if got := b.Call(t, "reader", "POST", c+"/context", `{"query":"soup"}`).Want(http.StatusOK).Text("text"); !strings.Contains(got, "Tags: food (2).") {
		t.Errorf("%s", got)
	}
	notes := b.Call(t, "reader", "GET", c+"/notes?kind=note", "").Want(http.StatusOK)
	b.Call(t, "one", "DELETE", c+"/notes/"+notes.Text("items.0.id"), "").Want(http.StatusNoContent)
	b.RunJobs(t)
	if got := b.Call(t, "reader", "GET", c+"/tally", "").Want(http.StatusOK); got.At("counts.home") != nil || got.Number("counts.food") != 1 {
		t.Errorf("%s", got.Body)
	}

	// The route has the checks of all others.
	b.Call(t, "two", "GET", c+"/tally", "").Want(http.StatusNotFound)
	b.Call(t, "writer", "GET", c+"/tally", "").Want(http.StatusForbidden)
	b.Call(t, "reader", "GET", c+"/tally?no=1", "").Want(http.StatusUnprocessableEntity)
	other := b.Call(t, "one", "POST", "/v1/collections", `{"name":"other"}`).Want(http.StatusCreated).Text("id")
	b.Call(t, "reader", "GET", "/v1/collections/"+other+"/tally", "").Want(http.StatusUnprocessableEntity)
}
