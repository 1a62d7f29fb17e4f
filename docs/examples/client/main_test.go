package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
	"github.com/slipboxhq/slipbox/test/must"
)

// answer is the answer of the test's gateway to one request.
type answer struct {
	status     int
	retryAfter string
	body       string
}

func problem(status int, code string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"status":%d,"code":%q,"detail":"in words","errors":[{"field":"k","reason":"too large"}],"request_id":"r1"}`, status, code)}
}

// C090: the documented client handles hits, no hits, and each kind of failure. What is tried again, and how a write is, the
// client's own tests show (sdk/fixtures).
func TestAsk(t *testing.T) {
	t.Parallel()
	const found = `{"hits":[{"note":{"id":"n1","content":"Rosa repairs bicycles."},"score":0.75,"new_field":1}],"revision":3}`
	busy := problem(503, "unavailable")
	busy.retryAfter = "0"
	tests := []struct {
		name    string
		answers []answer // in order; the last one is repeated
		prints  string
		errs    string
		asked   int
	}{
		{"found", []answer{{200, "", found}}, "0.750  Rosa repairs bicycles.\n", "", 1},
		{"nothing found is no error", []answer{{200, "", `{"hits":[]}`}}, "nothing found\n", "", 1},
		{"no such collection", []answer{problem(404, "not_found")}, "", `no collection "demo"`, 1},
		{"key refused", []answer{problem(401, "unauthenticated")}, "", "gateway key create", 1},
		{"refused for good, with field and request", []answer{problem(422, "invalid")}, "", "422 invalid: in words; k: too large [request r1]", 1},
		{"busy, then found", []answer{busy, {200, "", found}}, "0.750  Rosa repairs bicycles.\n", "", 2},
		{"busy for ever", []answer{problem(429, "rate_limited")}, "", "429 rate_limited", 3},
		{"a proxy's page", []answer{{502, "", "<html>"}}, "", "502 unknown", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				say := tt.answers[min(asked, len(tt.answers)-1)]
				asked++
				if r.Header.Get("Authorization") != "Bearer sb_test" || r.URL.Path != "/v1/collections/demo/search" {
					t.Errorf("asked %s with %q", r.URL.Path, r.Header.Get("Authorization"))
				}
				if say.retryAfter != "" {
					w.Header().Set("Retry-After", say.retryAfter)
				}
				w.WriteHeader(say.status)
				_, _ = w.Write([]byte(say.body))
			}))
			t.Cleanup(server.Close)

			var out bytes.Buffer
			err := ask(t.Context(), &out, client(t, server.URL), "demo", "who repairs bicycles?")
			if (err != nil) != (tt.errs != "") || err != nil && !strings.Contains(err.Error(), tt.errs) {
				t.Errorf("error %v, want %q", err, tt.errs)
			}
			if out.String() != tt.prints {
				t.Errorf("printed %q, want %q", out.String(), tt.prints)
			}
			if asked != tt.asked {
				t.Errorf("asked %d times, want %d", asked, tt.asked)
			}
		})
	}
}

func TestGatewayNotReached(t *testing.T) {
	t.Parallel()
	err := ask(t.Context(), &bytes.Buffer{}, client(t, "http://127.0.0.1:1"), "demo", "x")
	if err == nil || !strings.Contains(err.Error(), "cannot reach the gateway") {
		t.Fatalf("got %v", err)
	}
}

// client returns a client that does not pause.
func client(t *testing.T, url string) *slipbox.Client {
	t.Helper()
	client := must.Get(slipbox.New(slipbox.Config{URL: url, Key: "sb_test", Retries: 2, RetryWait: -1}))(t)
	return client
}
