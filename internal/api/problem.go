package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/mem0"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
)

const mediaProblem = "application/problem+json"

// statusClientGone is logged when the client has left. It is never sent.
const statusClientGone = 499

// statuses maps every fault code to its HTTP status.
var statuses = map[fault.Code]int{
	fault.Malformed:        http.StatusBadRequest,
	fault.Unauthenticated:  http.StatusUnauthorized,
	fault.Forbidden:        http.StatusForbidden,
	fault.NotFound:         http.StatusNotFound,
	fault.NotAllowed:       http.StatusMethodNotAllowed,
	fault.Conflict:         http.StatusConflict,
	fault.Exists:           http.StatusConflict,
	fault.Ambiguous:        http.StatusConflict,
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
	fault.Misconfigured:    http.StatusServiceUnavailable,
	fault.Timeout:          http.StatusGatewayTimeout,
	fault.StorageFull:      http.StatusInsufficientStorage,
}

// Limits of a problem document, so that a refusal is small and does not repeat a long input.
const (
	maxProblemFields = 20
	maxProblemText   = 300 // runes
)

// normalize turns every error into a fault. Deadlines become Timeout, faults stay as they are, and
// other errors become Internal without details.
func normalize(err error) *fault.Error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &fault.Error{Code: fault.Timeout, Message: "the request took longer than the gateway allows", Err: err}
	}
	return &fault.Error{Code: fault.Internal, Message: "internal error; look for the request id in the log", Err: err}
}

// newProblem renders the code, message and fields of a fault, never its cause.
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
		p.Detail = new(clip.Runes(f.Message, maxProblemText))
	}
	for name, to := range map[string]**int{"current": &p.Current, "requested": &p.Requested, "limit": &p.Limit, "matches": &p.Matches, "version": &p.Version} {
		if n, ok := f.Numbers[name]; ok {
			*to = &n
		}
	}
	if len(f.Collections) > 0 {
		p.Collections = f.Collections
	}
	for i, field := range f.Fields {
		if i == maxProblemFields {
			break
		}
		p.Errors = append(p.Errors, wire.FieldError{Field: clip.Runes(field.Field, maxProblemText), Reason: clip.Runes(field.Reason, maxProblemText)})
	}
	return p
}

// advise adds the route that helps to some refusals. A tool has advice of its own. The name of a collection that does not exist is not
// repeated: one of another tenant is refused in the same bytes.
func advise(c *gin.Context, f *fault.Error) *fault.Error {
	advice := ""
	switch _, tool := calledByTool(c); {
	case tool:
	case f.Code == fault.NotFound && c.Param("collection") != "" && f.Message == fault.Missing("collection").Message:
		advice = "; GET /v1/collections lists what this key can use, POST /v1/collections creates one"
	case slices.ContainsFunc(f.Fields, func(x fault.Field) bool { return x.Reason == block.AsNote }):
		advice = ": …/blocks/{label}"
	}
	if advice == "" {
		return f
	}
	advised := *f
	advised.Message += advice
	return &advised
}

// fail answers with the problem document of an error, and logs internal errors.
func (s *Server) fail(c *gin.Context, err error) {
	ctx := c.Request.Context()
	f := advise(c, normalize(err))
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
		// The status is sent already; a second document would corrupt the response.
		c.Abort()
		return
	}
	p := newProblem(f, id)
	if x, ok := errors.AsType[*conflictsError](err); ok {
		p.Conflicts = x.conflicts
	}
	var answer any = p
	media := mediaProblem
	switch c.GetString(keyErrors) {
	case errorsOpenAI:
		if errors.Is(f, chat.ErrUnknownModel) {
			p.Status = http.StatusNotFound // as OpenAI does
		}
		answer, media = newOpenAIError(f, p.Status), mediaJSON
		if f.Code == fault.Misconfigured {
			c.Header("X-Should-Retry", "false") // which OpenAI's clients obey: trying again is in vain
		}
	case errorsMem0:
		if f.Code == fault.QuotaExceeded {
			p.Status = http.StatusRequestEntityTooLarge // as mem0 does
		}
		answer, media = mem0.Problem{Detail: valueOr(p.Detail, p.Title), Code: p.Code}, mediaJSON
	}
	h := c.Writer.Header()
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", s.challenge(c))
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		lasting := f.Code == fault.QuotaExceeded || f.Code == fault.Misconfigured // a full quota does not empty by itself
		if !lasting || f.RetryAfter > 0 {
			h.Set("Retry-After", retryAfter(f.RetryAfter))
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		s.log.ErrorContext(ctx, "a problem could not be rendered", slog.String("request_id", id), slog.Any("error", err))
		body = nil
	}
	c.Abort()
	c.Data(p.Status, media, body)
}

// retryAfter returns a wait in whole seconds, at least one.
func retryAfter(d time.Duration) string {
	return strconv.FormatInt(max(1, int64(math.Ceil(d.Seconds()))), 10)
}
