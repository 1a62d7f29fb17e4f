package queue

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

var errAway = errors.New("connection refused")

// flaky is an outbox whose server goes away.
type flaky struct {
	*outbox

	lists, claims atomic.Bool  // what fails
	refused       atomic.Int64 // failed calls
}

func (f *flaky) Due(ctx context.Context, limit int) ([]memory.Due, error) {
	if f.lists.Load() {
		f.refused.Add(1)
		return nil, errAway
	}
	return f.outbox.Due(ctx, limit)
}

func (f *flaky) Claim(ctx context.Context, r memory.Due, stage memory.Stage, token uuid.UUID, until time.Time, limit int) ([]memory.Job, error) {
	if f.claims.Load() {
		f.refused.Add(1)
		return nil, errAway
	}
	return f.outbox.Claim(ctx, r, stage, token, until, limit)
}

// An outage of the outbox has a line at its begin, one a minute, and one at its end, not one for each lane
// and poll.
func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lanes = 40
		f := &flaky{outbox: &outbox{}}
		for range lanes {
			f.add(newRef(), memory.StageTask)
		}
		f.claims.Store(true)
		var lines bytes.Buffer // read while the runner is idle only
		h := newWorker(f.outbox, nil)
		r := must.Get(New(f, h, nil, slog.New(slog.NewTextHandler(&lines, nil)), Config{}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		count := func(text string, want int) {
			t.Helper()
			synctest.Wait()
			if got := strings.Count(lines.String(), text); got != want {
				t.Errorf("%d lines with %q, want %d, in\n%s", got, text, want, lines.String())
			}
		}
		pass(150*time.Second + time.Millisecond)
		count("jobs cannot be claimed", 3)
		if n := f.refused.Load(); n < 100*lanes {
			t.Fatalf("only %d claims failed", n)
		}
		f.claims.Store(false)
		pass(5 * time.Second)
		count("jobs are claimed again", 1)
		if h.left != lanes {
			t.Errorf("%d jobs done after the outage, want %d", h.left, lanes)
		}
		f.lists.Store(true)
		pass(30 * time.Second)
		f.lists.Store(false)
		pass(5 * time.Second)
		count("due jobs cannot be listed", 1)
		count("due jobs are listed again", 1)
		count("msg=", 6)
		cancel()
		running.Wait()
	})
}
