package api

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/test/must"
)

// A refusal by the contract says what the field must be, in words that fit the field.
func TestRefusalsSayWhatIsWanted(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), echoes)
	const search = "/v1/collections/research/search"
	for _, tt := range []struct{ path, body, want string }{
		{search, `{"query":"a","k":"ten"}`, `k: must be a number or "auto"`},
		{search, `[]`, "the body: value must be an object"},
		{search, `{"query":""}`, "query: must not be empty"},
		{search, `{"queries":[]}`, "queries: must not be empty"},
		{notesPath, `{"content":"a","occurred_at":"yesterday"}`, "occurred_at: must be a time in RFC 3339, or YYYYMMDDHHmm"},
		{"/v1/tenants", `{"name":"Not A Name"}`, "name: must be 1 to 128 of a-z, 0-9, _ . -, beginning with a letter or digit"},
	} {
		r := request(http.MethodPost, tt.path, strings.NewReader(tt.body))
		if tt.path == "/v1/tenants" {
			r.Header.Set("Authorization", "Bearer operator")
		}
		if p := b.problem(t, b.do(r)); p.Detail == nil || *p.Detail != tt.want {
			t.Errorf("%s %s: %+v, want %q", tt.path, tt.body, p, tt.want)
		}
	}
}

// A refused method comes with those that the route has.
func TestRefusedMethodNamesTheOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), echoes)
	const want = "the route does not support PUT; it supports GET, HEAD, POST"
	if p := b.problem(t, b.do(request(http.MethodPut, notesPath, nil))); p.Detail == nil || *p.Detail != want {
		t.Errorf("%+v, want %q", p, want)
	}
}

// A new pattern of the contract needs words of its own.
func TestEveryPatternHasItsWords(t *testing.T) {
	t.Parallel()
	found := regexp.MustCompile(`pattern: '?(\^[^\s']+\$)`).FindAllSubmatch(contract.OpenAPI(), -1)
	if len(found) < len(patternRules) {
		t.Fatalf("the contract has %d patterns, there are words for %d", len(found), len(patternRules))
	}
	for _, m := range found {
		if patternRules[string(m[1])] == "" {
			t.Errorf("the pattern %s has no words in patternRules", m[1])
		}
	}
}

// Found by fuzzing: the limits of a token request were not in the contract.
func TestTokenScopesInContract(t *testing.T) {
	t.Parallel()
	doc := must.Get(loadDocument())(t)
	schema := doc.operations["createToken"].checks().body
	for _, n := range []int{0, 1} {
		scopes := make([]any, n)
		for i := range scopes {
			scopes[i] = "notes:read"
		}
		err := checkSchema(schema, map[string]any{"scopes": scopes}, 0, "")
		if refused := err != nil && strings.HasPrefix(err.Error(), "invalid: scopes"); refused != (n == 0) {
			t.Errorf("%d scopes: %v", n, err)
		}
	}
}

func TestCursorsOutliveAProcess(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Unix(0, 0) }
	one := must.Get(newCursors([]byte("secret"), now))(t)
	sealed := one.aead.Seal(nil, nil, []byte("x"), nil)
	for secret, ok := range map[string]bool{"secret": true, "other": false, "": false} {
		two := must.Get(newCursors([]byte(secret), now))(t)
		if _, err := two.aead.Open(nil, nil, sealed, nil); (err == nil) != ok {
			t.Errorf("%q opens: %v", secret, err)
		}
	}
}
