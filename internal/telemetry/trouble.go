package telemetry

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// troubleEvery is how long OpenTelemetry is not heard after it complained: an
// endpoint that is down fails every batch of every signal.
const troubleEvery = 30 * time.Second

// maxTrouble bounds what is logged of a complaint, in bytes: endpoints answer with pages.
const maxTrouble = 500

// hear lets OpenTelemetry tell the log of its own trouble, such as an endpoint
// that does not answer. It offers one place for the whole process, so that of
// several gateways in one process the last one hears.
func hear(log *slog.Logger) {
	otel.SetErrorHandler(&trouble{log: log, now: time.Now})
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
}

// trouble logs an error at most once in troubleEvery.
type trouble struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	until  time.Time
	unsaid int // since the last one that was logged
}

// Handle implements otel.ErrorHandler.
func (t *trouble) Handle(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if now.Before(t.until) {
		t.unsaid++
		return
	}
	t.until = now.Add(troubleEvery)
	text := err.Error()
	if len(text) > maxTrouble {
		text = strings.ToValidUTF8(text[:maxTrouble], "") + "…"
	}
	t.log.Warn("telemetry cannot be exported; the process goes on without", "error", text, "unsaid", t.unsaid)
	t.unsaid = 0
}
