package oauth

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/test/must"
)

// nobody accepts no credential and grants nothing.
type nobody struct {
	Authenticator
	Grants
}

func newServer(t *testing.T, secret string, now func() time.Time) *Server {
	t.Helper()
	s := must.Get(New(Deps{Log: slog.New(slog.DiscardHandler), Auth: nobody{}, Grants: nobody{}, Secret: []byte(secret), PublicURL: "https://memory.example.com", Now: now}))(t)
	return s
}

// An address is compared exactly. On this machine the port is free, and nothing else.
func TestRedirectsAreComparedExactly(t *testing.T) {
	t.Parallel()
	c := client{Redirects: []string{"https://a.example/cb", "http://127.0.0.1/cb", "http://localhost:8000/cb?x=1", "http://[::1]:1/cb", "app.example:/cb"}}
	for uri, want := range map[string]bool{
		"https://a.example/cb": true, "https://a.example/cb/": false, "https://a.example/cb?x": false, "https://A.example/cb": false, "https://a.example:443/cb": false, "http://a.example/cb": false,
		"https://a.example.evil/cb": false, "https://a.example/cb/../x": false, "https://a.example/cb#x": false, "": false,
		"http://127.0.0.1:9/cb": true, "http://127.0.0.1/cb": true, "http://127.0.0.1:9/cb2": false, "https://127.0.0.1:9/cb": false, "http://127.0.0.2:9/cb": false, "http://127.0.0.1.evil.example:9/cb": false,
		"http://127.0.0.1:9@evil.example/cb": false, "http://user@127.0.0.1:9/cb": false, "http://localhost:9/cb?x=1": true, "http://localhost:9/cb": false, "http://[::1]:65535/cb": true,
		"http://localhost:9/cb?x=1#f": false, "app.example:/cb": true, "app.example:/cb2": false,
	} {
		if got := c.redirects(uri); got != want {
			t.Errorf("%q: %v", uri, got)
		}
	}
}

// The id of a program is what this installation has signed, for a year.
func TestClientIDs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	s := newServer(t, "a secret", func() time.Time { return now })
	id := must.Get(s.seal(client{Name: "n", Redirects: []string{"https://a.example/cb"}, IssuedAt: now.Unix()}))(t)
	if c, err := s.client(id); err != nil || c.Name != "n" || c.ID != id || c.expired(now) || !c.expired(now.Add(clientTTL+time.Second)) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := newServer(t, "a secret", time.Now).client(id); err != nil {
		t.Errorf("another gateway with the same secret: %v", err)
	}
	body, mac, _ := strings.Cut(id, ".")
	for _, wrong := range []string{"", "slipbox_", body, body + ".", body + "." + mac + "A", body[:len(body)-4] + "." + mac, strings.Repeat("x", 5000), clientPrefix + strings.Repeat("A", 5000), "x" + id, id + "="} {
		if c, err := s.client(wrong); err == nil {
			t.Errorf("%.40s: %+v", wrong, c)
		}
	}
	if _, err := newServer(t, "another secret", time.Now).client(id); err == nil {
		t.Error("another installation accepts it")
	}
	now = now.Add(clientTTL + time.Hour)
	w := httptest.NewRecorder()
	query := url.Values{"client_id": {id}, "redirect_uri": {"https://a.example/cb"}}
	s.showConsent(w, Request{Request: httptest.NewRequest(http.MethodGet, "/oauth/authorize?"+query.Encode(), http.NoBody)}, auth.Resource{Issuer: s.PublicURL, URL: s.PublicURL + "/mcp"})
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "unauthorized_client") {
		t.Errorf("after a year: %d %s", w.Code, w.Body)
	}
}

// What names a program is shown without what could mislead.
func TestNamesAreShownWithoutMarks(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"Claude", "Claude"}, {" a\u202eb\u2066c\x00\nd ", "abcd"}, {"日本語", "日本語"}, {"\xff", ""}, {"", ""}} {
		if got := plainName(c[0]); got != c[1] {
			t.Errorf("%q: %q", c[0], got)
		}
	}
	if got := plainName(strings.Repeat("x", 200)); len([]rune(got)) > maxClientName {
		t.Errorf("a long name has %d characters", len([]rune(got)))
	}
}
