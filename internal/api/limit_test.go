package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

func limited(perMinute int64) func(*site, *Deps) {
	return func(s *site, d *Deps) {
		d.Limits.RequestsPerMinute = perMinute
		l, err := tenant.NewLimiter(s.Now, tenant.RateConfig{})
		if err != nil {
			panic(err)
		}
		d.Limiter = l
	}
}

func TestNoLimitUnlessSet(t *testing.T) {
	t.Parallel()
	s := newSite(t, limited(0))
	_, key := s.tenant(t, "acme")
	for range 20 {
		a := s.send(t, key, http.MethodGet, probe, "")
		if a.Code != http.StatusOK || a.Header().Get("Ratelimit-Limit") != "" {
			t.Fatalf("%d %v", a.Code, a.Header())
		}
	}
}

func TestLimitPerTenant(t *testing.T) {
	t.Parallel()
	s := newSite(t, limited(3))
	_, key := s.tenant(t, "acme")
	_, other := s.tenant(t, "other")
	for left := 2; left >= 0; left-- {
		a := s.send(t, key, http.MethodGet, probe, "")
		h := a.Header()
		if a.Code != http.StatusOK || h.Get("Ratelimit-Limit") != "3" || h.Get("Ratelimit-Remaining") != strconv.Itoa(left) || h.Get("Ratelimit-Reset") != strconv.Itoa(60-20*left) {
			t.Errorf("%d %v", a.Code, h)
		}
	}
	a := s.send(t, key, http.MethodGet, probe, "")
	if p := read[wire.Problem](t, a); p.Code != string(fault.RateLimited) || a.Code != http.StatusTooManyRequests ||
		a.Header().Get("Retry-After") != "20" || a.Header().Get("Ratelimit-Remaining") != "0" {
		t.Errorf("%d %v %s", a.Code, a.Header(), a.Body)
	}
	// A refused request counts, on any route, and so does every credential of the tenant.
	token := s.send(t, key, http.MethodPost, tokenPath, "")
	if token.Code != http.StatusTooManyRequests {
		t.Errorf("a token is answered %d", token.Code)
	}
	s.refused(t, fault.RateLimited, key, http.MethodGet, tenantsPath, "")
	// Other tenants and the platform are not limited.
	want[wire.CollectionList](t, s, http.StatusOK, other, http.MethodGet, probe, "")
	for range 5 {
		want[wire.TenantList](t, s, http.StatusOK, s.operator, http.MethodGet, tenantsPath, "")
		want[wire.Health](t, s, http.StatusOK, "", http.MethodGet, "/healthz", "")
	}
	// After the time in Retry-After one more request is allowed.
	s.Pass(20 * time.Second)
	want[wire.CollectionList](t, s, http.StatusOK, key, http.MethodGet, probe, "")
	s.refused(t, fault.RateLimited, key, http.MethodGet, probe, "")
	// The tenant's own limit replaces the gateway's at once.
	want[wire.Tenant](t, s, http.StatusOK, s.operator, http.MethodPatch, tenantsPath+"/acme", `{"limits":{"requests_per_minute":6000}}`)
	if a := s.send(t, key, http.MethodGet, probe, ""); a.Code != http.StatusOK && a.Header().Get("Ratelimit-Limit") != "6000" {
		t.Errorf("%d %v", a.Code, a.Header())
	}
	s.Pass(time.Second)
	if a := s.send(t, key, http.MethodGet, probe, ""); a.Code != http.StatusOK || a.Header().Get("Ratelimit-Limit") != "6000" {
		t.Errorf("%d %v", a.Code, a.Header())
	}
}

// The limit per second is the gateway's or the tenant's own, and applies before the one per minute.
func TestLimitPerSecond(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(s *site, d *Deps) {
		limited(100)(s, d)
		d.Limits.RequestsPerSecond = 2
		l, err := tenant.NewLimiter(s.Now, tenant.RateConfig{Window: time.Second})
		if err != nil {
			panic(err)
		}
		d.PerSecond = l
	})
	_, key := s.tenant(t, "acme")
	_, other := s.tenant(t, "other")
	for range 2 {
		if a := s.send(t, key, http.MethodGet, probe, ""); a.Code != http.StatusOK || a.Header().Get("Ratelimit-Limit") != "100" {
			t.Errorf("%d %v", a.Code, a.Header())
		}
	}
	a := s.send(t, key, http.MethodGet, probe, "")
	if p := read[wire.Problem](t, a); p.Code != string(fault.RateLimited) || valueOr(p.Detail, "") != "the tenant is limited to 2 requests per second" ||
		a.Header().Get("Retry-After") != "1" || a.Header().Get("Ratelimit-Limit") != "2" {
		t.Errorf("%d %v %s", a.Code, a.Header(), a.Body)
	}
	want[wire.CollectionList](t, s, http.StatusOK, other, http.MethodGet, probe, "")
	u := want[wire.Usage](t, s, http.StatusOK, other, http.MethodGet, "/v1/usage", "")
	if valueOr(u.Limits.RequestsPerSecond, 0) != 2 || valueOr(u.Limits.RequestsPerMinute, 0) != 100 || u.QueuedJobs == nil {
		t.Errorf("limits in force %s", mustJSON(t, u))
	}
	s.Pass(time.Second)
	want[wire.CollectionList](t, s, http.StatusOK, key, http.MethodGet, probe, "")
	want[wire.Tenant](t, s, http.StatusOK, s.operator, http.MethodPatch, tenantsPath+"/acme", `{"limits":{"requests_per_second":50}}`)
	for range 10 {
		want[wire.CollectionList](t, s, http.StatusOK, key, http.MethodGet, probe, "")
	}
}

func TestUnauthenticatedCostsNoTenant(t *testing.T) {
	t.Parallel()
	s := newSite(t, limited(1))
	_, key := s.tenant(t, "acme")
	for range 3 {
		s.refused(t, fault.Unauthenticated, key+"x", http.MethodGet, probe, "")
	}
	want[wire.CollectionList](t, s, http.StatusOK, key, http.MethodGet, probe, "")
}

// ledger keeps what was recorded.
type ledger struct {
	mu       sync.Mutex
	active   int
	requests []telemetry.Request
}

func (l *ledger) Begin(context.Context, string) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.active--
	}
}

func (l *ledger) RecordRequest(_ context.Context, r telemetry.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, r)
}

func TestRequestsAreRecordedAndTraced(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	l := &ledger{}
	var s *site
	s = newSite(t, func(made *site, d *Deps) {
		s = made
		d.HTTPMetrics, d.Tracer, d.Propagator = l, provider.Tracer("api"), propagation.TraceContext{}
	})
	x, key := s.tenant(t, "acme")
	var inside trace.SpanContext
	must.Do(t, s.mountAll(map[string]handler{
		"listReviews": func(c *gin.Context) error {
			inside = trace.SpanContextFromContext(c.Request.Context())
			s.Pass(250 * time.Millisecond)
			return fault.Wrap(errors.New("broken"), fault.Unavailable, "not now")
		},
		"getReview": func(*gin.Context) error { panic(http.ErrAbortHandler) },
	}))
	l.requests = nil
	const parent = "4bf92f3577b34da6a3ce929d0e0e4736"
	s.refused(t, fault.Unavailable, key, http.MethodGet, "/v1/reviews", "", "Traceparent", "00-"+parent+"-00f067aa0ba902b7-01")
	s.refused(t, fault.NotFound, key, http.MethodGet, "/v1/nothing/"+x.ID.String(), "")
	s.refused(t, fault.NotFound, key, http.MethodGet, agentsPath+"/who-is-this", "")
	want[wire.Agent](t, s, http.StatusCreated, key, http.MethodPost, agentsPath, `{"name":"ada"}`)
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // what net/http compares
				t.Errorf("panicked with %v", v)
			}
		}()
		s.send(t, key, http.MethodGet, "/v1/reviews/"+x.ID.String(), "")
	}()

	if l.active != 0 || len(l.requests) != 5 {
		t.Fatalf("%d active, recorded %+v", l.active, l.requests)
	}
	for i, w := range []telemetry.Request{
		{Method: "GET", Route: "/v1/reviews", Status: 503, Code: "unavailable", Duration: 250 * time.Millisecond},
		{Method: "GET", Route: "", Status: 404, Code: "not_found"},
		{Method: "GET", Route: "/v1/agents/:agent", Status: 404, Code: "not_found"},
		{Method: "POST", Route: "/v1/agents", Status: 201, Received: int64(len(`{"name":"ada"}`))},
	} {
		got := l.requests[i]
		if got.Sent <= 0 {
			t.Errorf("sent %d bytes", got.Sent)
		}
		if got.Sent = 0; got != w {
			t.Errorf("recorded %+v, want %+v", got, w)
		}
	}

	ended := spans.Ended()
	ended = ended[len(ended)-5:]
	first := ended[0]
	if first.SpanContext().TraceID().String() != parent || first.Parent().SpanID().String() != "00f067aa0ba902b7" || inside.SpanID() != first.SpanContext().SpanID() {
		t.Errorf("the span %v of %v; inside %v", first.SpanContext(), first.Parent(), inside)
	}
	if first.Name() != "GET /v1/reviews" || first.SpanKind() != trace.SpanKindServer || first.Status().Code != codes.Error {
		t.Errorf("%s %s %v", first.Name(), first.SpanKind(), first.Status())
	}
	attrs := attribute.NewSet(first.Attributes()...)
	for k, v := range map[attribute.Key]string{telemetry.Tenant: x.ID.String(), telemetry.ErrorType: "unavailable", telemetry.HTTPRoute: "/v1/reviews"} {
		if got, _ := attrs.Value(k); got.AsString() != v {
			t.Errorf("%s is %q, want %q", k, got.AsString(), v)
		}
	}
	for i, name := range []string{"HTTP unmatched", "GET /v1/agents/:agent", "POST /v1/agents", "GET /v1/reviews/:review"} {
		span := ended[i+1]
		if span.Name() != name || span.Status().Code == codes.Error {
			t.Errorf("span %q, want %q; %v", span.Name(), name, span.Status())
		}
		for _, a := range span.Attributes() {
			if strings.Contains(a.Value.AsString(), "who-is-this") {
				t.Errorf("%s holds what stood in the path", a.Key)
			}
		}
	}
}

// Over its share, a request of a tenant waits for the tenant's own others; those of other tenants do not. One that
// waits for something else than this process ends its turn before.
func TestTurns(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	s := newSite(t, func(_ *site, d *Deps) { d.AtOnce = 1 })
	block := func(before func(*gin.Context)) handler {
		return func(c *gin.Context) error {
			before(c)
			reached <- struct{}{}
			<-release
			c.Header("Slipbox-Revision", "1")
			c.Status(http.StatusNoContent)
			return nil
		}
	}
	must.Do(t, s.mountAll(map[string]handler{
		"deleteNote": block(func(*gin.Context) {}), "deleteBlock": block(endTurn),
	}))
	at, flooder := s.tenant(t, "flooder")
	_, other := s.tenant(t, "other")
	send := func(key, method, path string) <-chan int {
		code := make(chan int, 1)
		go func() { code <- s.send(t, key, method, path, "").Code }()
		return code
	}
	get := func(key string) <-chan int { return send(key, http.MethodGet, probe) }
	expect := func(code <-chan int) {
		t.Helper()
		if got := <-code; got >= http.StatusMultipleChoices {
			t.Errorf("status %d", got)
		}
	}
	blocked := probe + "/" + uuid.NewString()
	expect(get(flooder))
	expect(get(other)) // the flooder is not alone

	first := send(flooder, http.MethodDelete, blocked+"/notes/"+uuid.NewString())
	<-reached
	second := get(flooder)
	for look := time.NewTicker(time.Millisecond); s.turns.Waiting(at.ID) == 0; <-look.C {
		if t.Context().Err() != nil {
			t.Fatal("the second request does not wait")
		}
	}
	expect(get(other))
	select {
	case code := <-second:
		t.Errorf("a request over the share was answered: %d", code)
	default:
	}
	release <- struct{}{}
	expect(first)
	expect(second)

	waits := send(flooder, http.MethodDelete, blocked+"/blocks/human")
	<-reached
	expect(get(flooder))
	release <- struct{}{}
	expect(waits)
}
