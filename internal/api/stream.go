package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Timing of an event stream.
const (
	streamAlive = 5 * time.Second  // between comments that keep proxies from closing the connection, and checks of the credential
	streamWrite = 30 * time.Second // for sending one event; slower clients are disconnected
)

// streamJob sends the job now and at every change, until the job ends, the client leaves, or the
// server stops.
func (h *core) streamJob(c *gin.Context, id uuid.UUID) error {
	s := scope(c)
	if _, err := h.Jobs.Job(c.Request.Context(), s, id); err != nil {
		return err
	}
	return h.stream(c, func(ctx context.Context, out *eventStream) error { return h.follow(ctx, s, id, out) })
}

// stream answers with the events that send writes, until the client leaves or the server stops.
func (h *core) stream(c *gin.Context, send func(context.Context, *eventStream) error) error {
	leave, err := h.following.enter(scope(c).Tenant())
	if err != nil {
		return err
	}
	defer leave()
	ctx, stop := h.untilDrained(c.Request.Context())
	defer stop()

	out := newEventStream(c)
	defer out.end()
	c.Status(http.StatusOK)
	c.Writer.Flush() // a client knows that it is connected, however long the first event takes
	if err := send(ctx, out); err != nil && ctx.Err() == nil {
		// The status is sent already. A client that is accepted opens the stream again.
		h.log.WarnContext(ctx, "event stream ended early", slog.String("request_id", requestID(c)), slog.Any("error", err))
		if out.refused != nil {
			return out.fail(out.refused)
		}
	}
	return nil
}

// untilRefused returns a context that also ends, with the refusal as its cause, when the credential of the request is refused. It is
// looked at from watch on. stop must be called.
func untilRefused(c *gin.Context) (ctx context.Context, watch, stop func()) {
	ctx, end := context.WithCancelCause(c.Request.Context())
	check := stillAccepted(c)
	watch = func() {
		go func() {
			alive := time.NewTicker(streamAlive)
			defer alive.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-alive.C:
				}
				if err := check(); err != nil {
					end(err)
				}
			}
		}()
	}
	return ctx, watch, func() { end(nil) }
}

// refusal returns why the credential was refused, if a context of untilRefused ended for that, and else err.
func refusal(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok {
		return refused
	}
	return err
}

// follow sends the job at each change until it has ended or ctx ends.
func (h *core) follow(ctx context.Context, s tenant.Scope, id uuid.UUID, out *eventStream) error {
	return relay(ctx, out, func(ctx context.Context, send func(func() error) error) error {
		return h.Waiter.Watch(ctx, s, id, func(j memory.Job) error {
			return send(func() error { return out.event("job", wireJob(&j, h.now())) })
		})
	}, nil)
}

// relay runs watch beside a stream until it ends. What watch sends runs in the goroutine of the stream, and so does say: first,
// whenever the channel that it returned is closed, and before what watch sends. A nil say is not called. Between, the connection is
// kept alive.
func relay(ctx context.Context, out *eventStream, watch func(ctx context.Context, send func(func() error) error) error, say func() (<-chan struct{}, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent, watched := make(chan func() error), make(chan error, 1)
	go func() {
		watched <- watch(ctx, func(fn func() error) error {
			select {
			case sent <- fn:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	var spoken <-chan struct{}
	speak := func() (err error) {
		if say != nil {
			spoken, err = say()
		}
		return err
	}
	alive := time.NewTicker(streamAlive)
	defer alive.Stop()
	for {
		err := speak()
		if err != nil {
			return err
		}
		select {
		case fn := <-sent:
			if err = speak(); err == nil {
				err = fn()
			}
		case <-spoken:
		case <-alive.C:
			err = out.write(": alive\n\n")
		case err := <-watched:
			return err
		}
		if err != nil {
			return err
		}
	}
}

// eventStream writes server-sent events (WHATWG HTML §9.2) as they occur. The credential must still be accepted before each.
type eventStream struct {
	c       *gin.Context
	control *http.ResponseController
	check   func() error // see stillAccepted
	refused error        // what it returned
}

// newEventStream starts a response of server-sent events. Its header is sent with the first event.
func newEventStream(c *gin.Context) *eventStream {
	c.Header("Content-Type", mediaSSE)
	c.Header("X-Accel-Buffering", "no")
	return &eventStream{c: c, control: http.NewResponseController(c.Writer), check: stillAccepted(c)}
}

// end clears the deadline of the last event, since the connection may serve another request. It
// does nothing if no event was sent.
func (e *eventStream) end() {
	_ = e.control.SetWriteDeadline(time.Time{})
	if !e.c.Writer.Written() {
		e.c.Writer.Header().Del("Content-Type")
		e.c.Writer.Header().Del("X-Accel-Buffering")
	}
}

// fail sends an error as the last event, if the status is sent already, and else returns it.
func (e *eventStream) fail(err error) error {
	if !e.c.Writer.Written() {
		return err
	}
	_ = e.event("error", newProblem(e.failed(err), requestID(e.c))) // an error means that the client has left
	return nil
}

// failed returns an error as the last event has it, which the client gets whether it is accepted or not.
func (e *eventStream) failed(err error) *fault.Error {
	f := normalize(err)
	e.c.Set(keyCode, string(f.Code))
	e.check = func() error { return nil }
	return f
}

// event sends one event as JSON.
func (e *eventStream) event(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.write("event: %s\ndata: %s\n\n", name, data)
}

// eventAs is event with an id, by which a client says later what it has seen.
func (e *eventStream) eventAs(id int64, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.write("id: %d\nevent: %s\ndata: %s\n\n", id, name, data)
}

func (e *eventStream) write(format string, args ...any) error {
	if _, err := fmt.Fprintf(e, format, args...); err != nil {
		return err
	}
	return e.control.Flush()
}

// Write sends a part of an event.
func (e *eventStream) Write(p []byte) (int, error) {
	if e.refused = e.check(); e.refused != nil {
		return 0, e.refused
	}
	// The server's write deadline is for whole responses. A writer without deadlines returns an
	// error, which does not matter.
	_ = e.control.SetWriteDeadline(time.Now().Add(streamWrite))
	return e.c.Writer.Write(p)
}
