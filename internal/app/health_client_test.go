package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
)

func TestHealthURL(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "0.0.0.0:8080": "http://127.0.0.1:8080", ":9090": "http://127.0.0.1:9090",
		"[::]:8080": "http://[::1]:8080", "[fd00::1]:80": "http://[fd00::1]:80", "gateway:8080": "http://gateway:8080",
		"127.0.0.1:0": "", "8080": "",
	} {
		got, err := HealthURL(addr)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q (%v), want %q", addr, got, err, want)
		}
	}
}

// The process may be ready or not, may not run, or may be another program.
func TestHealth(t *testing.T) {
	t.Parallel()
	status, body := http.StatusOK, ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer srv.Close()
	for name, tt := range map[string]struct {
		status int
		body   string
		ready  bool
		want   string // of the state, or of the error
	}{
		"ready":         {200, `{"status":"ok","checks":{"store":"ok","redis":"degraded"}}`, true, "ok: redis degraded, store ok"},
		"not ready":     {503, `{"status":"unavailable","checks":{"store":"failed"}}`, false, "unavailable: store failed"},
		"somebody else": {200, `<html>`, false, "is not slipbox"},
		"another JSON":  {200, `{"status":"ok"}`, false, "is not slipbox"},
	} {
		status, body = tt.status, tt.body
		ready, state, err := Health(t.Context(), srv.URL+"/")
		if err != nil {
			state = err.Error()
		}
		if ready != tt.ready || !strings.Contains(state, tt.want) {
			t.Errorf("%s: %v %q, want %q", name, ready, state, tt.want)
		}
	}
	srv.Close()
	if _, _, err := Health(t.Context(), srv.URL); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "--url") {
		t.Errorf("nobody there: %v", err)
	}
	for _, base := range []string{"127.0.0.1:8080", "ftp://host", "http://", ":"} {
		if _, _, err := Health(t.Context(), base); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", base, err)
		}
	}
}
