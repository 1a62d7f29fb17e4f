// Package outage logs failures that repeat: a line when an outage begins, at most one a minute while
// it lasts, and one when it ends. However many goroutines, collections or requests meet the same
// outage, the number of lines is the same.
//
// It imports no other package of this module. Packages that ask something again and again (the job
// runner, schedules, the clients of Redis and of a model) keep a Log for each thing that they ask.
package outage

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Interval is the minimum time between two lines while an outage lasts.
	Interval = time.Minute
	// maxBegins is how many outages may begin with a line within Interval. When failures and successes
	// alternate, further ones are only counted, and logged when Interval has passed.
	maxBegins = 5
)

// Log logs the outages of one thing. It is safe for concurrent use. A nil Log logs nothing.
type Log struct {
	log          *slog.Logger
	clock        func() time.Time
	began, ended string

	failing atomic.Bool // an outage lasts; read without the lock by calls that succeed

	mu       sync.Mutex
	since    time.Time // begin of the outage
	failures int       // in this outage
	logged   bool      // this outage has a line
	last     time.Time // time of its last line
	window   time.Time // begin of the interval in which begins are counted
	begins   int       // lines about begins in it
}

// New returns a Log. The message began says what does not work, and ended that it works again.
// A nil log discards the lines, a nil clock is time.Now.
func New(log *slog.Logger, clock func() time.Time, began, ended string) *Log {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if clock == nil {
		clock = time.Now
	}
	return &Log{log: log, clock: clock, began: began, ended: ended}
}

// Report reports the result of a call: an error begins or continues an outage, nil ends it. After
// the end of ctx an error says nothing about what was asked, and is ignored. The attributes are
// logged with the error.
func (l *Log) Report(ctx context.Context, err error, attrs ...slog.Attr) {
	switch {
	case l == nil:
	case err == nil:
		l.succeed(ctx)
	case ctx.Err() == nil:
		l.fail(ctx, err, attrs)
	}
}

func (l *Log) fail(ctx context.Context, err error, attrs []slog.Attr) {
	line := l.count()
	if line == nil {
		return
	}
	line = append(append(line, slog.Any("error", err)), attrs...)
	l.log.LogAttrs(ctx, slog.LevelWarn, l.began, line...) //nolint:sloglint // the texts of a Log are constants of its owner
}

// count counts a failure. It returns the attributes of the line that is due, or nil.
func (l *Log) count() []slog.Attr {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	if !l.failing.Swap(true) {
		l.since, l.failures, l.logged = now, 0, false
	}
	l.failures++
	if now.Sub(l.window) >= Interval {
		l.window, l.begins = now, 0
	}
	switch {
	case l.logged && now.Sub(l.last) < Interval:
		return nil
	case !l.logged && l.begins == maxBegins:
		return nil
	case !l.logged:
		l.begins++
	}
	l.logged, l.last = true, now
	return append(make([]slog.Attr, 0, 4), slog.Int("failures", l.failures), slog.Duration("lasting", now.Sub(l.since)))
}

func (l *Log) succeed(ctx context.Context) {
	if !l.failing.Load() {
		return
	}
	l.mu.Lock()
	over := l.failing.Swap(false) && l.logged
	failures, lasted := l.failures, l.clock().Sub(l.since)
	l.mu.Unlock()
	if over {
		line := []slog.Attr{slog.Int("failures", failures), slog.Duration("lasted", lasted)}
		l.log.LogAttrs(ctx, slog.LevelInfo, l.ended, line...) //nolint:sloglint // as above
	}
}
