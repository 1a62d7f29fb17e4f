package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// guarded is a bench behind a proxy at 192.0.2.0/24, which is the address of httptest's requests.
func guarded(t *testing.T, trusted ...string) bench {
	t.Helper()
	cfg := DefaultConfig()
	cfg.TrustedProxies = trusted
	b := newBench(t, cfg, echoes)
	guard := must.Get(auth.NewGuard(time.Now, slog.New(slog.DiscardHandler), auth.GuardConfig{PerAddress: 20}))(t)
	b.guard = guard
	return b
}

func (b bench) from(address, credential string) *httptest.ResponseRecorder {
	return b.do(request(http.MethodGet, notesPath, nil, "Authorization", "Bearer "+credential, "X-Forwarded-For", address))
}

// Wrong credentials from one address are refused with 429 and Retry-After, without a line of the log
// for each. Clients at other addresses continue.
func TestWrongCredentialsAreLimited(t *testing.T) {
	t.Parallel()
	b := guarded(t, "192.0.2.0/24")
	if w := b.from("203.0.113.5", "reader"); w.Code != http.StatusOK {
		t.Fatal(w.Code)
	}
	statuses := map[int]int{}
	var last *httptest.ResponseRecorder
	for i := range 1500 {
		last = b.from("203.0.113.5", fmt.Sprint("wrong-", i))
		statuses[last.Code]++
	}
	// A loaded machine may take so long that some are admitted again.
	if statuses[http.StatusUnauthorized] < 20 || statuses[http.StatusTooManyRequests] < 1000 || len(statuses) != 2 {
		t.Errorf("statuses: %v", statuses)
	}
	if last.Code == http.StatusTooManyRequests && (last.Header().Get("Retry-After") == "" || b.problem(t, last).Code != string(fault.RateLimited)) {
		t.Errorf("%v %s", last.Header(), last.Body)
	}
	logged := 0
	for line := range strings.Lines(b.log.String()) {
		if strings.Contains(line, `"status":429`) && !strings.Contains(line, `"level":"DEBUG"`) {
			logged++
		}
	}
	if logged > 0 {
		t.Errorf("%d lines about single refusals", logged)
	}
	if w := b.from("203.0.113.5", "reader"); w.Code != http.StatusOK {
		t.Errorf("a key that was used before: %d", w.Code)
	}
	if w := b.from("203.0.113.6", "all"); w.Code != http.StatusOK {
		t.Errorf("a right key from another address: %d", w.Code)
	}
}

// Only a trusted proxy names the address of a client.
func TestForwardedAddressNeedsTrust(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	limited := 0
	for i := range 300 {
		if w := b.from(fmt.Sprint("203.0.113.", i%250), fmt.Sprint("wrong-", i)); w.Code == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited == 0 {
		t.Error("a client chose its address by a header")
	}
	for _, wrong := range []string{"10.0.0.0/33", "proxy", ""} {
		cfg := DefaultConfig()
		cfg.TrustedProxies = []string{wrong}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "trusted_proxies") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// A proxy that is not trusted is named in the log, once. A trusted one is not.
func TestUntrustedProxyIsNamed(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		b := guarded(t)
		if trusted {
			b = guarded(t, "192.0.2.0/24")
		}
		for range 3 {
			b.from("203.0.113.5", "reader")
		}
		want := 1
		if trusted {
			want = 0
		}
		if n := strings.Count(b.log.String(), "SLIPBOX_TRUSTED_PROXIES"); n != want {
			t.Errorf("trusted %v: %d lines", trusted, n)
		}
	}
}
