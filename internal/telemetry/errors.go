package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// errorInterval is the minimum interval between logged errors: while an endpoint is
// down, every batch of every signal fails.
const errorInterval = 30 * time.Second

// maxErrorText is the maximum length of a logged error in bytes: some endpoints answer
// with whole HTML pages.
const maxErrorText = 500

// logOTelErrors sets log as the destination of OpenTelemetry's own errors, for example that
// an endpoint does not answer. OpenTelemetry has one such handler per process: with
// several gateways in one process, the last one receives the errors.
func logOTelErrors(log *slog.Logger) {
	otel.SetErrorHandler(&errorLog{log: log, now: time.Now})
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
}

// errorLog logs errors, at most one in errorInterval.
type errorLog struct {
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex
	until      time.Time
	suppressed int // errors since the last one that was logged
}

// Handle implements otel.ErrorHandler.
func (t *errorLog) Handle(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if now.Before(t.until) {
		t.suppressed++
		return
	}
	t.until = now.Add(errorInterval)
	t.log.Warn("telemetry cannot be exported; the process continues without it", "error", clip.Bytes(err.Error(), maxErrorText), "suppressed", t.suppressed)
	t.suppressed = 0
}
