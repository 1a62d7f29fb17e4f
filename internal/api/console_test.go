package api

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// Where there is a console, a browser at the gateway's address is led to it.
func TestRootLeadsToTheConsole(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	s := must.Get(New(Deps{Log: slog.New(slog.DiscardHandler), Auth: keys{}, Console: page}, DefaultConfig()))(t)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, request(http.MethodGet, "/", nil, "Authorization", "", "Accept", "text/html"))
	if w.Code != http.StatusFound || w.Header().Get("Location") != "/console" {
		t.Errorf("/: %d %q", w.Code, w.Header().Get("Location"))
	}
	for _, path := range []string{"/console", "/console/app.js"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, request(http.MethodGet, path, nil, "Authorization", ""))
		if w.Code != http.StatusOK || w.Body.String() != path {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
}
