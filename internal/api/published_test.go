package api_test

import (
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/oauth"
	"github.com/slipboxhq/slipbox/test/must"
)

// oauthPaths are the prefixes of the routes of OAuth.
var oauthPaths = []string{"/oauth", "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}

// The chart publishes every route that is served, by the paths or by a door, except those that only the cluster asks.
func TestChartPublishesTheRoutes(t *testing.T) {
	t.Parallel()
	var values struct {
		Doors     map[string]bool
		Ingress   struct{ Paths []string }
		HTTPRoute struct{ Paths []string } `yaml:"httpRoute"`
	}
	raw, err := os.ReadFile("../../charts/slipbox/values.yaml")
	if err == nil {
		err = yaml.Unmarshal(raw, &values)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The helper of the chart publishes these with the door of MCP.
	helpers := must.Get(os.ReadFile("../../charts/slipbox/templates/_helpers.tpl"))(t)
	for _, path := range oauthPaths {
		if !strings.Contains(string(helpers), strconv.Quote(path)) {
			t.Errorf("the chart does not publish %s", path)
		}
	}
	values.Ingress.Paths, values.HTTPRoute.Paths = append(values.Ingress.Paths, oauthPaths...), append(values.HTTPRoute.Paths, oauthPaths...)
	within := map[string]bool{"/": true, "/version": true, "/healthz": true, "/livez": true, "/readyz": true, "/metrics": true}
	for name, open := range values.Doors {
		if !open {
			t.Errorf("the door %s is closed", name)
		}
		values.Ingress.Paths, values.HTTPRoute.Paths = append(values.Ingress.Paths, "/"+name), append(values.HTTPRoute.Paths, "/"+name)
	}
	programs := must.Get(oauth.New(oauth.Deps{Log: slog.New(slog.DiscardHandler), Auth: &auth.Authenticator{}, Grants: &auth.Grants{}, Secret: []byte("secret"), Now: time.Now}))(t)
	b := apptest.New(t, func(_ *apptest.System, d *api.Deps, _ *api.Config) { d.OAuth = programs })
	routes := b.Served()
	used := map[string]bool{}
	for _, paths := range [][]string{values.Ingress.Paths, values.HTTPRoute.Paths} {
		for _, route := range routes {
			found := within[route.Path]
			for _, p := range paths {
				if route.Path == p || strings.HasPrefix(route.Path, p+"/") {
					found, used[p] = true, true
				}
			}
			if !found {
				t.Errorf("%s %s is not published", route.Method, route.Path)
			}
		}
	}
	elsewhere := map[string]bool{"/console": true, "/.well-known/jwks.json": true} // no parts of this system
	for _, p := range values.Ingress.Paths {
		if !used[p] && !elsewhere[p] {
			t.Errorf("%s is published, and no route is below it", p)
		}
	}
}
