package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// LogConfig of the process log.
type LogConfig struct {
	Level  string // "debug", "info" (default), "warn" or "error"
	Format string // "text" (default) or "json"
}

// NewLogger makes a logger that writes to w (stderr: stdout is for results).
// A record logged within a span carries its trace_id and span_id.
func NewLogger(w io.Writer, cfg LogConfig) (*slog.Logger, error) {
	opts := &slog.HandlerOptions{}
	switch strings.ToLower(cfg.Level) {
	case "debug":
		opts.Level = slog.LevelDebug
	case "", "info":
		opts.Level = slog.LevelInfo
	case "warn":
		opts.Level = slog.LevelWarn
	case "error":
		opts.Level = slog.LevelError
	default:
		return nil, fmt.Errorf("log level %q is unknown; valid are debug, info, warn and error", cfg.Level)
	}
	switch strings.ToLower(cfg.Format) {
	case "", "text":
		return slog.New(contextHandler{slog.NewTextHandler(w, opts)}), nil
	case "json":
		return slog.New(contextHandler{slog.NewJSONHandler(w, opts)}), nil
	default:
		return nil, fmt.Errorf("log format %q is unknown; valid are text and json", cfg.Format)
	}
}

// contextHandler adds the span of the context to a record.
type contextHandler struct{ slog.Handler }

// Handle adds the ids and passes the record on.
func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the wrapping.
func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the wrapping.
func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}

// both gives records to two handlers: here, and exported. The first one says
// from which level on.
type both struct{ here, exported slog.Handler }

// Enabled asks the first.
func (h both) Enabled(ctx context.Context, level slog.Level) bool {
	return h.here.Enabled(ctx, level)
}

// Handle passes the record on to each.
func (h both) Handle(ctx context.Context, r slog.Record) error {
	sent := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		sent.AddAttrs(asText(a))
		return true
	})
	return errors.Join(h.here.Handle(ctx, r), h.exported.Handle(ctx, sent))
}

// WithAttrs keeps both.
func (h both) WithAttrs(attrs []slog.Attr) slog.Handler {
	sent := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		sent[i] = asText(a)
	}
	return both{h.here.WithAttrs(attrs), h.exported.WithAttrs(sent)}
}

// WithGroup keeps both.
func (h both) WithGroup(name string) slog.Handler {
	return both{h.here.WithGroup(name), h.exported.WithGroup(name)}
}

// asText writes ids and words of named types as text, as the text log does;
// the bridge would send arrays of bytes. Errors are left to it: it has names for them.
func asText(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindAny {
		return a
	}
	held := reflect.ValueOf(v.Any())
	if held.Kind() == reflect.Pointer && held.IsNil() {
		return a
	}
	switch x := v.Any().(type) {
	case error:
	case fmt.Stringer:
		return slog.String(a.Key, x.String())
	default:
		if held.Kind() == reflect.String {
			return slog.String(a.Key, held.String())
		}
	}
	return a
}
