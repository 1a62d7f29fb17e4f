package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
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

// A page that the browser is to trust is complete: without style or script there is no policy for it.
func TestDocsPolicyNeedsAWholePage(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"", "<style>a{}</style>", "<script>a()</script>", "<style>a{}</style><script>a()"} {
		if policy, err := newDocsPolicy([]byte(page)); err == nil {
			t.Errorf("%q got %s", page, policy)
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
	for _, name := range []string{"style", "script"} {
		content, _, _ := strings.Cut(page[strings.Index(page, "<"+name+">")+len(name)+2:], "</"+name+">")
		sum := sha256.Sum256([]byte(content))
		if source := fmt.Sprintf("%s-src 'sha256-%s'", name, base64.StdEncoding.EncodeToString(sum[:])); len(content) < 1000 || !strings.Contains(policy, source) {
			t.Errorf("the policy does not admit the page's %s: %s", name, policy)
		}
		if strings.Count(page, "<"+name) != 1 {
			t.Errorf("the page has another %s, which the policy refuses", name)
		}
	}
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
