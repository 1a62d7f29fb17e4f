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

// LogConfig configures the log of the process.
type LogConfig struct {
	Level  string // "debug", "info" (default), "warn" or "error"
	Format string // "text" (default) or "json"
}

// NewLogger returns a logger that writes to w (stderr, because stdout is for
// results). A record logged within a span has its trace_id and span_id.
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
		return nil, fmt.Errorf("log level %q is unknown; use debug, info, warn or error", cfg.Level)
	}
	switch strings.ToLower(cfg.Format) {
	case "", "text":
		return slog.New(contextHandler{slog.NewTextHandler(w, opts)}), nil
	case "json":
		return slog.New(contextHandler{slog.NewJSONHandler(w, opts)}), nil
	default:
		return nil, fmt.Errorf("log format %q is unknown; use text or json", cfg.Format)
	}
}

// contextHandler adds the ids of the context's span to each record.
type contextHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}

// teeHandler passes records to two handlers: the local log and the exporter. The local
// handler determines the level.
type teeHandler struct{ local, exported slog.Handler }

// Enabled implements slog.Handler.
func (h teeHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.local.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h teeHandler) Handle(ctx context.Context, r slog.Record) error {
	sent := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		sent.AddAttrs(asText(a))
		return true
	})
	return errors.Join(h.local.Handle(ctx, r), h.exported.Handle(ctx, sent))
}

// WithAttrs implements slog.Handler.
func (h teeHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	sent := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		sent[i] = asText(a)
	}
	return teeHandler{h.local.WithAttrs(attrs), h.exported.WithAttrs(sent)}
}

// WithGroup implements slog.Handler.
func (h teeHandler) WithGroup(name string) slog.Handler {
	return teeHandler{h.local.WithGroup(name), h.exported.WithGroup(name)}
}

// asText converts ids and strings of named types to text, as the text log does; the
// bridge to OpenTelemetry would export ids as byte arrays. Errors are not converted,
// because the bridge has attributes for them.
func asText(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindAny {
		return a
	}
	value := reflect.ValueOf(v.Any())
	if value.Kind() == reflect.Pointer && value.IsNil() {
		return a
	}
	switch x := v.Any().(type) {
	case error:
	case fmt.Stringer:
		return slog.String(a.Key, x.String())
	default:
		if value.Kind() == reflect.String {
			return slog.String(a.Key, value.String())
		}
	}
	return a
}
