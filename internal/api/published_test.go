package api

import (
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

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
	within := map[string]bool{"/": true, "/version": true, "/healthz": true, "/livez": true, "/readyz": true, "/metrics": true}
	for name, open := range values.Doors {
		if !open {
			t.Errorf("the door %s is closed", name)
		}
		values.Ingress.Paths, values.HTTPRoute.Paths = append(values.Ingress.Paths, "/"+name), append(values.HTTPRoute.Paths, "/"+name)
	}
	used := map[string]bool{}
	for _, paths := range [][]string{values.Ingress.Paths, values.HTTPRoute.Paths} {
		for _, route := range newSystem(t).Server.engine.Routes() {
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
