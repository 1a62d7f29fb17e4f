package api

import (
	"context"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// Recorder counts requests; *telemetry.HTTPMetrics implements it.
type Recorder interface {
	// Begin counts a request in; the function it returns counts it out.
	Begin(ctx context.Context, method string) (end func())
	RecordRequest(ctx context.Context, r telemetry.Request)
}

// observe surrounds a request with a span, which continues the caller's trace,
// and records it when it was answered.
func (s *Server) observe(c *gin.Context) {
	start := s.now()
	r := c.Request
	ctx := s.propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	// The name is completed below: before routing there is no route, and a path
	// holds names.
	ctx, span := s.tracer.Start(ctx, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
	c.Request = r.WithContext(ctx)
	end := func() {}
	if s.recorder != nil {
		end = s.recorder.Begin(ctx, r.Method)
	}
	// Deferred, since a handler that gives up on the connection panics through.
	defer func() {
		end()
		done := telemetry.Request{
			Method: r.Method, Route: c.FullPath(), Status: statusOf(c), Code: c.GetString(keyCode),
			Duration: s.now().Sub(start), Received: r.ContentLength, Sent: int64(max(0, c.Writer.Size())),
		}
		if s.recorder != nil {
			s.recorder.RecordRequest(ctx, done)
		}
		if span.IsRecording() {
			span.SetName(spanName(done))
			span.SetAttributes(telemetry.RequestAttributes(done)...)
			span.SetAttributes(telemetry.RequestID.String(requestID(c)))
			if p := principal(c); !p.Scope.IsZero() {
				span.SetAttributes(telemetry.Tenant.String(p.Scope.Tenant().String()))
				if p.Scope.HasAgent() {
					span.SetAttributes(telemetry.Agent.String(p.Scope.Agent().String()))
				}
			}
			if done.Status >= 500 {
				span.SetStatus(codes.Error, done.Code)
			}
		}
		span.End()
	}()
	c.Next()
}

// spanName is method and route; both have few values.
func spanName(r telemetry.Request) string {
	if r.Route == "" {
		return "HTTP unmatched"
	}
	return r.Method + " " + r.Route
}

// statusOf is what was answered, or what is said of a caller who went away.
func statusOf(c *gin.Context) int {
	if v, ok := c.Get(keyStatus); ok {
		if status, ok := v.(int); ok {
			return status
		}
	}
	return c.Writer.Status()
}
