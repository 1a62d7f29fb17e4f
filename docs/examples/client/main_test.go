package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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

// gateway sends the answers in order, repeats the last one, and records the requests.
type gateway struct {
	answers []answer
	asked   []*http.Request
	waited  []time.Duration
}

func (g *gateway) client(t *testing.T) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say := g.answers[min(len(g.asked), len(g.answers)-1)]
		g.asked = append(g.asked, r)
		if say.retryAfter != "" {
			w.Header().Set("Retry-After", say.retryAfter)
		}
		w.WriteHeader(say.status)
		_, _ = w.Write([]byte(say.body))
	}))
	t.Cleanup(server.Close)
	return &Client{
		URL: server.URL, Key: "sb_test", HTTP: server.Client(), Tries: 3,
		Wait: func(ctx context.Context, pause time.Duration) error {
			g.waited = append(g.waited, pause)
			return ctx.Err()
		},
	}
}

// C090: the documented client handles hits, no hits, and each kind of failure.
func TestAsk(t *testing.T) {
	t.Parallel()
	const found = `{"hits":[{"note":{"id":"n1","content":"Rosa repairs bicycles."},"score":0.75,"new_field":1}],"revision":3}`
	tests := []struct {
		name    string
		answers []answer
		prints  string
		errs    string
		asked   int
	}{
		{"found", []answer{{200, "", found}}, "0.750  Rosa repairs bicycles.\n", "", 1},
		{"nothing found is no error", []answer{{200, "", `{"hits":[]}`}}, "nothing found\n", "", 1},
		{"no such collection", []answer{problem(404, "not_found")}, "", `no collection "demo"`, 1},
		{"key refused", []answer{problem(401, "unauthenticated")}, "", "gateway key create", 1},
		{"refused for good, with field and request", []answer{problem(422, "invalid")}, "", "422 invalid: in words; k: too large (request r1)", 1},
		{"busy, then found", []answer{problem(503, "unavailable"), {200, "", found}}, "0.750  Rosa repairs bicycles.\n", "", 2},
		{"busy for ever", []answer{problem(429, "rate_limited")}, "", "429 rate_limited", 3},
		{"a proxy's page", []answer{{502, "", "<html>"}}, "", "502 unknown", 3},
		{"cut off", []answer{{200, "", `{"hits":[`}}, "", "read answer", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := &gateway{answers: tt.answers}
			var out bytes.Buffer
			err := ask(t.Context(), &out, g.client(t), "demo", "who repairs bicycles?")
			if (err != nil) != (tt.errs != "") || err != nil && !strings.Contains(err.Error(), tt.errs) {
				t.Errorf("error %v, want %q", err, tt.errs)
			}
			if out.String() != tt.prints {
				t.Errorf("printed %q, want %q", out.String(), tt.prints)
			}
			if len(g.asked) != tt.asked {
				t.Errorf("asked %d times, want %d", len(g.asked), tt.asked)
			}
			for _, r := range g.asked {
				if r.Header.Get("Authorization") != "Bearer sb_test" || r.URL.Path != "/v1/collections/demo/search" {
					t.Errorf("asked %s with %q", r.URL.Path, r.Header.Get("Authorization"))
				}
			}
		})
	}
}

// C090: a write is repeated with the same idempotency key, after the time that Retry-After asks for.
func TestAddRepeatsSafely(t *testing.T) {
	t.Parallel()
	busy := problem(503, "unavailable")
	busy.retryAfter = "7"
	g := &gateway{answers: []answer{busy, {201, "", `{"note":{"id":"n1"}}`}}}
	id, err := g.client(t).Add(t.Context(), "demo", "Rosa repairs bicycles.")
	if err != nil || id != "n1" {
		t.Fatalf("got %q, %v", id, err)
	}
	first, second := g.asked[0].Header.Get("Idempotency-Key"), g.asked[1].Header.Get("Idempotency-Key")
	if first == "" || first != second {
		t.Errorf("idempotency keys %q and %q, want one", first, second)
	}
	if len(g.waited) != 1 || g.waited[0] != 7*time.Second {
		t.Errorf("waited %v, want the 7 s that were asked for", g.waited)
	}
}

func TestGatewayNotReached(t *testing.T) {
	t.Parallel()
	g := &gateway{answers: []answer{{200, "", "{}"}}}
	client := g.client(t)
	client.URL = "http://127.0.0.1:1"
	_, err := client.Search(t.Context(), "demo", "x", 5)
	if err == nil || !strings.Contains(err.Error(), "cannot reach the gateway") {
		t.Fatalf("got %v", err)
	}
	if len(g.waited) != 2 {
		t.Errorf("waited %d times, want 2 between 3 tries", len(g.waited))
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := wait(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := wait(t.Context(), 0); err != nil {
		t.Errorf("got %v", err)
	}
}

// The client must accept unknown fields, because later versions of the contract may add some.
func TestProblemIgnoresUnknownFields(t *testing.T) {
	t.Parallel()
	var p ProblemError
	if err := json.Unmarshal([]byte(`{"code":"invalid","later":{}}`), &p); err != nil || p.Code != "invalid" {
		t.Fatalf("got %+v, %v", p, err)
	}
}
