package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Rhythm of an event stream.
const (
	streamPoll  = 200 * time.Millisecond // how often the job is looked at
	streamAlive = 15 * time.Second       // after which silence gets a comment, so that proxies keep the connection
	streamWrite = 30 * time.Second       // for one event to leave; a reader that is slower is cut off
)

// streamJob sends the job at once and at every change, and ends with it, with
// the caller, or with the server.
func (h *core) streamJob(c *gin.Context) error {
	id, err := pathID(c, "job")
	if err != nil {
		return err
	}
	s := scope(c)
	job, err := h.Jobs.Job(c.Request.Context(), s, id)
	if err != nil {
		return err
	}
	leave, err := h.following.enter(s.Tenant())
	if err != nil {
		return err
	}
	defer leave()
	ctx, stop := h.untilDrained(c.Request.Context())
	defer stop()

	c.Header("Content-Type", mediaSSE)
	c.Header("X-Accel-Buffering", "no")
	c.Status(http.StatusOK)
	out := &eventStream{c: c, control: http.NewResponseController(c.Writer)}
	// The connection may serve another request.
	defer func() { _ = out.control.SetWriteDeadline(time.Time{}) }()
	if err := h.follow(ctx, out, job, func(ctx context.Context) (memory.Job, error) { return h.Jobs.Job(ctx, s, id) }); err != nil {
		// The status line is out, so the log is the only place to say it.
		h.log.DebugContext(ctx, "event stream ended early", "request_id", requestID(c), "error", err)
	}
	return nil
}

// follow writes a job whenever it looks different, until it has ended.
func (h *core) follow(ctx context.Context, out *eventStream, job memory.Job, read func(context.Context) (memory.Job, error)) error {
	tick := time.NewTicker(streamPoll)
	defer tick.Stop()
	var sent []byte
	quiet := time.Duration(0)
	for {
		data, err := json.Marshal(wireJob(&job))
		if err != nil {
			return fmt.Errorf("render the job: %w", err)
		}
		switch {
		case !bytes.Equal(data, sent):
			if err := out.write("event: job\ndata: %s\n\n", data); err != nil {
				return err
			}
			sent, quiet = data, 0
		case quiet >= streamAlive:
			if err := out.write(": alive\n\n"); err != nil {
				return err
			}
			quiet = 0
		}
		if job.Ended() {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			quiet += streamPoll
		}
		if job, err = read(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// eventStream writes server-sent events (WHATWG HTML §9.2) as they happen.
type eventStream struct {
	c       *gin.Context
	control *http.ResponseController
}

func (e *eventStream) write(format string, args ...any) error {
	// A server's write deadline is for whole answers; a writer without deadlines has none to set.
	_ = e.control.SetWriteDeadline(time.Now().Add(streamWrite))
	if _, err := fmt.Fprintf(e.c.Writer, format, args...); err != nil {
		return err
	}
	return e.control.Flush()
}
