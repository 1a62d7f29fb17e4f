package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// HTTPMetrics records the requests of the HTTP server.
type HTTPMetrics struct {
	duration metric.Float64Histogram
	active   metric.Int64UpDownCounter
	received metric.Int64Histogram
	sent     metric.Int64Histogram
}

// NewHTTPMetrics creates the instruments of OpenTelemetry's semantic conventions
// for HTTP servers.
func NewHTTPMetrics(m metric.Meter) (*HTTPMetrics, error) {
	var h HTTPMetrics
	var errs [4]error
	h.duration, errs[0] = m.Float64Histogram("http.server.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of HTTP requests."),
		metric.WithExplicitBucketBoundaries(.005, .025, .1, .5, 2.5, 10))
	h.active, errs[1] = m.Int64UpDownCounter("http.server.active_requests", metric.WithUnit("{request}"),
		metric.WithDescription("Requests in progress."))
	size := metric.WithExplicitBucketBoundaries(1<<10, 16<<10, 256<<10, 1<<20, 8<<20, 32<<20)
	h.received, errs[2] = m.Int64Histogram("http.server.request.body.size", metric.WithUnit("By"),
		metric.WithDescription("Size of request bodies."), size)
	h.sent, errs[3] = m.Int64Histogram("http.server.response.body.size", metric.WithUnit("By"),
		metric.WithDescription("Size of response bodies."), size)
	return &h, errors.Join(errs[:]...)
}

// Request is one answered request.
type Request struct {
	Method   string
	Route    string // the template, such as "/v1/collections/:collection"; "" for none
	Status   int
	Code     string // fault code of a refusal; "" for none
	Duration time.Duration
	Received int64 // bytes of the request body; negative: unknown
	Sent     int64 // bytes of the response body; negative: unknown
}

// Begin counts a request as active. end ends that.
func (h *HTTPMetrics) Begin(ctx context.Context, method string) (end func()) {
	set := metric.WithAttributeSet(attribute.NewSet(HTTPMethod.String(KnownMethod(method))))
	h.active.Add(ctx, 1, set)
	return func() { h.active.Add(ctx, -1, set) }
}

// RecordRequest records an answered request. A client cannot create new values of
// the attributes method and route. Sizes are recorded by method only: a histogram for
// each route and status would be most of what Prometheus has to store.
func (h *HTTPMetrics) RecordRequest(ctx context.Context, r Request) {
	h.duration.Record(ctx, r.Duration.Seconds(), metric.WithAttributeSet(attribute.NewSet(RequestAttributes(r)...)))
	method := metric.WithAttributeSet(attribute.NewSet(HTTPMethod.String(KnownMethod(r.Method))))
	if r.Received >= 0 {
		h.received.Record(ctx, r.Received, method)
	}
	if r.Sent >= 0 {
		h.sent.Record(ctx, r.Sent, method)
	}
}

// RequestAttributes returns the attributes of a request, for metrics and spans.
func RequestAttributes(r Request) []attribute.KeyValue {
	route := r.Route
	if route == "" {
		route = "unmatched"
	}
	attrs := []attribute.KeyValue{HTTPMethod.String(KnownMethod(r.Method)), HTTPRoute.String(route), HTTPStatus.Int(r.Status)}
	if r.Code != "" {
		attrs = append(attrs, ErrorType.String(r.Code))
	}
	return attrs
}

// KnownMethod returns m if it is a standard method, else "_OTHER".
func KnownMethod(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	default:
		return "_OTHER" // the value of the semantic conventions
	}
}
