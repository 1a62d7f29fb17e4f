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
	// Begin counts a request as running until end is called.
	Begin(ctx context.Context, method string) (end func())
	RecordRequest(ctx context.Context, r telemetry.Request)
}

// observe runs a request in a span that continues the client's trace, and records it afterwards.
func (s *Server) observe(c *gin.Context) {
	start := s.now()
	r := c.Request
	ctx := s.propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	// The name is completed below: the route is not known before routing, and the path may contain
	// names.
	ctx, span := s.tracer.Start(ctx, "HTTP", trace.WithSpanKind(trace.SpanKindServer))
	c.Request = r.WithContext(ctx)
	end := func() {}
	if s.recorder != nil {
		end = s.recorder.Begin(ctx, r.Method)
	}
	// Deferred, because a handler that aborts the connection panics.
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

// spanName returns method and route, which both have few values.
func spanName(r telemetry.Request) string {
	if r.Route == "" {
		return "HTTP unmatched"
	}
	return r.Method + " " + r.Route
}

// statusOf returns the sent status, or the logged one if the client has left.
func statusOf(c *gin.Context) int {
	if v, ok := c.Get(keyStatus); ok {
		if status, ok := v.(int); ok {
			return status
		}
	}
	return c.Writer.Status()
}
