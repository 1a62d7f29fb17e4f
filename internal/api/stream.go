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
		// The status is sent already, so the error can only be logged.
		h.log.WarnContext(ctx, "event stream ended early", slog.String("request_id", requestID(c)), slog.Any("error", err))
	}
	return nil
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
// kept alive. The credential must still be accepted before anything of watch is sent, and each time that the connection is kept alive.
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
			if err = errors.Join(stillAccepted(out.c), speak()); err == nil {
				err = fn()
			}
		case <-spoken:
		case <-alive.C:
			if err = stillAccepted(out.c); err == nil {
				err = out.write(": alive\n\n")
			}
		case err := <-watched:
			return err
		}
		if err != nil {
			return err
		}
	}
}

// eventStream writes server-sent events (WHATWG HTML §9.2) as they occur.
type eventStream struct {
	c       *gin.Context
	control *http.ResponseController
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
	// The server's write deadline is for whole responses. A writer without deadlines returns an
	// error, which does not matter.
	_ = e.control.SetWriteDeadline(time.Now().Add(streamWrite))
	if _, err := fmt.Fprintf(e.c.Writer, format, args...); err != nil {
		return err
	}
	return e.control.Flush()
}
