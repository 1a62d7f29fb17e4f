package api

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
)

func docsText(t *testing.T) string {
	t.Helper()
	return newBench(t, DefaultConfig(), nil).do(request(http.MethodGet, "/docs", nil)).Body.String()
}

// An id that is on the page twice cannot be reached by its link.
func TestDocsIDsAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(docsText(t), -1) {
		if seen[m[1]] {
			t.Errorf("id %q is on the page twice", m[1])
		}
		seen[m[1]] = true
	}
	if !seen["search"] || !seen["page-find"] {
		t.Error("the operation search, or the search box, has another id")
	}
}

// What every application needs comes before what administrators need.
func TestDocsOrder(t *testing.T) {
	t.Parallel()
	page := docsText(t)
	at := -1
	for _, id := range []string{"page-start", "createNote", "search", "buildContext", "addMessages", "createCollection", "createToken", "createTenant", "getHealth"} {
		i := strings.Index(page, `id="`+id+`"`)
		if i <= at {
			t.Errorf("%s is at %d, want it after %d", id, i, at)
		}
		at = i
	}
}

func bodyFields(d *document, id string) []string {
	var names []string
	for _, f := range newDocsOperation(d.operations[id], newFieldOrder(d.raw)).Body {
		names = append(names, f.Name)
	}
	return names
}

func TestFieldOrder(t *testing.T) {
	t.Parallel()
	d, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]string{
		"search":       {"query", "vector", "messages", "queries", "mode", "k", "filter"},
		"buildContext": {"query", "messages", "token_budget"},
		"createNote":   {"content", "context", "keywords", "tags"},
	} {
		if got := bodyFields(d, id); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: %q, want first %q", id, got, want)
		}
	}
	order := newFieldOrder(d.raw)
	for name, ref := range d.spec.Components.Schemas {
		for property := range ref.Value.Properties {
			if !slices.Contains(order[name], property) {
				t.Errorf("the place of %s.%s was not found", name, property)
			}
		}
		fields := order.fields(name, ref.Value)
		for i := 1; i < len(fields); i++ {
			if fields[i].Required && !fields[i-1].Required {
				t.Errorf("%s: %s is required and comes after %s", name, fields[i].Name, fields[i-1].Name)
			}
		}
	}
}

// "Try it" may call this gateway and nothing else, and runs no script but the page's own.
func TestDocsPolicy(t *testing.T) {
	t.Parallel()
	w := newBench(t, DefaultConfig(), nil).do(request(http.MethodGet, "/docs", nil))
	policy := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "connect-src 'self'", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("%s is missing in %s", part, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("the policy is loose: %s", policy)
	}
	page := w.Body.String()
	if m := regexp.MustCompile(`\s(?:on\w+|style)="`).FindString(page); m != "" {
		t.Errorf("an attribute that the policy refuses: %s", m)
	}
	if !strings.Contains(page, `kept("sessionStorage", "slipbox-key")`) || strings.Contains(page, `kept("localStorage", "slipbox-key")`) {
		t.Error("the key is not kept in the tab's session alone")
	}
}

// A browser that opens the gateway's address gets a page, and a program that asks for JSON a problem.
func TestRootLeadsToTheDocs(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), nil)
	for accept, want := range map[string]int{
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": http.StatusFound,
		"*/*":                               http.StatusFound,
		"":                                  http.StatusFound,
		"text/html, application/json;q=0.5": http.StatusFound,
		"application/json":                  http.StatusNotFound,
		"application/problem+json, application/json;q=0.9": http.StatusNotFound,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := b.do(request(method, "/", nil, "Accept", accept, "Authorization", ""))
			if w.Code != want || want == http.StatusFound && w.Header().Get("Location") != "/docs" {
				t.Errorf("%s with Accept %q: %d %s, want %d", method, accept, w.Code, w.Header().Get("Location"), want)
			}
			if want == http.StatusNotFound && method == http.MethodGet && !strings.Contains(w.Body.String(), string(fault.NotFound)) {
				t.Errorf("Accept %q: %s", accept, w.Body)
			}
		}
	}
	if w := b.do(request(http.MethodPost, "/", nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}
