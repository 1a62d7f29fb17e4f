package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
)

const mediaProblem = "application/problem+json"

// statusClientGone is logged, never sent: the caller went away.
const statusClientGone = 499

// statuses maps every fault code to the status that callers see.
var statuses = map[fault.Code]int{
	fault.Malformed:        http.StatusBadRequest,
	fault.Unauthenticated:  http.StatusUnauthorized,
	fault.Forbidden:        http.StatusForbidden,
	fault.NotFound:         http.StatusNotFound,
	fault.NotAllowed:       http.StatusMethodNotAllowed,
	fault.Conflict:         http.StatusConflict,
	fault.Exists:           http.StatusConflict,
	fault.Ambiguous:        http.StatusConflict,
	fault.LineageTooDeep:   http.StatusConflict,
	fault.HasForks:         http.StatusConflict,
	fault.IdempotencyReuse: http.StatusConflict,
	fault.RevisionGone:     http.StatusGone,
	fault.Precondition:     http.StatusPreconditionFailed,
	fault.TooLarge:         http.StatusRequestEntityTooLarge,
	fault.Unsupported:      http.StatusUnsupportedMediaType,
	fault.Invalid:          http.StatusUnprocessableEntity,
	fault.RateLimited:      http.StatusTooManyRequests,
	fault.QuotaExceeded:    http.StatusTooManyRequests,
	fault.Internal:         http.StatusInternalServerError,
	fault.ModelFailed:      http.StatusBadGateway,
	fault.Unavailable:      http.StatusServiceUnavailable,
	fault.Timeout:          http.StatusGatewayTimeout,
	fault.StorageFull:      http.StatusInsufficientStorage,
}

// Bounds of what a problem says, so that a refusal is never larger than a page
// and never echoes a long input back.
const (
	maxProblemFields = 20
	maxProblemText   = 300 // runes
)

// normalize gives every error a fault: deadlines become Timeout, a fault stays
// what it is, and anything else is Internal with nothing to show.
func normalize(err error) *fault.Error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &fault.Error{Code: fault.Timeout, Message: "the gateway's deadline passed", Err: err}
	}
	return &fault.Error{Code: fault.Internal, Message: "internal error; the request id finds it in the log", Err: err}
}

// newProblem renders a fault. It shows code, message and fields, never the cause.
func newProblem(f *fault.Error, requestID string) wire.Problem {
	status, ok := statuses[f.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	p := wire.Problem{
		Type:      "about:blank",
		Title:     http.StatusText(status),
		Status:    status,
		Code:      string(f.Code),
		RequestID: requestID,
	}
	if f.Message != "" {
		p.Detail = new(clip(f.Message))
	}
	for i, field := range f.Fields {
		if i == maxProblemFields {
			break
		}
		p.Errors = append(p.Errors, wire.FieldError{Field: clip(field.Field), Reason: clip(field.Reason)})
	}
	return p
}

// clip cuts text that may hold caller input to a bounded length.
func clip(s string) string {
	if utf8.RuneCountInString(s) <= maxProblemText {
		return s
	}
	return string([]rune(s)[:maxProblemText]) + "…"
}

// fail answers with the problem document of err, and logs what is ours.
func (s *Server) fail(c *gin.Context, err error) {
	ctx := c.Request.Context()
	f := normalize(err)
	id := requestID(c)
	switch {
	case errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled):
		c.Set(keyStatus, statusClientGone)
		f = &fault.Error{Code: fault.Unavailable, Message: "the request was canceled", Err: err}
	case f.Code == fault.Internal || statuses[f.Code] == 0:
		s.log.ErrorContext(ctx, "request failed", slog.String("request_id", id),
			slog.String("route", c.FullPath()), slog.Any("error", err))
	case statuses[f.Code] >= http.StatusInternalServerError:
		s.log.WarnContext(ctx, "request failed", slog.String("request_id", id),
			slog.String("route", c.FullPath()), slog.Any("error", err))
	}
	c.Set(keyCode, string(f.Code))
	if c.Writer.Written() {
		// The status line is out; a second document would corrupt the first.
		c.Abort()
		return
	}
	p := newProblem(f, id)
	var answer any = p
	media := mediaProblem
	if c.GetString(keyErrors) == errorsOpenAI {
		if errors.Is(f, chat.ErrUnknownModel) {
			p.Status = http.StatusNotFound // as OpenAI has it
		}
		answer, media = newOpenAIError(f, p.Status), mediaJSON
	}
	h := c.Writer.Header()
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="slipbox"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", retryAfter(f.RetryAfter))
	}
	body, err := json.Marshal(answer)
	if err != nil {
		s.log.ErrorContext(ctx, "problem not rendered", slog.String("request_id", id), slog.Any("error", err))
		body = nil
	}
	c.Abort()
	c.Data(p.Status, media, body)
}

// retryAfter renders a wait in whole seconds, at least one.
func retryAfter(d time.Duration) string {
	return strconv.FormatInt(max(1, int64(math.Ceil(d.Seconds()))), 10)
}
