package outage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/outage"
	"github.com/slipboxhq/slipbox/test/clock"
)

// journal is a log in memory with a clock that a test moves.
type journal struct {
	*clock.Clock

	mu    sync.Mutex
	lines bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lines.Write(p)
}

func (j *journal) expect(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if got, want := strings.TrimSpace(j.lines.String()), strings.Join(want, "\n"); got != want {
		t.Errorf("logged\n%s\nwant\n%s", got, want)
	}
	j.lines.Reset()
}

func newLog(t *testing.T) (*journal, *outage.Log) {
	t.Helper()
	j := &journal{Clock: clock.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	log := slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	return j, outage.New(log, j.Now, "away", "back")
}

var errAway = errors.New("refused")

// An outage has a line at its begin, one a minute, and one at its end, however many meet it.
func TestOneOutage(t *testing.T) {
	t.Parallel()
	j, l := newLog(t)
	l.Report(t.Context(), nil)
	j.expect(t, "")
	l.Report(t.Context(), errAway, slog.String("collection", "c"))
	j.expect(t, `level=WARN msg=away failures=1 lasting=0s error=refused collection=c`)
	for range 59 {
		j.Pass(time.Second)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { l.Report(t.Context(), errAway) })
		}
		all.Wait()
	}
	j.expect(t, "")
	j.Pass(time.Second)
	l.Report(t.Context(), errAway)
	l.Report(t.Context(), errAway)
	j.expect(t, `level=WARN msg=away failures=1182 lasting=1m0s error=refused`)
	j.Pass(30 * time.Second)
	l.Report(t.Context(), nil)
	l.Report(t.Context(), nil)
	j.expect(t, `level=INFO msg=back failures=1183 lasted=1m30s`)
	l.Report(t.Context(), errAway)
	j.expect(t, `level=WARN msg=away failures=1 lasting=0s error=refused`)
}

// When failures and successes alternate, the lines are bounded too, and later ones are not lost.
func TestAlternating(t *testing.T) {
	t.Parallel()
	j, l := newLog(t)
	var want []string
	for range 5 {
		want = append(want, `level=WARN msg=away failures=1 lasting=0s error=refused`, `level=INFO msg=back failures=1 lasted=0s`)
	}
	for range 1000 {
		l.Report(t.Context(), errAway)
		l.Report(t.Context(), nil)
	}
	j.expect(t, want...)
	l.Report(t.Context(), errAway)
	j.Pass(outage.Interval)
	l.Report(t.Context(), errAway)
	j.expect(t, `level=WARN msg=away failures=2 lasting=1m0s error=refused`)
}

// A caller that has left says nothing about an outage.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	j, l := newLog(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Report(ctx, fmt.Errorf("asking: %w", context.Canceled))
	j.expect(t, "")
	l.Report(t.Context(), errAway)
	l.Report(ctx, nil)
	j.expect(t, `level=WARN msg=away failures=1 lasting=0s error=refused`, `level=INFO msg=back failures=1 lasted=0s`)
	var none *outage.Log
	none.Report(t.Context(), errAway)
	outage.New(nil, nil, "away", "back").Report(t.Context(), errAway)
}
