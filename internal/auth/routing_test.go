package auth

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/test/must"
)

// The map for nginx in the chart's README routes all keys of a tenant alike, and those of others otherwise.
func TestRouteByTenant(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile("../../charts/slipbox/README.md"))(t)
	found := regexp.MustCompile(`"~\*(\S* \S*)" \$1;`).FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no map")
	}
	rule := regexp.MustCompile("(?i)" + string(found[1])) // nginx: ~* ignores case
	routed := func(scheme, env string, tenant uuid.UUID) string {
		t.Helper()
		k := newKeyText(env, tenant, uuid.New())
		header := scheme + " " + k.text()
		if got := rule.FindStringSubmatch(header); got != nil {
			return got[1]
		}
		return header
	}
	a, b := uuid.New(), uuid.New()
	want := routed("Bearer", "live", a)
	if want != keyEncoding.EncodeToString(a[:]) {
		t.Errorf("routed by %q", want)
	}
	for _, scheme := range []string{"Bearer", "bearer", "Token"} {
		if got := routed(scheme, "test2", a); got != want {
			t.Errorf("another key of the tenant, by %s: routed by %q, want %q", scheme, got, want)
		}
	}
	if routed("Bearer", "live", b) == want {
		t.Error("two tenants are routed alike")
	}
}
